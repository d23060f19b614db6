import { t } from '@lingui/core/macro';
import type { AuditEntry } from '../../api/audit-queries';
import { Badge } from '../../components/badge';

export function OutcomeBadge({ entry: { outcome } }: { readonly entry: AuditEntry }) {
  return outcome === 'ok' ? <Badge tone="good">{t`Done`}</Badge> : <Badge tone="bad">{t`Refused`}</Badge>;
}
