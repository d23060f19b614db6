import { Link } from 'wouter';
import type { Attempt, DeliveryWithAttempts } from '../../api/delivery-queries';
import { useWebhook } from '../../api/webhook-queries';
import { Time } from '../../components/time';
import { responseOf } from '../deliveries/response-of';
import { whyHeld } from '../deliveries/words';
import { LastFailure } from '../webhooks/last-failure';
import { isAsAsked } from './is-as-asked';

/** The next step of the delivery, and the reason. */
export function WhatNext({ delivery }: { readonly delivery: DeliveryWithAttempts }) {
  const { status, attempt_count: count, next_attempt_at: nextAt, webhook_id: webhookId, hold } = delivery;
  switch (status) {
    case 'pending':
      return nextAt === null ? (
        <>It is being sent, or about to be.</>
      ) : (
        <>
          Attempt {count + 1} is due <Time at={nextAt} />
          {whyThen(delivery.attempts.at(-1), nextAt)}.
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
          , because {whyHeld(hold)}. No attempt was used.
          {hold?.until && (
            <>
              {' '}
              The next try is <Time at={hold.until} /> at the latest.
            </>
          )}
          {hold?.reason === 'breaker_open' && <WhyItFails webhookId={webhookId} />}{' '}
          <Link href={`/webhooks/${webhookId}`}>Look at the webhook</Link>
        </>
      );
    case 'delivered':
      return <>The receiver accepted it. Nothing follows.</>;
    case 'exhausted':
      return (
        <>The retry schedule ran out: no attempt follows by itself. Redeliver it once the receiver is well.</>
      );
    case 'aborted':
      return <>The receiver asked for no further attempt, so none follows by itself.</>;
    case 'superseded':
      return (
        <>
          A newer event of its group is sent in place of it: no attempt follows.{' '}
          {delivery.superseded_by && (
            <Link href={`/events/${delivery.superseded_by}`}>Look at the newer event</Link>
          )}
        </>
      );
    case 'cancelled':
      return <>{whyCancelled(delivery.cancel_reason)}: no attempt follows.</>;
  }
}

function WhyItFails({ webhookId }: { readonly webhookId: string }) {
  const { data: webhook } = useWebhook(webhookId);
  if (!webhook?.health.last_failure_at) return null;
  return (
    <>
      {' '}
      Last failure of the webhook: <LastFailure health={webhook.health} />.
    </>
  );
}

const CANCELLED: Readonly<Record<NonNullable<DeliveryWithAttempts['cancel_reason']>, string>> = {
  webhook_deleted: 'Its webhook was deleted',
  payload_erased: 'The payload of its event was erased',
  event_expired: 'It was open for as long as a delivery may be',
  dropped: 'An operator dropped its dead letter',
  transformation: 'The code of the webhook’s transformation cancelled it',
  discarded:
    'It was discarded while its webhook was disabled, or together with all that was held. A replay can send it',
};

function whyCancelled(reason: DeliveryWithAttempts['cancel_reason']): string {
  return reason ? CANCELLED[reason] : 'It has nowhere to go or nothing to bring any more';
}

function whyThen(before: Attempt | undefined, dueAt: string): string {
  if (before === undefined) return '';
  const response = responseOf({ last_outcome: before.outcome, last_response_status: before.response_status });
  const wish = before.response_headers?.['retry-after'];
  const source = isAsAsked(before, dueAt)
    ? `as the receiver asked (Retry-After: ${wish})`
    : 'as the retry schedule says';
  return `, ${source}; attempt ${before.number} failed (${response})`;
}
