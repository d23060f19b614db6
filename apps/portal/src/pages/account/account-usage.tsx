import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatBytes, formatCount, formatPercent } from '../../language/formats';
import styles from './account.module.css';
import { API_KEYS } from './api-keys';

export type Usage = components['schemas']['AccountUsage'];

/** The place of the section in the page. */
export const USAGE = 'usage';

/** The account's storage and its quota. */
export function useAccountUsage(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: queryKeys.accountUsage(id),
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/account/usage', { params: { header: { 'X-Account-Id': id } }, signal })),
  });
}

/** What it stores, of how much, and of what. */
export function AccountUsage({ data: usage, error, refetch }: ReturnType<typeof useAccountUsage>) {
  return (
    <Section title={t`Usage`} id={USAGE}>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      <div className={styles['stored']}>{usage && <Stored usage={usage} />}</div>
      {(usage || !error) && <Facts facts={factsOf(usage)} />}
    </Section>
  );
}

interface StoredProps {
  readonly usage: Usage;
}

/** Before it is known, each has its place already. */
function factsOf(usage: Usage | undefined): Readonly<Record<string, ReactNode>> {
  const show = (read: (known: Usage) => ReactNode) => (usage ? read(usage) : '…');
  return {
    [t`History`]: show((known) => historyOf(known)),
    [t`Events`]: show((known) => <StoredEvents usage={known} />),
    [t`Deliveries`]: show(({ bytes }) => formatBytes(bytes.deliveries)),
    [t`Replays`]: show(({ bytes }) => formatBytes(bytes.replays)),
    [t`Portal sessions`]: show(({ bytes }) => formatBytes(bytes.portal_sessions)),
    [t`Responses kept for repeated requests`]: show(({ bytes }) => formatBytes(bytes.responses)),
    [t`Webhooks`]: show(({ webhooks }) => <Link href="/webhooks">{formatCount(webhooks)}</Link>),
    [t`API keys`]: show(({ api_keys: keys }) => <a href={`#${API_KEYS}`}>{formatCount(keys)}</a>),
  };
}

/** With a history the list has older ones, too. */
function StoredEvents({ usage: { events, bytes, history, history_bytes: historyBytes } }: StoredProps) {
  const count = formatCount(events);
  const isAll = history === null && historyBytes === null;
  return (
    <>
      {isAll ? <Link href="/events">{count}</Link> : count} · {formatBytes(bytes.events)}
    </>
  );
}

function historyOf({ history, history_bytes: bytes }: Usage): string {
  if (history !== null) return t`Not reachable at the moment`;
  return bytes === null ? t({ message: 'None', context: 'history' }) : formatBytes(bytes);
}

// Above it the bar is no longer that of an account that is well.
const MUCH = 0.8;

/** How much of the quota is used. */
function Stored({ usage: { used_bytes: used, quota_bytes: quota } }: StoredProps) {
  const size = formatBytes(used);
  if (quota === null) return <p>{t`${size} stored, without a limit`}</p>;
  const [limit, share] = [formatBytes(quota), formatPercent(used / quota)];
  const text = t`${size} of ${limit} stored (${share})`;
  return (
    <>
      <p>{text}</p>
      <meter aria-label={text} max={quota} value={used} low={MUCH * quota} high={quota - 1} optimum={0} />
    </>
  );
}
