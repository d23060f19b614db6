import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatBytes, formatCount, formatList } from '../../language/formats';
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
    <Section title={t`Usage`}>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {(usage || !error) && <Facts facts={factsOf(usage)} />}
    </Section>
  );
}

/** Before it is known, each has its place already. */
function factsOf(usage: Usage | undefined): Readonly<Record<string, ReactNode>> {
  const show = (read: (known: Usage) => ReactNode) => (usage ? read(usage) : '…');
  return {
    [t`Stored`]: show((known) => <Stored usage={known} />),
    [t`History`]: show((known) => historyOf(known)),
    [t`Events`]: show(({ events, bytes }) =>
      formatList([formatCount(events), formatBytes(bytes.events)], 'row'),
    ),
    [t`Deliveries`]: show(({ bytes }) => formatBytes(bytes.deliveries)),
    [t`Replays`]: show(({ bytes }) => formatBytes(bytes.replays)),
    [t`Portal sessions`]: show(({ bytes }) => formatBytes(bytes.portal_sessions)),
    [t`Responses kept for repeated requests`]: show(({ bytes }) => formatBytes(bytes.responses)),
    [t`Webhooks`]: show(({ webhooks }) => formatCount(webhooks)),
    [t`API keys`]: show(({ api_keys: keys }) => formatCount(keys)),
  };
}

function historyOf({ history, history_bytes: bytes }: Usage): string {
  if (history !== null) return t`Not reachable at the moment`;
  return bytes === null ? t`None` : formatBytes(bytes);
}

interface StoredProps {
  readonly usage: Usage;
}

function Stored({ usage: { used_bytes: used, quota_bytes: quota } }: StoredProps) {
  const size = formatBytes(used);
  if (quota === null) return t`${size}, without a limit`;
  const limit = formatBytes(quota);
  const text = t`${size} of ${limit}`;
  return (
    <>
      {text} <meter className={styles['meter']} aria-label={t`Stored: ${text}`} max={quota} value={used} />
    </>
  );
}
