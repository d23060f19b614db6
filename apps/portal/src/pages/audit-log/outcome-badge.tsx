import type { AuditEntry } from '../../api/audit-queries';
import { Badge } from '../../components/badge';

export function OutcomeBadge({ entry: { outcome } }: { readonly entry: AuditEntry }) {
  return outcome === 'ok' ? <Badge tone="good">Done</Badge> : <Badge tone="bad">Refused</Badge>;
}
