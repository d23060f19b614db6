import type { DeliveryStatus } from '../../api/delivery-queries';
import { Badge } from '../../components/badge';
import { statuses } from './words';

export function StatusBadge({ status }: { readonly status: DeliveryStatus }) {
  const [label, tone] = statuses[status];
  return <Badge tone={tone}>{label}</Badge>;
}
