import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { useExplanations } from '../../api/event-queries';
import { useAllWebhooks, type Webhook } from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { formatTime, isolated } from '../../language/formats';
import { namesOf } from '../deliveries/webhook-names';
import { inWords } from '../webhook-form/filter-verdicts';
import styles from './not-sent-to.module.css';

type Explanation = components['schemas']['Explanation'];

/** The webhooks that have no delivery of an event, each with the reason; at first those that subscribe to its type. */
export function NotSentTo({ eventId }: { readonly eventId: string }) {
  const [isAll, setAll] = useState(false);
  const { rows, error, refetch, hasMore, isReadingOn, readOn } = useExplanations(eventId, isAll);
  const { data: webhooks } = useAllWebhooks(true);
  return (
    <Section
      title={t`Not sent to`}
      actions={
        <Button size="small" aria-pressed={isAll} onClick={() => setAll(!isAll)}>
          <Trans>Not subscribed, too</Trans>
        </Button>
      }
    >
      {error && <Problem error={error} onRetry={refetch} />}
      {!rows && !error && <Skeleton lines={2} />}
      {rows?.length === 0 && !hasMore && (
        <p>
          {isAll
            ? t`It was sent to every webhook.`
            : t`It was sent to every webhook that subscribes to its type.`}
        </p>
      )}
      {rows && <Unsent rows={rows} webhooks={webhooks ?? []} />}
      {hasMore && (
        <Button isBusy={isReadingOn} onClick={readOn}>
          <Trans>More webhooks</Trans>
        </Button>
      )}
    </Section>
  );
}

type Known = Pick<Webhook, 'id' | 'url' | 'description' | 'uid' | 'events' | 'created_at'>;

interface UnsentProps {
  readonly rows: readonly Explanation[];
  /** As many of the account's as have names. */
  readonly webhooks: readonly Known[];
}

export function Unsent({ rows, webhooks }: UnsentProps) {
  const names = useMemo(() => namesOf(webhooks), [webhooks]);
  const byId = useMemo(() => new Map(webhooks.map((webhook) => [webhook.id, webhook])), [webhooks]);
  return (
    <ul className={styles['list']} aria-label={t`Not sent to`}>
      {rows.map((row) => {
        const { webhook_id: id, webhook_uid: uid, webhook_url: url } = row;
        return (
          <li key={id}>
            <Link href={`/webhooks/${id}`} className={styles['name']}>
              <bdi>{names.get(id) ?? uid ?? url ?? id}</bdi>
            </Link>
            <span>{whyUnsent(row, byId.get(id))}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** Those that a change of the webhook may have brought about. */
const BY_SETTINGS: ReadonlySet<Explanation['reason']> = new Set([
  'not_subscribed',
  'payload_erased',
  'filtered',
]);

function whyUnsent(row: Explanation, webhook: Known | undefined): string {
  // The service tells its reasons to programs, in English: that stands in for one that such an event does not have.
  const why = row.reason === null ? row.detail : (REASONS[row.reason]?.(row, webhook) ?? row.detail);
  return row.changed_since && BY_SETTINGS.has(row.reason)
    ? `${why} ${t`That is by its settings of now: it was changed after the event was accepted, and may have been different.`}`
    : why;
}

type Reason = NonNullable<Explanation['reason']>;

const REASONS: Partial<Record<Reason, (row: Explanation, webhook: Known | undefined) => string>> = {
  not_addressed: () => t`The event names the webhooks that get it, and this is none of them.`,
  registered_later: (_, webhook) => {
    if (!webhook) return t`It was registered after the event. A replay sends it the event.`;
    const at = isolated(formatTime(new Date(webhook.created_at)));
    return t`It was registered after the event, at ${at}. A replay sends it the event.`;
  },
  disconnected: () => t`No client was connected to this listener for a while.`,
  not_subscribed: (_, webhook) =>
    webhook?.events.includes('*')
      ? t`Events about webhooks are not among “every event”: choose this type in its settings.`
      : t`It does not subscribe to this type.`,
  payload_erased: () =>
    t`It has a filter, and the payload of the event was erased: nobody can tell any more whether it passed.`,
  filtered: ({ conditions }) => {
    const found = conditions.map(inWords).join('; ');
    return found === ''
      ? t`Its filter does not let the event pass.`
      : t`Its filter does not let the event pass: ${found}.`;
  },
  changed: () =>
    t`By its settings of now it would get the event. It was changed after the event was accepted: its former settings left the event out.`,
  unknown: () =>
    t`By its settings it gets such events. This one may still be on its way: look again in a minute.`,
};
