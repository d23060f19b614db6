import type { components } from '@hookferry/client';
import { plural, t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { type ReactNode, useMemo } from 'react';
import { Link } from 'wouter';
import { type Delivery, useDeliveries } from '../../api/delivery-queries';
import { useExplanations } from '../../api/event-queries';
import type { Tone } from '../../components/badge';
import { Time } from '../../components/time';
import { formatCount } from '../../language/formats';
import { holdWords } from '../deliveries/hold-words';
import { responseOf } from '../deliveries/response-of';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import styles from '../delivery/story.module.css';
import { inWords } from '../webhook-form/filter-verdicts';

type Event = components['schemas']['Event'];
type Explanation = components['schemas']['Explanation'];

/** Of each kind. The lists below have the rest. */
const MOST_NAMED = 3;

/** To whom an event went, with what result, and to whom not and why. */
export function EventLead({ event }: { readonly event: Event }) {
  if (event.status === 'accepted') return <SentEvent event={event} />;
  if (event.status === 'cancelled') {
    return (
      <Lead tone="neutral">
        <Trans>Cancelled before it was due: it went to no webhook.</Trans>
      </Lead>
    );
  }
  return (
    <Lead tone="busy">
      {event.deliver_at === null ? (
        <Trans>It is sent to the webhooks that subscribe to its type then.</Trans>
      ) : (
        <Trans>
          It is sent <Time at={event.deliver_at} />, to the webhooks that subscribe to its type then.
        </Trans>
      )}
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
        <Further key={one.id}>
          <HowItIs delivery={one} name={names.get(one.webhook_id) ?? one.webhook_id} />
        </Further>
      ))}
      {notYet.length > 0 && <AndMore count={rest} />}
      {unsent.length > 0 && <Unsent unsent={unsent} names={names} />}
      <Trans context="end of a sentence">.</Trans>
    </>
  );
}

/** One more part of the sentence. */
function Further({ children }: { readonly children: ReactNode }) {
  return <Trans>; {children}</Trans>;
}

function AndMore({ count }: { readonly count: number }) {
  if (count <= 0) return null;
  return (
    <Further>
      <Plural value={count} one="and # more below" other="and # more below" />
    </Further>
  );
}

function resultOf({ total, delivered }: Event['deliveries']): string {
  if (total === 0) return t`Sent to no webhook`;
  if (total === 1) return delivered === 1 ? t`Delivered to its webhook` : t`Not delivered yet`;
  if (delivered === total) {
    return plural(total, { one: 'Delivered to all # webhooks', other: 'Delivered to all # webhooks' });
  }
  const count = formatCount(delivered);
  return plural(total, {
    one: `Delivered to ${count} of # webhooks`,
    other: `Delivered to ${count} of # webhooks`,
  });
}

function HowItIs({ delivery, name }: { readonly delivery: Delivery; readonly name: string }) {
  const { id, hold } = delivery;
  const link = (
    <Link href={`/deliveries/${encodeURIComponent(id)}`}>
      <bdi>{name}</bdi>
    </Link>
  );
  const response = responseOf(delivery);
  const why = hold ? holdWords[hold.reason].it : t`it can’t take it just now`;
  switch (delivery.status) {
    case 'pending':
      return response ? (
        <Trans>
          {link} fails ({response}), and is tried again
        </Trans>
      ) : (
        <Trans>{link} is being sent</Trans>
      );
    case 'held':
      return (
        <Trans>
          {link} waits: {why}
        </Trans>
      );
    case 'exhausted':
      return response ? (
        <Trans>
          {link} failed, and was given up ({response})
        </Trans>
      ) : (
        <Trans>{link} failed, and was given up</Trans>
      );
    case 'aborted':
      return response ? (
        <Trans>
          {link} asked for no further attempt ({response})
        </Trans>
      ) : (
        <Trans>{link} asked for no further attempt</Trans>
      );
    case 'superseded':
      return <Trans>{link} gets a newer event of its group in place of it</Trans>;
    case 'cancelled':
      return <Trans>{link} was cancelled</Trans>;
    case 'delivered':
      return <Trans>{link} got it</Trans>;
  }
}

function Unsent({ unsent, names }: Pick<EventSentenceProps, 'unsent' | 'names'>) {
  return (
    <>
      {unsent.slice(0, MOST_NAMED).map((one, index) => {
        const name = names.get(one.webhook_id) ?? one.webhook_uid ?? one.webhook_url ?? one.webhook_id;
        const link = (
          <Link href={`/webhooks/${one.webhook_id}`}>
            <bdi>{name}</bdi>
          </Link>
        );
        const why = whyUnsent(one);
        return (
          <Further key={one.webhook_id}>
            {index > 0 ? (
              <>
                {link}: {why}
              </>
            ) : (
              <Trans>
                not sent to {link}: {why}
              </Trans>
            )}
          </Further>
        );
      })}
      <AndMore count={unsent.length - MOST_NAMED} />
    </>
  );
}

/** In a few words; the list below has all of it. */
function whyUnsent({ reason, conditions }: Explanation): string {
  if (reason !== 'filtered') return UNSENT.get(reason) ?? t`see below`;
  return conditions.map(inWords).join('; ') || t`its filter leaves it out`;
}

const UNSENT: ReadonlyMap<Explanation['reason'], string> = new Map([
  ['not_addressed', t`the event names other webhooks`],
  ['registered_later', t`it was registered later`],
  ['disconnected', t`no client was connected`],
  ['payload_erased', t`the payload that its filter looks at was erased`],
  ['changed', t`its settings were changed since`],
]);
