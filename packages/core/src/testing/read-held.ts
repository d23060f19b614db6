import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';

/** The events of an endpoint's held deliveries, in the order of acceptance. */
export async function readHeld(
  heldDeliveries: Pick<HeldDeliveries, 'pagesOf'>,
  endpointId: EndpointId,
): Promise<readonly EventId[]> {
  const eventIds: EventId[] = [];
  for await (const page of heldDeliveries.pagesOf(endpointId)) {
    eventIds.push(...page.map(({ eventId }) => eventId));
  }
  return eventIds;
}
