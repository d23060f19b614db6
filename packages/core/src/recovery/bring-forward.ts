import type { NewDelivery } from '../intake/fan-out-event';
import type { Clock } from '../kernel/clock';
import type { DeliveryParts, RequestTrigger } from '../model/delivery';
import { FULL_LOG_BYTES } from '../model/delivery-log';
import type { Emit } from '../model/signal';
import type { DeliveryStore } from '../record/redis-delivery-store';
import { announceRequest } from './resend';

/** The jobs of deliveries that are on their way. */
export interface DelayedJobs {
  /** Whether a worker is at it. */
  isRunning(delivery: DeliveryParts): Promise<boolean>;
  /** If its job waits for a time to come, it waits no longer. Otherwise nothing happens. */
  promote(delivery: DeliveryParts): Promise<void>;
}

export interface BringForwardDeps {
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength' | 'appendIfUnchanged'>;
  readonly delayedJobs: DelayedJobs;
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface BringForwardInput extends NewDelivery {
  readonly trigger: RequestTrigger;
  /** The same when the same request is worked on again: then nothing is sent a second time. */
  readonly requestId: string;
}

export type BroughtForward =
  /** Its next attempt comes now; or it is under way, about to be, or held at its gate, and stays so. */
  | 'soon'
  /** Its attempt has just failed, and its job is about to be put back: until then it can't be brought forward. */
  | 'ending'
  /** Its log is full: its next attempt comes when it is due. */
  | 'full';

/**
 * Sends a delivery that is on its way now, and not only when it is due. It is the attempt that was to come, by the same
 * job, so that there are never two at once; when it fails, the schedule goes on after it.
 *
 * First on record, since a job that runs before its delivery is due is put back. When it breaks off in between, the job
 * runs when it would have anyway, or when the request is repeated.
 */
export function createBringForward({ deliveryStore, delayedJobs, clock, emit }: BringForwardDeps) {
  return async function bringForward(input: BringForwardInput): Promise<BroughtForward> {
    const { endpointId, eventId, trigger, requestId } = input;
    const { state, length } = await deliveryStore.readWithLength(endpointId, eventId);
    const now = clock();
    const isEarlier = state.nextAttemptAt !== undefined && state.nextAttemptAt > now;
    if (isEarlier) {
      if (state.requestIds.includes(requestId)) return 'soon';
      if (length >= FULL_LOG_BYTES) return 'full';
      if (await delayedJobs.isRunning(input)) return 'ending';
      const fact = { kind: 'requested', requestId, trigger, requestedAt: now } as const;
      const isFirst = await deliveryStore.appendIfUnchanged(input, fact, length);
      if (!isFirst) return await bringForward(input);
      announceRequest(emit, input, trigger);
    }
    await delayedJobs.promote(input);
    // A worker may have taken the job before its time, and not know that it is due: it is about to put it back.
    return isEarlier && (await delayedJobs.isRunning(input)) ? 'ending' : 'soon';
  };
}

export type BringForward = ReturnType<typeof createBringForward>;
