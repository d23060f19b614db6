import type { components } from '@hookferry/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatBytes } from '../../language/formats';
import styles from './account.module.css';

type Usage = components['schemas']['AccountUsage'];

export interface AccountUsageProps {
  readonly accountId: string;
}

/** The account's storage and its quota. */
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
      {(usage || !error) && <Facts facts={factsOf(usage)} />}
    </Section>
  );
}

/** Before it is known, each has its place already. */
function factsOf(usage: Usage | undefined): Readonly<Record<string, ReactNode>> {
  const show = (read: (known: Usage) => ReactNode) => (usage ? read(usage) : '…');
  return {
    Stored: show((known) => <Stored usage={known} />),
    History: show((known) => historyOf(known)),
    Events: show(({ events, bytes }) => `${events.toLocaleString()}, ${formatBytes(bytes.events)}`),
    Deliveries: show(({ bytes }) => formatBytes(bytes.deliveries)),
    Replays: show(({ bytes }) => formatBytes(bytes.replays)),
    'Portal sessions': show(({ bytes }) => formatBytes(bytes.portal_sessions)),
    'Responses kept for repeated requests': show(({ bytes }) => formatBytes(bytes.responses)),
    Webhooks: show(({ webhooks }) => webhooks.toLocaleString()),
    'API keys': show(({ api_keys: keys }) => keys.toLocaleString()),
  };
}

function historyOf({ history, history_bytes: bytes }: Usage): string {
  if (history !== null) return 'Not reachable at the moment';
  return bytes === null ? 'None' : formatBytes(bytes);
}

interface StoredProps {
  readonly usage: Usage;
}

function Stored({ usage: { used_bytes: used, quota_bytes: quota } }: StoredProps) {
  if (quota === null) return `${formatBytes(used)}, without a limit`;
  const text = `${formatBytes(used)} of ${formatBytes(quota)}`;
  return (
    <>
      {text} <meter className={styles['meter']} aria-label={`Stored: ${text}`} max={quota} value={used} />
    </>
  );
}
