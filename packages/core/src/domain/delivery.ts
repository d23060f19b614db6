import { z } from 'zod';
import type { AccountId } from './account';
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

/** A delivery that is to have a job. */
export interface NewDelivery extends DeliveryParts {
  readonly accountId: AccountId;
  /** When its event was accepted, if that is at hand. Milliseconds since the Unix epoch. */
  readonly acceptedAt?: number;
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

/** For the description of ids of deliveries, as `parseDeliveryId` takes them. */
export const DELIVERY_ID_FORM = { pattern: '^[A-Za-z0-9_-]{1,128}[.]wh_[0-9a-z]{22}$' };

/** What somebody can ask for. */
export const requestTriggers = ['manual', 'replay', 'test'] as const;
export type RequestTrigger = (typeof requestTriggers)[number];

/** What brought an attempt about: the schedule, or who asked for it. */
export const triggers = ['schedule', ...requestTriggers] as const;

export const triggerSchema = z.enum(triggers);
export type Trigger = z.infer<typeof triggerSchema>;

/** One run of a delivery's job. */
export interface DeliveryRun {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
  /** Whether the job ran before: it was held, tried, or taken over from a worker that died. */
  readonly hasWaited: boolean;
  /** Whether it was taken over from a worker that did not say any more that it is at it. */
  readonly wasTakenOver: boolean;
  /**
   * Until when the job is surely ours. A process that was stopped for longer may have lost it to another one, without
   * having noticed yet: it sends nothing after this. Milliseconds since the Unix epoch.
   */
  readonly ownedUntil: number;
  /** What the job was added for, if somebody has asked for the delivery to be sent once more. */
  readonly request?: DeliveryRequested | undefined;
}

export interface DeliveryRequested {
  readonly requestId: string;
  readonly trigger: RequestTrigger;
  /** Milliseconds since the Unix epoch. */
  readonly requestedAt: number;
}

/** Why a delivery is held. */
export const holdReasons = ['disabled', 'breaker_open', 'busy', 'rate_limited', 'out_of_turn'] as const;
export type HoldReason = (typeof holdReasons)[number];

/** Why an attempt counts among the slow ones: it takes long, or there are too many strangers. */
export const slowReasons = ['slow', 'stranger'] as const;
export type SlowReason = (typeof slowReasons)[number];
