import type { NewDelivery } from '../intake/fan-out-event';
import type { Clock } from '../kernel/clock';
import {
  type DeliveryParts,
  type DeliveryRequested,
  deliveryIdOf,
  type RequestTrigger,
} from '../model/delivery';
import { FULL_LOG_BYTES } from '../model/delivery-log';
import type { AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import { ATTEMPT_BYTES, type NoteUsage } from '../model/usage';
import type { DeliveryStore } from '../record/redis-delivery-store';
import type { EventStore } from '../record/redis-event-store';

/** What a delivery's job was added for: by nobody's request, or there is no job. */
export type JobRequest = 'no_job' | 'no_request' | { readonly requestId: string };

/** The queue of deliveries, for those that are sent once more. */
export interface ResendQueue {
  /** Each with what was asked for. One that has a job already is ignored: `requestOf` tells. */
  addRequested(deliveries: readonly (NewDelivery & { readonly request: DeliveryRequested })[]): Promise<void>;
  requestOf(delivery: DeliveryParts): Promise<JobRequest>;
  /** If its job has failed for good, it is put back. Otherwise nothing happens. */
  putBackFailed(delivery: DeliveryParts): Promise<void>;
}

export interface ResendDeps {
  readonly eventStore: Pick<EventStore, 'addReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength' | 'appendIfUnchanged' | 'enlist'>;
  readonly resendQueue: ResendQueue;
  /** Absent: nobody counts what is stored. */
  readonly noteUsage?: NoteUsage;
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface ResendInput extends DeliveryParts {
  readonly accountId: AccountId;
  /** When the event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  readonly trigger: RequestTrigger;
  /** The same when the same request is worked on again: then nothing is sent a second time. */
  readonly requestId: string;
}

export type Resent =
  /** It is to be sent, or has been already by this very request. */
  | 'resent'
  /** It is pending anyway, and has its job. */
  | 'on_its_way'
  /** It has just come to its end, and its job is about to: until then it can't be sent once more. */
  | 'ending'
  /** It was sent so often that its log is full: it is sent no more. */
  | 'full';

/**
 * Sends events to endpoints once more, or for the first time: a delivery is open again, and has a job. Its endpoint's
 * limits apply as to any other.
 *
 * The job comes first, and has the request with it: a delivery that is open on record has a job from the first moment. When
 * it breaks off in between, the job puts the request on record when it runs.
 */
export function createResend(deps: ResendDeps) {
  const { eventStore, deliveryStore, resendQueue, clock, emit } = deps;

  /** Their jobs are added as one batch: no more than some hundreds. */
  async function resendAll(inputs: readonly ResendInput[]): Promise<readonly Resent[]> {
    const known = await Promise.all(inputs.map(alreadyKnown));
    const wanted = inputs.filter((_, i) => known[i] === undefined);
    if (wanted.length > 0) await resendQueue.addRequested(wanted.map(toRequested));
    return await Promise.all(inputs.map(async (input, i) => known[i] ?? (await conclude(input))));
  }

  async function resend(input: ResendInput): Promise<Resent> {
    const [resent = 'ending'] = await resendAll([input]);
    return resent;
  }

  async function alreadyKnown({ endpointId, eventId, requestId }: ResendInput): Promise<Resent | undefined> {
    const { state, length } = await deliveryStore.readWithLength(endpointId, eventId);
    if (state.requestIds.includes(requestId)) return 'resent';
    return length >= FULL_LOG_BYTES ? 'full' : undefined;
  }

  /** Finds out whose job there is by now, and puts the request on record if it is ours. */
  async function conclude(input: ResendInput): Promise<Resent> {
    const { accountId, endpointId, eventId, requestId, trigger } = input;
    const job = await resendQueue.requestOf(input);
    const { state, length } = await deliveryStore.readWithLength(endpointId, eventId);
    if (state.requestIds.includes(requestId)) return await listed(input);
    if (job === 'no_job') return 'ending';
    if (job === 'no_request' || job.requestId !== requestId) {
      // What an operator would be needed for otherwise: it is sent, or if it has ended, gone soon.
      await resendQueue.putBackFailed(input);
      return state.isOpen ? 'on_its_way' : 'ending';
    }
    const fact = { kind: 'requested', requestId, trigger, requestedAt: clock() } as const;
    if (!(await deliveryStore.appendIfUnchanged(input, fact, length))) return await conclude(input);
    deps.noteUsage?.(accountId, 'deliveries', ATTEMPT_BYTES);
    announceRequest(emit, input, trigger);
    return await listed(input);
  }

  async function listed({ accountId, endpointId, eventId, acceptedAt }: ResendInput): Promise<'resent'> {
    await Promise.all([
      deliveryStore.enlist(eventId, [endpointId], acceptedAt, accountId),
      eventStore.addReceivers(accountId, eventId, [endpointId]),
    ]);
    return 'resent';
  }

  function toRequested({ accountId, endpointId, eventId, requestId, trigger }: ResendInput) {
    return { accountId, endpointId, eventId, request: { requestId, trigger, requestedAt: clock() } };
  }

  return { resend, resendAll };
}

export type Resend = ReturnType<typeof createResend>['resend'];
export type ResendAll = ReturnType<typeof createResend>['resendAll'];

/** Says that somebody has asked for a delivery to be sent. */
export function announceRequest(
  emit: Emit,
  { accountId, endpointId, eventId }: NewDelivery,
  trigger: RequestTrigger,
): void {
  const deliveryId = deliveryIdOf({ endpointId, eventId });
  emit({ name: 'delivery.requested', deliveryId, accountId, endpointId, eventId, trigger });
}
