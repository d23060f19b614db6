import type { components } from '@hookferry/client';
import { Fragment, type ReactNode, useMemo } from 'react';
import { Link } from 'wouter';
import { type Delivery, useDeliveries } from '../../api/delivery-queries';
import { useExplanations } from '../../api/event-queries';
import type { Tone } from '../../components/badge';
import { Time } from '../../components/time';
import { formatCount } from '../../language/formats';
import { responseOf } from '../deliveries/response-of';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { whyHeld } from '../delivery/story';
import styles from '../delivery/story.module.css';

type Event = components['schemas']['Event'];
type Explanation = components['schemas']['Explanation'];

/** Of each kind. The lists below have the rest. */
const MOST_NAMED = 3;

/** To whom an event went, with what result, and to whom not and why. */
export function EventLead({ event }: { readonly event: Event }) {
  if (event.status === 'accepted') return <SentEvent event={event} />;
  if (event.status === 'cancelled') {
    return <Lead tone="neutral">Cancelled before it was due: it went to no webhook.</Lead>;
  }
  return (
    <Lead tone="busy">
      It is sent {event.deliver_at && <Time at={event.deliver_at} />}, to the webhooks that subscribe to its
      type then.
    </Lead>
  );
}

function SentEvent({ event: { id, deliveries: counts } }: { readonly event: Event }) {
  const { data } = useDeliveries(useMemo(() => ({ event_id: id }), [id]));
  const { rows: unsent = [] } = useExplanations(id, false);
  const names = useWebhookNames();
  const deliveries = data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Lead tone={toneOf(counts, deliveries)}>
      <EventSentence counts={counts} deliveries={deliveries} unsent={unsent} names={names} />
    </Lead>
  );
}

function Lead({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <div className={`${styles['lead']} ${styles[tone]}`}>
      <p>{children}</p>
    </div>
  );
}

function toneOf(counts: Event['deliveries'], deliveries: readonly Delivery[]): Tone {
  if (counts.total === 0) return 'neutral';
  if (counts.exhausted + counts.aborted > 0) return 'bad';
  if (counts.held > 0 || deliveries.some(isTriedAgain)) return 'warning';
  return counts.pending > 0 ? 'busy' : 'good';
}

function isTriedAgain({ status, attempt_count: count }: Delivery): boolean {
  return status === 'pending' && count > 0;
}

interface EventSentenceProps {
  readonly counts: Event['deliveries'];
  readonly deliveries: readonly Delivery[];
  readonly unsent: readonly Explanation[];
  readonly names: ReadonlyMap<string, string>;
}

export function EventSentence({ counts, deliveries, unsent, names }: EventSentenceProps) {
  const notYet = deliveries.filter((one) => one.status !== 'delivered');
  const rest = counts.total - counts.delivered - Math.min(notYet.length, MOST_NAMED);
  return (
    <>
      {resultOf(counts)}
      {notYet.slice(0, MOST_NAMED).map((one) => (
        <Fragment key={one.id}>
          {'; '}
          <Link href={`/deliveries/${encodeURIComponent(one.id)}`}>
            {names.get(one.webhook_id) ?? one.webhook_id}
          </Link>{' '}
          {howItIs(one)}
        </Fragment>
      ))}
      {notYet.length > 0 && rest > 0 && `; and ${formatCount(rest)} more below`}
      {unsent.length > 0 && <Unsent unsent={unsent} names={names} />}.
    </>
  );
}

function resultOf({ total, delivered }: Event['deliveries']): ReactNode {
  if (total === 0) return 'Sent to no webhook';
  if (total === 1) return delivered === 1 ? 'Delivered to its webhook' : 'Not delivered yet';
  if (delivered === total) return `Delivered to all ${formatCount(total)} webhooks`;
  return `Delivered to ${formatCount(delivered)} of ${formatCount(total)} webhooks`;
}

function howItIs(delivery: Delivery): string {
  const { status, hold } = delivery;
  const response = responseOf(delivery);
  const cause = response ? ` (${response})` : '';
  switch (status) {
    case 'pending':
      return response ? `fails${cause}, and is tried again` : 'is being sent';
    case 'held':
      return `waits: ${whyHeld(hold, 'it')}`;
    case 'exhausted':
      return `failed, and was given up${cause}`;
    case 'aborted':
      return `asked for no further attempt${cause}`;
    case 'superseded':
      return 'gets a newer event of its group in place of it';
    case 'cancelled':
      return 'was cancelled';
    case 'delivered':
      return 'got it';
  }
}

function Unsent({ unsent, names }: Pick<EventSentenceProps, 'unsent' | 'names'>) {
  const rest = unsent.length - MOST_NAMED;
  return (
    <>
      {'; not sent to '}
      {unsent.slice(0, MOST_NAMED).map((one, index) => (
        <Fragment key={one.webhook_id}>
          {index > 0 && '; '}
          <Link href={`/webhooks/${one.webhook_id}`}>
            {names.get(one.webhook_id) ?? one.webhook_uid ?? one.webhook_url ?? one.webhook_id}
          </Link>
          {`: ${whyUnsent(one)}`}
        </Fragment>
      ))}
      {rest > 0 && `; and ${formatCount(rest)} more below`}
    </>
  );
}

/** In a few words; the list below has all of it. */
function whyUnsent({ reason, detail }: Explanation): string {
  if (reason !== 'filtered') return UNSENT.get(reason) ?? 'see below';
  return detail.replace(/^Its filter does not let the event pass: /, '').replace(/\.$/, '');
}

const UNSENT: ReadonlyMap<Explanation['reason'], string> = new Map([
  ['not_addressed', 'the event names other webhooks'],
  ['registered_later', 'it was registered later'],
  ['disconnected', 'no client was connected'],
  ['payload_erased', 'the payload that its filter looks at was erased'],
  ['changed', 'its settings were changed since'],
]);
