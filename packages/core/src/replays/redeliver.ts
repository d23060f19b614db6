import { setTimeout as wait } from 'node:timers/promises';
import type { AuditLog } from '../accounts/audit/redis-audit-log';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import { type DeliveryParts, deliveryIdOf, type NewDelivery, type RequestTrigger } from '../domain/delivery';
import { FULL_LOG_BYTES } from '../domain/delivery-log';
import { eventNotFound } from '../domain/event';
import type { Emit } from '../domain/signal';
import { ATTEMPT_BYTES, type NoteUsage } from '../domain/usage';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import type { Deliveries, DeliveryWithAttempts } from '../history/deliveries';
import type { Recall } from '../history/mover/recall';
import type { WholeHistory } from '../history/whole-history';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { Atomic } from '../platform/redis-atomic';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';

export type RedeliverContext = ResendContext &
  BringForwardContext & {
    /** Absent: there is no history that deliveries move to. */
    readonly recall?: Recall | undefined;
    readonly deliveries: Deliveries;
    readonly history: WholeHistory;
    readonly auditLog?: Pick<AuditLog, 'record'>;
  };

// A job ends within milliseconds of its attempt, unless Redis or the machine is overloaded.
const TRIES = 20;
const EVERY_MS = 50;

/**
 * Send a delivery once more, now, however it ended. A delivery on its way is brought forward. While an
 * attempt is ending neither is possible: it waits for that up to a second.
 *
 * @param requestId the same when the same request is repeated.
 * @throws AppError `not_found`, also when its event or its endpoint is gone; `conflict` when it waited in
 *   vain; `payload_erased` when nothing is left to send; `limit_reached` when it was sent too often;
 *   `history_unavailable` when it has moved, and can't be read.
 */
export async function redeliver(
  context: RedeliverContext,
  accountId: AccountId,
  id: string,
  requestId: string,
  act?: Act,
): Promise<DeliveryWithAttempts> {
  const { endpointId, eventId, createdAt: acceptedAt } = await context.deliveries.read(accountId, id);
  const head = await context.history.findHead(accountId, eventId);
  if (!head) throw eventNotFound();
  if (head.erasedAt !== undefined) {
    throw new AppError(
      'payload_erased',
      "The event's payload was erased: there is nothing to send any more.",
    );
  }
  const input = { accountId, endpointId, eventId, acceptedAt, trigger: 'manual', requestId } as const;
  const key = { eventId, endpointId, createdAt: acceptedAt };
  // First: from the next step on a worker may send it.
  if (act) await context.auditLog?.record({ act, accountId, targetId: id });
  const send = () => sendWhenPossible(context, input);
  await (context.recall ? context.recall.whileRecalled(accountId, [key], send) : send());
  return await context.deliveries.read(accountId, id);
}

async function sendWhenPossible(context: RedeliverContext, input: ResendInput): Promise<void> {
  for (let tries = 1; (await sendNow(context, input)) === 'ending'; tries += 1) {
    if (tries === TRIES) {
      throw new AppError('conflict', 'An attempt of the delivery has just ended. Try again in a moment.');
    }
    await wait(EVERY_MS);
  }
}

// Bring it forward even when the result is `resent`: the same request may have broken off before that step.
async function sendNow(context: RedeliverContext, input: ResendInput): Promise<'soon' | 'ending'> {
  const resent = await resend(context, input);
  const sent = resent === 'ending' || resent === 'full' ? resent : await bringForward(context, input);
  if (sent === 'full') {
    throw new AppError(
      'limit_reached',
      'The delivery was sent so often that its record is full (1 MiB). Publish a new event.',
    );
  }
  return sent;
}

/** A request to send a delivery. */
export interface ResendInput extends DeliveryParts {
  readonly accountId: AccountId;
  /** When the event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  readonly trigger: RequestTrigger;
  /** The same when the same request is repeated: then nothing is sent a second time. */
  readonly requestId: string;
}

