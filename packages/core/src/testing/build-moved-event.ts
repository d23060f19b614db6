import { type DeliveryFact, encodeFact } from '../domain/delivery-fact';
import type { EndpointId } from '../domain/endpoint';
import type { MovedDelivery, MovedEvent } from '../domain/moved-event';
import { buildAcceptedAttempt } from './build-attempt';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from './unique-ids';

/** A `keyword.quick_win` event without deliveries, in an account of its own unless `change` names one. */
export function buildMovedEvent(change: Partial<MovedEvent> = {}): MovedEvent {
  return {
    accountId: uniqueAccountId(),
    id: uniqueEventId(),
    createdAt: 1_700_000_000_000,
    head: { type: 'keyword.quick_win', isAimed: false },
    dataText: '{"keyword":"shoes"}',
    keepDays: 90,
    deliveries: [],
    ...change,
  };
}

/** A delivery with these facts; one that was accepted at once, unless they say otherwise. */
export function buildMovedDelivery(
  endpointId: EndpointId = uniqueEndpointId(),
  facts: readonly DeliveryFact[] = [
    { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined },
  ],
): MovedDelivery {
  return { endpointId, log: facts.map(encodeFact).join('') };
}
