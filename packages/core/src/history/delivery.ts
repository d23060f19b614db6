import type { Attempt, AttemptOutcome } from '../model/attempt';
import type { DeliveryId } from '../model/delivery';
import type { EndpointId } from '../model/endpoint';
import type { EventId } from '../model/event';
import type { ShownStatus } from './delivery-filter';
import type { HoldExplanation } from './explain-hold';

/** A delivery as clients see it. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
  readonly type: string;
  readonly status: ShownStatus;
  readonly attemptCount: number;
  /** What came of the last attempt; `undefined` before there was one. */
  readonly lastOutcome: AttemptOutcome | undefined;
  /** What the last attempt was answered with, if it was. */
  readonly lastResponseStatus: number | undefined;
  readonly nextAttemptAt: number | undefined;
  /** Why it is held, if it is, and its endpoint is still there. */
  readonly hold: HoldExplanation | undefined;
  /** When its event was accepted. */
  readonly createdAt: number;
}

/** A delivery with each of its attempts. */
export interface DeliveryWithAttempts extends Delivery {
  readonly attempts: readonly Attempt[];
}