export interface BringForwardContext {
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength' | 'appendIfUnchanged'>;
  readonly deliveryQueue: Pick<DeliveryQueue, 'isRunning' | 'promote'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

export type BroughtForward =
  /** Its next attempt comes now. Or it is running, about to run or held at its gate, and stays so. */
  | 'soon'
  /** Its attempt has just failed, and its job is being put back: until then it can't be brought forward. */
  | 'ending'
  /** Its log is full: its next attempt comes when it is due. */
  | 'full';

/**
 * Send a delivery that is on its way now, before it is due. The same job makes the attempt that was due next,
 * so there are never two at once. If it fails, the schedule continues after it.
 *
 * The record comes first, since a job that runs before its delivery is due is put back. When it breaks off in
 * between, the job runs at its usual time, or when the request is repeated.
 */
export async function bringForward(
  context: BringForwardContext,
  input: Omit<ResendInput, 'acceptedAt'>,
): Promise<BroughtForward> {
  const { deliveryStore, deliveryQueue, clock, emit } = context;
  const { endpointId, eventId, trigger, requestId } = input;
  const { state, length } = await deliveryStore.readWithLength(endpointId, eventId);
  const now = clock();
  const isEarlier = state.nextAttemptAt !== undefined && state.nextAttemptAt > now;
  if (isEarlier) {
    if (state.requestIds.includes(requestId)) return 'soon';
    if (length >= FULL_LOG_BYTES) return 'full';
    if (await deliveryQueue.isRunning(input)) return 'ending';
    const fact = { kind: 'requested', requestId, trigger, requestedAt: now } as const;
    const isFirst = await deliveryStore.appendIfUnchanged(input, fact, length);
    if (!isFirst) return await bringForward(context, input);
    announceRequest(emit, input, trigger);
  }
  await deliveryQueue.promote(input);
  // A worker may have taken the job too early, and not know that it is due now: it is about to put it back.
  return isEarlier && (await deliveryQueue.isRunning(input)) ? 'ending' : 'soon';
}

export interface ResendContext {
  readonly eventStore: Pick<EventStore, 'addReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength' | 'appendIfUnchanged' | 'enlistAll'>;
  readonly deliveryQueue: Pick<DeliveryQueue, 'addRequested' | 'requestOf' | 'putBackFailed'>;
  /** Absent: usage is not counted. */
  readonly noteUsage?: NoteUsage;
  /** On the Redis of all of these. */
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
}

export type Resent =
  /** It will be sent, or this request has sent it already. */
  | 'resent'
  /** It is pending anyway, and has its job. */
  | 'on_its_way'
  /** The delivery has just ended, and its job is about to: until then it can't be sent once more. */
  | 'ending'
  /** It was sent so often that its log is full: it is not sent again. */
  | 'full';

export async function resend(context: ResendContext, input: ResendInput): Promise<Resent> {
  const [resent = 'ending'] = await resendAll(context, [input]);
  return resent;
}

/**
 * Send events to endpoints once more, or for the first time: each delivery is open again and has a job. Its
 * endpoint's limits apply as usual. The jobs are added as one batch: pass no more than some hundreds.
 *
 * The job comes first, and carries the request: a delivery that is recorded as open has a job from the first
 * moment. When it breaks off in between, the job records the request when it runs.
 */
export async function resendAll(
  context: ResendContext,
  inputs: readonly ResendInput[],
): Promise<readonly Resent[]> {
  const { deliveryQueue, clock } = context;
  const known = await Promise.all(inputs.map((input) => alreadyKnown(context, input)));
  const wanted = inputs.filter((_, i) => known[i] === undefined);
  if (wanted.length > 0) await deliveryQueue.addRequested(wanted.map((input) => requestedAt(input, clock())));
  return await Promise.all(inputs.map(async (input, i) => known[i] ?? (await conclude(context, input))));
}

async function alreadyKnown(
  { deliveryStore }: ResendContext,
  { endpointId, eventId, requestId }: ResendInput,
): Promise<Resent | undefined> {
  const { state, length } = await deliveryStore.readWithLength(endpointId, eventId);
  if (state.requestIds.includes(requestId)) return 'resent';
  return length >= FULL_LOG_BYTES ? 'full' : undefined;
}

function requestedAt({ accountId, endpointId, eventId, requestId, trigger }: ResendInput, now: number) {
  return { accountId, endpointId, eventId, request: { requestId, trigger, requestedAt: now } };
}

/** Find out which request the existing job belongs to, and record this request if it is this one's. */
async function conclude(context: ResendContext, input: ResendInput): Promise<Resent> {
  const { deliveryStore, deliveryQueue, noteUsage, clock, emit } = context;
  const { accountId, endpointId, eventId, requestId, trigger } = input;
  const job = await deliveryQueue.requestOf(input);
  const { state, length } = await deliveryStore.readWithLength(endpointId, eventId);
  if (state.requestIds.includes(requestId)) return await enlist(context, input);
  if (job === 'no_job') return 'ending';
  if (job === 'no_request' || job.requestId !== requestId) {
    // Spares the operator: the delivery is sent, or, if it has ended, its job is soon gone.
    await deliveryQueue.putBackFailed(input);
    return state.isOpen ? 'on_its_way' : 'ending';
  }
  const fact = { kind: 'requested', requestId, trigger, requestedAt: clock() } as const;
  if (!(await deliveryStore.appendIfUnchanged(input, fact, length))) return await conclude(context, input);
  noteUsage?.(accountId, 'deliveries', ATTEMPT_BYTES);
  announceRequest(emit, input, trigger);
  return await enlist(context, input);
}

async function enlist(
  { eventStore, deliveryStore, atomic }: ResendContext,
  { accountId, endpointId, eventId, acceptedAt }: ResendInput,
): Promise<'resent'> {
  await atomic([
    deliveryStore.enlistAll([{ accountId, endpointId, marks: [{ eventId, createdAt: acceptedAt }] }]),
    eventStore.addReceivers(accountId, eventId, [endpointId]),
  ]);
  return 'resent';
}

/** Announce that a client requested a delivery. */
function announceRequest(
  emit: Emit,
  { accountId, endpointId, eventId }: NewDelivery,
  trigger: RequestTrigger,
): void {
  const deliveryId = deliveryIdOf({ endpointId, eventId });
  emit({ name: 'delivery.requested', deliveryId, accountId, endpointId, eventId, trigger });
}
