import type { Endpoint } from '../endpoints/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { AcceptedEvent, StoredEvent } from '../events/event';
import type { EventStore } from '../events/redis-event-store';
import type { BreakerState } from '../gates/breaker';
import type { PassTurn } from '../gates/pass-turn';
import type { Clock } from '../runtime/clock';
import type { AnnounceEnd } from './announce-end';
import type { DeliveryState } from './delivery-log';
import type { DeliveryRun } from './delivery-run';
import type { DeliveryStore } from './redis-delivery-store';
import type { Trigger } from './trigger';

export interface LoadDeliveryDeps {
  readonly eventStore: Pick<EventStore, 'find'>;
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithBreaker' | 'append'>;
  readonly passTurn: PassTurn;
  readonly announceEnd: AnnounceEnd;
  readonly clock: Clock;
}

/** A delivery that can be tried now, with all that its attempt needs. */
export interface ReadyDelivery {
  readonly kind: 'ready';
  readonly run: DeliveryRun;
  readonly event: AcceptedEvent;
  readonly endpoint: Endpoint;
  readonly breaker: BreakerState;
  readonly attemptNumber: number;
  readonly trigger: Trigger;
  /** Which attempt of the schedule it is: 1, 2, … */
  readonly scheduledAttempt: number;
  /** Whether it was delivered before, and was requested once more. */
  readonly wasDelivered: boolean;
  /** When its event was accepted, or it was requested. Milliseconds since the Unix epoch. */
  readonly begunAt: number;
}

export type LoadedDelivery =
  | ReadyDelivery
  /** It has come to its end, be it just now because nothing can be sent any more. */
  | { readonly kind: 'over' }
  | { readonly kind: 'not_due'; readonly dueAt: number };

/** Reads what an attempt needs, and ends the delivery if there is no more to be sent, or nowhere to send it. */
export function createLoadDelivery(deps: LoadDeliveryDeps) {
  return async function loadDelivery(run: DeliveryRun): Promise<LoadedDelivery> {
    const [{ state, breaker }, endpoint, event] = await Promise.all([
      deps.deliveryStore.readWithBreaker(run),
      deps.endpointStore.find(run.accountId, run.endpointId),
      deps.eventStore.find(run.accountId, run.eventId),
    ]);
    if (state.isOpen && endpoint && event?.body !== undefined) {
      // It ran before its time, after a crash or an error: the record knows when it is due.
      const { nextAttemptAt: dueAt = 0 } = state;
      if (dueAt > deps.clock()) return { kind: 'not_due', dueAt };
      return { kind: 'ready', run, event, endpoint, breaker, ...nextAttemptOf(state, event) };
    }
    // What is not open: a delivery whose worker died after it was put on record, or one fanned out twice.
    if (state.isOpen) await cancel(run, endpoint, event);
    if (endpoint) await deps.passTurn(endpoint, run.eventId);
    return { kind: 'over' };
  };

  // Without event and endpoint nobody can read the record: its account may be erased, and nothing of it is to come back.
  async function cancel(
    run: DeliveryRun,
    endpoint: Endpoint | undefined,
    event: StoredEvent | undefined,
  ): Promise<void> {
    if (endpoint || event) {
      await deps.deliveryStore.append(run, { kind: 'cancelled', reason: whyCancelled(endpoint, event) });
    }
    deps.announceEnd(run, 'cancelled', event?.acceptedAt);
  }
}

function whyCancelled(endpoint: Endpoint | undefined, event: StoredEvent | undefined): string {
  if (!endpoint) return 'endpoint_deleted';
  return event ? 'payload_erased' : 'event_expired';
}

function nextAttemptOf({ status, attempts, round }: DeliveryState, { acceptedAt }: AcceptedEvent) {
  return {
    attemptNumber: attempts.length + 1,
    trigger: round.trigger,
    scheduledAttempt: round.attempts + 1,
    wasDelivered: status === 'delivered',
    begunAt: round.requestedAt ?? acceptedAt,
  } as const;
}
