import type { components } from '@hookferry/client';
import { useQuery } from '@tanstack/react-query';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { formatBytes } from '../accounts/format-bytes';
import styles from './account.module.css';

export interface AccountUsageProps {
  readonly accountId: string;
}

/** How much the account stores, and how much it may. */
export function AccountUsage({ accountId }: AccountUsageProps) {
  const api = useApi();
  const {
    data: usage,
    error,
    refetch,
  } = useQuery({
    queryKey: queryKeys.accountUsage(accountId),
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/account/usage', { params: { header: { 'X-Account-Id': accountId } }, signal })),
  });
  return (
    <Section title="Usage">
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!usage && !error && <Skeleton lines={4} />}
      {usage && (
        <Facts
          facts={{
            Stored: <Stored usage={usage} />,
            Events: `${usage.events.toLocaleString()}, ${formatBytes(usage.bytes.events)}`,
            Deliveries: formatBytes(usage.bytes.deliveries),
            Replays: formatBytes(usage.bytes.replays),
            'Answers kept for repeats': formatBytes(usage.bytes.answers),
            Webhooks: usage.webhooks.toLocaleString(),
            'API keys': usage.api_keys.toLocaleString(),
          }}
        />
      )}
    </Section>
  );
}

interface StoredProps {
  readonly usage: components['schemas']['AccountUsage'];
}

function Stored({ usage: { used_bytes: used, quota_bytes: quota } }: StoredProps) {
  if (quota === null) return `${formatBytes(used)}, of as much as there is room for`;
  const text = `${formatBytes(used)} of ${formatBytes(quota)}`;
  return (
    <>
      {text} <meter className={styles['meter']} aria-label={`Stored: ${text}`} max={quota} value={used} />
    </>
  );
}
