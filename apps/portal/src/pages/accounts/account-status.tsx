import type { components } from '@hookferry/client';
import { Badge } from '../../components/badge';

export type AccountStatusProps = Pick<components['schemas']['Account'], 'status'>;

export function AccountStatus({ status }: AccountStatusProps) {
  return status === 'active' ? <Badge tone="good">active</Badge> : <Badge tone="warning">erasing</Badge>;
}
