import { type EndpointId, endpointIdSchema } from './endpoint';
import { type EventId, eventIdSchema } from './event';

declare const brand: unique symbol;

/**
 * `<event id>.<webhook id>`: a function of the two, so that a fan-out that runs twice makes the same delivery,
 * and a job needs to carry nothing else. Neither part can hold a dot.
 */
export type DeliveryId = string & { readonly [brand]: 'DeliveryId' };

export interface DeliveryParts {
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
}

export function deliveryIdOf({ eventId, endpointId }: DeliveryParts): DeliveryId {
  return `${eventId}.${endpointId}` as DeliveryId;
}

/** `undefined` for a text that is no delivery id. */
export function parseDeliveryId(text: string): DeliveryParts | undefined {
  const dot = text.indexOf('.');
  const eventId = eventIdSchema.safeParse(text.slice(0, dot));
  const endpointId = endpointIdSchema.safeParse(text.slice(dot + 1));
  if (dot === -1 || !eventId.success || !endpointId.success) return undefined;
  return { eventId: eventId.data, endpointId: endpointId.data };
}
