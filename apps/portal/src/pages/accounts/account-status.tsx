import type { components } from '@hookferry/client';
import { Badge } from '../../components/badge';

export type AccountStatusProps = Pick<components['schemas']['Account'], 'status' | 'pause'>;

export function AccountStatus({ status, pause }: AccountStatusProps) {
  if (pause) return <Badge tone="warning">paused</Badge>;
  return status === 'active' ? <Badge tone="good">active</Badge> : <Badge tone="warning">erasing</Badge>;
}
