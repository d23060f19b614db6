import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Attempt, DeliveryWithAttempts, Hold } from '../../api/delivery-queries';
import { useWebhook } from '../../api/webhook-queries';
import { Time } from '../../components/time';
import { responseOf } from '../deliveries/response-of';
import { nameOf } from '../deliveries/webhook-names';
import { statuses } from '../deliveries/words';
import { adviceOn } from '../outcomes/advice';
import { LastFailure } from '../webhooks/last-failure';
import { isAsAsked } from './is-as-asked';
import { whyHeld } from './story';
import styles from './story.module.css';

interface WhatNextProps {
  readonly delivery: DeliveryWithAttempts;
}

/** How a delivery is, what follows, and what its receiver's owner can do. */
export function WhatNext({ delivery }: WhatNextProps) {
  const { data: webhook } = useWebhook(delivery.webhook_id);
  const name = webhook ? nameOf(webhook) : 'its webhook';
  const last = delivery.attempts.at(-1);
  const failure = last && last.outcome !== 'delivered' ? last : webhookFailure(delivery.hold, webhook);
  const tone = delivery.status === 'pending' && failure ? 'warning' : statuses[delivery.status][1];
  return (
    <div className={`${styles['lead']} ${styles[tone]}`}>
      <p>{stateOf(delivery, name)}</p>
      {delivery.hold?.reason === 'breaker_open' && webhook?.health.last_failure_at && (
        <p>
          Last failure of the webhook: <LastFailure health={webhook.health} />.
        </p>
      )}
      {failure && delivery.status !== 'cancelled' && delivery.status !== 'superseded' && (
        <Advice failure={failure} type={delivery.event_type} />
      )}
    </div>
  );
}

type Failure = Pick<Attempt, 'outcome' | 'response_status'>;

/** A delivery that never was tried is held for what its webhook did to others. */
function webhookFailure(
  hold: Hold | null,
  webhook: ReturnType<typeof useWebhook>['data'],
): Failure | undefined {
  return (hold?.reason === 'breaker_open' && webhook?.health.last_failure) || undefined;
}

function Advice({ failure, type }: { readonly failure: Failure; readonly type: string }) {
  const { happened, toDo, isOfSignature } = adviceOn(failure);
  return (
    <p>
      <strong>{happened}</strong> {toDo} <Link href={`/outcomes/${failure.outcome}`}>More about this</Link>
      {isOfSignature && (
        <>
          {' · '}
          <Link href={`/event-types/${encodeURIComponent(type)}`}>Code that checks signatures</Link>
          {' · '}
          <a href="#verify-signature">Check this signature</a>
        </>
      )}
    </p>
  );
}

function stateOf(delivery: DeliveryWithAttempts, name: string): ReactNode {
  const { status, attempt_count: count, next_attempt_at: nextAt, hold } = delivery;
  const last = delivery.attempts.at(-1);
  const response = last && responseTo(last);
  switch (status) {
    case 'pending':
      if (nextAt === null) return `It is being sent to ${name}, or about to be.`;
      return (
        <>
          {last && `Attempt ${last.number} failed (${response}). `}
          Attempt {count + 1} is due <Time at={nextAt} />
          {last && (isAsAsked(last, nextAt) ? `: ${asked(last)}` : ', by the retry schedule')}.
        </>
      );
    case 'held':
      return (
        <>
          Held
          {hold?.since && (
            <>
              {' '}
              since <Time at={hold.since} />
            </>
          )}
          {`: ${whyHeld(hold, name)}. `}
          {hold?.until && (
            <>
              Next try by <Time at={hold.until} />.{' '}
            </>
          )}
          {hold && !hold.until && ENDS[hold.reason]} No attempt was used.
        </>
      );
    case 'delivered':
      if (last && last.outcome !== 'delivered') {
        return `${name} accepted it before. Attempt ${last.number} failed (${response}), and no other follows.`;
      }
      return `Delivered: ${name} accepted it${response ? ` (${response}${last.number > 1 ? `, attempt ${last.number}` : ''})` : ''}. Nothing follows.`;
    case 'exhausted':
      return `Given up after ${count === 1 ? 'one attempt' : `${count} attempts`}${response ? `; the last one failed (${response})` : ''}. Redeliver it once ${name} works.`;
    case 'aborted':
      return `Given up: ${name} asked for no further attempt${response ? ` (${response})` : ''}.`;
    case 'superseded':
      return (
        <>
          A newer event of its group is sent in place of it.{' '}
          {delivery.superseded_by && (
            <Link href={`/events/${delivery.superseded_by}`}>Look at the newer event</Link>
          )}
        </>
      );
    case 'cancelled':
      return `Cancelled: ${whyCancelled(delivery.cancel_reason)}. No attempt follows.`;
  }
}

/** For those that no time ends. */
const ENDS: Readonly<Record<Hold['reason'], string>> = {
  disabled: 'It is sent when somebody enables the webhook.',
  unverified: 'It is sent once the receiver has shown that it wants the requests.',
  breaker_open: 'It is sent once a trial succeeds.',
  rate_limited: 'It is sent when its turn comes.',
  ordering: 'It is sent when that one has ended.',
  no_token: 'It is sent once there is a token; the service asks for one again and again.',
  batching: 'It is sent when there are enough of them.',
  busy: 'It is sent when one of these requests ends.',
};

const CANCELLED: Readonly<Record<NonNullable<DeliveryWithAttempts['cancel_reason']>, string>> = {
  webhook_deleted: 'its webhook was deleted',
  payload_erased: 'the payload of its event was erased',
  event_expired: 'it was open for as long as a delivery may be',
  dropped: 'an operator dropped its dead letter',
  transformation: 'the code of the webhook’s transformation said so',
  discarded:
    'it was discarded while its webhook was disabled, or together with all that was held. A replay can send it',
};

function whyCancelled(reason: DeliveryWithAttempts['cancel_reason']): string {
  return reason ? CANCELLED[reason] : 'its webhook or its event is gone';
}

function responseTo({ outcome, response_status: status }: Failure): string | undefined {
  return responseOf({ last_outcome: outcome, last_response_status: status });
}

function asked({ response_headers: headers }: Attempt): string {
  return `the receiver asked for that (Retry-After: ${headers?.['retry-after']})`;
}
