import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Attempt, DeliveryWithAttempts, Hold } from '../../api/delivery-queries';
import { useWebhook } from '../../api/webhook-queries';
import { Time } from '../../components/time';
import { isolated } from '../../language/formats';
import { holdWords } from '../deliveries/hold-words';
import { responseOf } from '../deliveries/response-of';
import { nameOf } from '../deliveries/webhook-names';
import { statuses } from '../deliveries/words';
import { adviceOn } from '../outcomes/advice';
import { LastFailure } from '../webhooks/last-failure';
import { isAsAsked } from './is-as-asked';
import styles from './story.module.css';

interface WhatNextProps {
  readonly delivery: DeliveryWithAttempts;
}

/** How a delivery is, what follows, and what its receiver's owner can do. */
export function WhatNext({ delivery }: WhatNextProps) {
  const { data: webhook } = useWebhook(delivery.webhook_id);
  const name = webhook ? isolated(nameOf(webhook)) : t`its webhook`;
  const last = delivery.attempts.at(-1);
  const failure = last && last.outcome !== 'delivered' ? last : webhookFailure(delivery.hold, webhook);
  const tone = delivery.status === 'pending' && failure ? 'warning' : statuses[delivery.status][1];
  return (
    <div className={`${styles['lead']} ${styles[tone]}`}>
      <p>{stateOf(delivery, name)}</p>
      {delivery.hold?.reason === 'breaker_open' && webhook?.health.last_failure_at && (
        <p>
          <Trans>
            Last failure of the webhook: <LastFailure health={webhook.health} />.
          </Trans>
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
      <strong>{happened}</strong> {toDo}{' '}
      <Link href={`/outcomes/${failure.outcome}`}>
        <Trans>More about this</Trans>
      </Link>
      {isOfSignature && (
        <>
          {' · '}
          <Link href={`/event-types/${encodeURIComponent(type)}`}>
            <Trans>Code that checks signatures</Trans>
          </Link>
          {' · '}
          <a href="#verify-signature">
            <Trans>Check this signature</Trans>
          </a>
        </>
      )}
    </p>
  );
}

function stateOf(delivery: DeliveryWithAttempts, name: string): ReactNode {
  switch (delivery.status) {
    case 'pending':
      return <Pending delivery={delivery} name={name} />;
    case 'held':
      return <Held hold={delivery.hold} name={name} />;
    case 'superseded':
      return (
        <>
          <Trans>A newer event of its group is sent in place of it.</Trans>{' '}
          {delivery.superseded_by && (
            <Link href={`/events/${delivery.superseded_by}`}>
              <Trans>Look at the newer event</Trans>
            </Link>
          )}
        </>
      );
    case 'cancelled': {
      const reason = whyCancelled(delivery.cancel_reason);
      return t`Cancelled: ${reason}. No attempt follows.`;
    }
    case 'delivered':
    case 'exhausted':
    case 'aborted':
      return ended(delivery, name);
  }
}

function Pending({ delivery, name }: { readonly delivery: DeliveryWithAttempts; readonly name: string }) {
  const { attempt_count: count, next_attempt_at: nextAt } = delivery;
  if (nextAt === null) return <Trans>It is being sent to {name}, or about to be.</Trans>;
  const next = count + 1;
  const last = delivery.attempts.at(-1);
  if (!last) {
    return (
      <Trans>
        Attempt {next} is due <Time at={nextAt} />.
      </Trans>
    );
  }
  const { number } = last;
  const response = responseTo(last);
  if (!isAsAsked(last, nextAt)) {
    return (
      <Trans>
        Attempt {number} failed ({response}). Attempt {next} is due <Time at={nextAt} />, by the retry
        schedule.
      </Trans>
    );
  }
  const wish = last.response_headers?.['retry-after'];
  return (
    <Trans>
      Attempt {number} failed ({response}). Attempt {next} is due <Time at={nextAt} />: the receiver asked for
      that (Retry-After: {wish}).
    </Trans>
  );
}

function Held({ hold, name }: { readonly hold: Hold | null; readonly name: string }) {
  const why = hold ? holdWords[hold.reason].named(name) : t`${name} can’t take it just now`;
  return (
    <>
      {hold?.since ? (
        <Trans>
          Held since <Time at={hold.since} />: {why}.
        </Trans>
      ) : (
        <Trans>Held: {why}.</Trans>
      )}{' '}
      {hold?.until && (
        <Trans>
          Next try by <Time at={hold.until} />.
        </Trans>
      )}
      {hold && !hold.until && holdWords[hold.reason].ends} <Trans>No attempt was used.</Trans>{' '}
      {hold?.waits_for && (
        <Link href={`/events/${hold.waits_for}`}>
          <Trans>Look at the event before it</Trans>
        </Link>
      )}
    </>
  );
}

function ended({ status, attempt_count: count, attempts }: DeliveryWithAttempts, name: string): string {
  const last = attempts.at(-1);
  const [response, attempt] = [last && responseTo(last), last?.number ?? 0];
  if (status === 'exhausted') {
    if (!response) {
      return plural(count, {
        one: `Given up after one attempt. Redeliver it once ${name} works.`,
        other: `Given up after # attempts. Redeliver it once ${name} works.`,
      });
    }
    return plural(count, {
      one: `Given up after one attempt; the last one failed (${response}). Redeliver it once ${name} works.`,
      other: `Given up after # attempts; the last one failed (${response}). Redeliver it once ${name} works.`,
    });
  }
  if (status === 'aborted') {
    return response
      ? t`Given up: ${name} asked for no further attempt (${response}).`
      : t`Given up: ${name} asked for no further attempt.`;
  }
  if (last && last.outcome !== 'delivered') {
    const failure = responseTo(last);
    return t`${name} accepted it before. Attempt ${attempt} failed (${failure}), and no other follows.`;
  }
  if (!response) return t`Delivered: ${name} accepted it. Nothing follows.`;
  return attempt > 1
    ? t`Delivered: ${name} accepted it (${response}, attempt ${attempt}). Nothing follows.`
    : t`Delivered: ${name} accepted it (${response}). Nothing follows.`;
}

const CANCELLED: Readonly<Record<NonNullable<DeliveryWithAttempts['cancel_reason']>, string>> = {
  webhook_deleted: t`its webhook was deleted`,
  payload_erased: t`the payload of its event was erased`,
  event_expired: t`it was open for as long as a delivery may be`,
  dropped: t`an operator dropped its dead letter`,
  transformation: t`the code of the webhook’s transformation said so`,
  discarded: t`it was discarded while its webhook was disabled, or together with all that was held. A replay can send it`,
};

function whyCancelled(reason: DeliveryWithAttempts['cancel_reason']): string {
  return reason ? CANCELLED[reason] : t`its webhook or its event is gone`;
}

function responseTo({ outcome, response_status: status }: Failure): string {
  return responseOf({ last_outcome: outcome, last_response_status: status });
}
