import type { AccountId } from '../events/event';
import type { EventStore } from '../events/redis-event-store';
import type { ParkedStore } from '../gates/redis-parked-store';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import { announceRequest } from './announce-request';
import type { DeliveryParts } from './delivery-id';
import { FULL_LOG_BYTES } from './delivery-log';
import type { DeliveryStore } from './redis-delivery-store';
import type { RequestTrigger } from './trigger';

/** The queue of deliveries, for those that are sent once more. */
export interface ResendQueue {
  /** Whether the delivery has a job, in whichever lane and state. */
  hasJob(delivery: DeliveryParts): Promise<boolean>;
  /** If its job has failed for good, it is put back. Otherwise nothing happens. */
  putBackFailed(delivery: DeliveryParts): Promise<void>;
  /** Adding the same deliveries again is harmless: also when it broke off, and some of them are there. */
  addAll(deliveries: readonly QueuedDelivery[]): Promise<void>;
}

export interface QueuedDelivery extends DeliveryParts {
  readonly accountId: AccountId;
}

export interface ResendDeps {
  readonly eventStore: Pick<EventStore, 'addReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength' | 'appendIfUnchanged' | 'enlist'>;
  readonly parkedStore: Pick<ParkedStore, 'isParked'>;
  readonly resendQueue: ResendQueue;
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface ResendInput extends QueuedDelivery {
  /** When the event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  readonly trigger: RequestTrigger;
  /** The same when the same request is worked on again: then nothing is sent a second time. */
  readonly requestId: string;
}

export type Resent =
  /** It is to be sent, or has been already by this very request. */
  | 'resent'
  /** It is pending anyway, and has its place on the queue or at the gate. */
  | 'on_its_way'
  /** It has just come to its end, and its job is about to: until then it can't be sent once more. */
  | 'ending'
  /** It was sent so often that its log is full: it is sent no more. */
  | 'full';

/**
 * Sends events to endpoints once more, or for the first time: a delivery is open again, and has a job. Its gate applies
 * as to any other.
 *
 * First on record, then onto the queue: when it breaks off in between, repeating the request adds the job, and so does
 * any other request, since it finds a delivery that is open and has no place. A job of a delivery that has ended must be
 * gone, for it may still have to pass the turn on, and its id is in the way of the new one.
 */
export function createResend(deps: ResendDeps) {
  const { eventStore, deliveryStore, parkedStore, resendQueue, clock, emit } = deps;

  /** Their jobs are added as one batch: no more than some hundreds. */
  async function resendAll(inputs: readonly ResendInput[]): Promise<readonly Resent[]> {
    const results = await Promise.all(inputs.map(open));
    const opened = inputs.filter((_, i) => results[i] === 'opened');
    if (opened.length > 0) await resendQueue.addAll(opened);
    return results.map((result) => (result === 'opened' ? 'resent' : result));
  }

  async function resend(input: ResendInput): Promise<Resent> {
    const result = await open(input);
    if (result !== 'opened') return result;
    await resendQueue.addAll([input]);
    return 'resent';
  }

  /** `opened`: it is listed and on record, and needs a job. */
  async function open(input: ResendInput): Promise<Resent | 'opened'> {
    const { accountId, endpointId, eventId, trigger, requestId } = input;
    const { state, length } = await deliveryStore.readWithLength(endpointId, eventId);
    const isOurs = state.requestIds.includes(requestId);
    if (isOurs && !state.isOpen) return 'resent';
    if (await hasPlace(input)) {
      if (isOurs) return 'resent';
      // What an operator would be needed for otherwise: it is sent, or if it has ended, gone soon.
      await resendQueue.putBackFailed(input);
      return state.isOpen ? 'on_its_way' : 'ending';
    }
    if (!isOurs) {
      if (length >= FULL_LOG_BYTES) return 'full';
      const fact = { kind: 'requested', requestId, trigger, requestedAt: clock() } as const;
      const isFirst = await deliveryStore.appendIfUnchanged(input, fact, length);
      if (!isFirst) return await open(input);
      announceRequest(emit, input, trigger);
    }
    await Promise.all([
      deliveryStore.enlist(eventId, [endpointId], input.acceptedAt),
      eventStore.addReceivers(accountId, eventId, [endpointId]),
    ]);
    return 'opened';
  }

  async function hasPlace(delivery: DeliveryParts): Promise<boolean> {
    const { endpointId, eventId } = delivery;
    const places = await Promise.all([
      resendQueue.hasJob(delivery),
      parkedStore.isParked(endpointId, eventId),
    ]);
    return places.includes(true);
  }

  return { resend, resendAll };
}

export type Resend = ReturnType<typeof createResend>['resend'];
export type ResendAll = ReturnType<typeof createResend>['resendAll'];
