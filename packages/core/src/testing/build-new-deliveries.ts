import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { NewDeliveries } from '../events/redis-delivery-store';

/** What the lists of these endpoints get of one event. */
export function buildNewDeliveries(
  eventId: EventId,
  endpointIds: readonly EndpointId[],
  createdAt: number,
  accountId?: AccountId,
): readonly NewDeliveries[] {
  return endpointIds.map((endpointId) => ({ accountId, endpointId, marks: [{ eventId, createdAt }] }));
}
