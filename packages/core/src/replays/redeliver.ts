import { setTimeout as wait } from 'node:timers/promises';
import type { AccountId } from '../domain/account';
import { type DeliveryParts, deliveryIdOf, type NewDelivery, type RequestTrigger } from '../domain/delivery';
import { FULL_LOG_BYTES } from '../domain/delivery-log';
import { eventNotFound } from '../domain/event';
import type { Emit } from '../domain/signal';
import { ATTEMPT_BYTES, type NoteUsage } from '../domain/usage';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import type { DeliveryWithAttempts } from '../history/delivery-standings';
import type { ReadDeliveries } from '../history/read-deliveries';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';

export interface RedeliverDeps {
  readonly deliveries: Pick<ReadDeliveries, 'read'>;
  readonly eventStore: Pick<EventStore, 'findHead'>;
  readonly resend: Resend;
  readonly bringForward: BringForward;
}

// A job ends within milliseconds of its attempt, if Redis has no trouble and the machine is not busy.
const TRIES = 20;
const EVERY_MS = 50;

/**
 * Sends a delivery once more, now, however it ended; one that is on its way is brought forward. In the moment in which an
 * attempt ends neither is possible: it waits for that up to a second.
 *
 * @param requestId the same when the same request is worked on again.
 * @throws AppError `not_found`, also when its event or its endpoint is no longer there; `conflict` when it waited in vain;
 *   `payload_erased` when there is nothing to send any more; `limit_reached` when it was sent too often.
 */
export function createRedeliver({ deliveries, eventStore, resend, bringForward }: RedeliverDeps) {
  return async function redeliver(
    accountId: AccountId,
    id: string,
    requestId: string,
  ): Promise<DeliveryWithAttempts> {
    const { endpointId, eventId, createdAt: acceptedAt } = await deliveries.read(accountId, id);
    const head = await eventStore.findHead(accountId, eventId);
    if (!head) throw eventNotFound();
    if (head.erasedAt !== undefined) {
      throw new AppError(
        'payload_erased',
        "The event's payload was erased: there is nothing to send any more.",
      );
    }
    const input = { accountId, endpointId, eventId, acceptedAt, trigger: 'manual', requestId } as const;
    for (let tries = 1; (await sendNow(input)) === 'ending'; tries += 1) {
      if (tries === TRIES) {
        throw new AppError('conflict', 'An attempt of the delivery has just ended; ask again in a moment.');
      }
      await wait(EVERY_MS);
    }
    return await deliveries.read(accountId, id);
  };

  // Brought forward also when it says that it was resent: the same request may have broken off before it came to that.
  async function sendNow(input: ResendInput): Promise<'soon' | 'ending'> {
    const resent = await resend(input);
    const sent = resent === 'ending' || resent === 'full' ? resent : await bringForward(input);
    if (sent === 'full') {
      throw new AppError(
        'limit_reached',
        'The delivery was sent so often that the record of it is full (1 MiB): publish a new event.',
      );
    }
    return sent;
  }
}

export type Redeliver = ReturnType<typeof createRedeliver>;

export interface BringForwardDeps {
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength' | 'appendIfUnchanged'>;
  readonly delayedJobs: Pick<DeliveryQueue, 'isRunning' | 'promote'>;
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

export interface ResendDeps {
  readonly eventStore: Pick<EventStore, 'addReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength' | 'appendIfUnchanged' | 'enlist'>;
  readonly resendQueue: Pick<DeliveryQueue, 'addRequested' | 'requestOf' | 'putBackFailed'>;
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
function announceRequest(
  emit: Emit,
  { accountId, endpointId, eventId }: NewDelivery,
  trigger: RequestTrigger,
): void {
  const deliveryId = deliveryIdOf({ endpointId, eventId });
  emit({ name: 'delivery.requested', deliveryId, accountId, endpointId, eventId, trigger });
}
