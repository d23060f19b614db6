import type { EndpointId } from './endpoint';
import type { AccountId, EventId } from './event';
import type { RequestTrigger } from './trigger';

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
