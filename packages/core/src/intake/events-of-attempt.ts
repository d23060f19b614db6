import { isOperational } from '../catalogue/built-in/index';
import { formatTime } from '../kernel/clock';
import type { Attempt } from '../model/attempt';
import { type DeliveryParts, deliveryIdOf } from '../model/delivery';
import type { DisabledReason, Endpoint } from '../model/endpoint';
import type { AcceptedEvent } from '../model/event';
import type { OperationalEvent } from './operational-event';

/** An attempt that has come to its end, and what followed from it. */
export interface AttemptAftermath {
  readonly event: AcceptedEvent;
  readonly endpoint: Endpoint;
  readonly attempt: Attempt;
  readonly isExhausted: boolean;
  /** Why this attempt has disabled the endpoint, if it did. */
  readonly disabledAs: DisabledReason | undefined;
  /** When the trouble began that `webhook.failing` told of and this success has ended, if it did. */
  readonly recoveredFrom: number | undefined;
}

/** After so many the default schedule has waited for half an hour: it is no hiccup, and still time to do something. */
const FAILING_AFTER_ATTEMPTS = 4;

/** Whether `webhook.failing` tells of an attempt. Never of one that was to deliver such an event itself. */
export function tellsOfFailing(eventType: string, { number, outcome }: Attempt): boolean {
  return number === FAILING_AFTER_ATTEMPTS && outcome !== 'delivered' && !isOperational(eventType);
}

/** What an account is told after an attempt. Nothing about deliveries of such events themselves: it would never end. */
export function eventsOfAttempt(aftermath: AttemptAftermath): OperationalEvent[] {
  if (isOperational(aftermath.event.type)) return [];
  return [failing(aftermath), exhausted(aftermath), disabled(aftermath), recovered(aftermath)].filter(
    (event) => event !== undefined,
  );
}

/** Told wherever an endpoint is disabled. */
export function webhookDisabledEvent(
  { id, url }: Endpoint,
  reason: DisabledReason,
  now: number,
): OperationalEvent {
  return {
    type: 'webhook.disabled',
    endpointId: id,
    data: { webhook_id: id, url, reason, disabled_at: formatTime(now) },
  };
}

function failing({ event, endpoint, attempt }: AttemptAftermath): OperationalEvent | undefined {
  if (!tellsOfFailing(event.type, attempt)) return undefined;
  return {
    type: 'webhook.failing',
    endpointId: endpoint.id,
    data: {
      webhook_id: endpoint.id,
      url: endpoint.url,
      event_id: event.id,
      delivery_id: deliveryIdOf(partsOf(event, endpoint)),
      type: event.type,
      attempt_count: attempt.number,
      last_outcome: attempt.outcome,
      last_response_status: attempt.responseStatus ?? null,
    },
  };
}

function exhausted({
  event,
  endpoint,
  attempt,
  isExhausted,
}: AttemptAftermath): OperationalEvent | undefined {
  if (!isExhausted) return undefined;
  return {
    type: 'delivery.exhausted',
    endpointId: endpoint.id,
    data: {
      delivery_id: deliveryIdOf(partsOf(event, endpoint)),
      event_id: event.id,
      webhook_id: endpoint.id,
      type: event.type,
      attempt_count: attempt.number,
    },
  };
}

function disabled({ endpoint, attempt, disabledAs }: AttemptAftermath): OperationalEvent | undefined {
  return disabledAs && webhookDisabledEvent(endpoint, disabledAs, endOf(attempt));
}

function recovered({ endpoint, attempt, recoveredFrom }: AttemptAftermath): OperationalEvent | undefined {
  if (recoveredFrom === undefined) return undefined;
  const { id, url } = endpoint;
  const data = {
    webhook_id: id,
    url,
    failing_since: formatTime(recoveredFrom),
    recovered_at: formatTime(endOf(attempt)),
  };
  return { type: 'webhook.recovered', endpointId: id, data };
}

function partsOf(event: AcceptedEvent, endpoint: Endpoint): DeliveryParts {
  return { eventId: event.id, endpointId: endpoint.id };
}

function endOf({ startedAt, durationMs }: Attempt): number {
  return startedAt + durationMs;
}
