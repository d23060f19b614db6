import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Badge } from '../../components/badge';

export type AccountStatusProps = Pick<components['schemas']['Account'], 'status' | 'pause'>;

export function AccountStatus({ status, pause }: AccountStatusProps) {
  if (pause) return <Badge tone="warning">{t`paused`}</Badge>;
  return status === 'active' ? (
    <Badge tone="good">{t`active`}</Badge>
  ) : (
    <Badge tone="warning">{t`erasing`}</Badge>
  );
}
