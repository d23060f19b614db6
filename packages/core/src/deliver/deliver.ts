import { announceEnd } from '../domain/announce-end';
import type { Attempt } from '../domain/attempt';
import { type DeliveryRun, deliveryIdOf } from '../domain/delivery';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import { eventsOfAttempt, type OperationalEvents } from '../endpoints/operational-events';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { AppError } from '../platform/app-error';
import { type AdmitContext, type Admitted, admit, type HoldContext, hold } from './admit';
import { type AfterAttemptContext, afterAttempt } from './after-attempt';
import { type DecideContext, type Decision, decideNext } from './decide-next';
import { type LoadDeliveryContext, loadDelivery, type ReadyDelivery } from './load-delivery';
import { persistFor } from './persist';
import {
  type ArchiveLaterContext,
  archiveLater,
  type RecordAttemptContext,
  type RecordedAttempt,
  recordAttempt,
} from './record-attempt';
import { type SendAttemptContext, type SendOutcome, type SentAttempt, sendAttempt } from './send-attempt';

type StepsContext = LoadDeliveryContext &
  AdmitContext &
  HoldContext &
  SendAttemptContext &
  DecideContext &
  RecordAttemptContext &
  ArchiveLaterContext &
  AfterAttemptContext;

export type DeliverContext = StepsContext & {
  readonly admissionStore: Pick<AdmissionStore, 'withdraw'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength'>;
  readonly operationalEvents: Pick<OperationalEvents, 'raise'>;
};

/** What is to become of the job. */
export type DeliverResult =
  | { readonly kind: 'done' }
  /** An attempt has failed. */
  | { readonly kind: 'retry'; readonly delayMs: number; readonly reason: string }
  /** There was no attempt: it is held, or not due yet, or the request could not leave us. */
  | { readonly kind: 'later'; readonly delayMs: number }
  /** This process has to let go of it in the middle of the attempt; nothing is on record, and it starts anew. */
  | { readonly kind: 'interrupted' };

const DONE: DeliverResult = { kind: 'done' };

// Soon enough for a proxy that was restarted, and seldom enough for one that stays away.
const UNSENT_DELAY_MS = 5_000;

/**
 * One attempt of one delivery: load → admit → send → judge → decide → record → announce → after the attempt.
 *
 * A crash anywhere before `record` leads to the same attempt once more, under the same `webhook-id`; after it, to none,
 * since the record says whether there is to be another one, and when. As long as this process lives it records what it
 * has sent before it lets go of the job: while Redis takes nothing, it waits.
 *
 * @param abortSignal aborted when the process has to end.
 */
export async function deliver(
  context: DeliverContext,
  run: DeliveryRun,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const ready = await loadDelivery(context, run);
  if (ready.kind === 'over') return DONE;
  if (ready.kind === 'not_due') return { kind: 'later', delayMs: delayUntil(context, ready.dueAt) };

  const admission = await admit(context, ready);
  if (admission.kind === 'refused') return { kind: 'later', delayMs: await hold(context, ready, admission) };

  // The worker that had it before may have recorded what it has sent in this very moment.
  if (run.wasTakenOver && (await hasChanged(context, ready))) {
    return await startAnew(context, ready, admission, abortSignal);
  }

  const sent = await sendAttempt(context, ready, admission.permit, abortSignal);
  if (sent.kind !== 'sent') return await letGo(context, ready, admission, sent);

  const { attempt } = sent;
  const decision = decideNext(context, ready, sent);
  const input = { ready, attempt, decision, attemptKey: admission.attemptKey };
  const untilItIs = { abortSignal, isFinal: isNotStorage };
  const recorded = await persistFor(context, run, () => recordAttempt(context, input), untilItIs);
  await Promise.all([
    conclude(context, ready, sent, decision, recorded, abortSignal),
    // The job waits for it, so that what is not archived yet does not pile up in memory; nothing else does.
    archiveLater(context, recorded.unarchived, abortSignal),
  ]);
  const { nextAttemptAt } = recorded;
  if (nextAttemptAt === undefined) return DONE;
  return { kind: 'retry', delayMs: delayUntil(context, nextAttemptAt), reason: attempt.outcome };
}

function delayUntil({ clock }: DeliverContext, time: number): number {
  return Math.max(time - clock(), 0);
}

/** Whether it is no use to wait for Redis: it responds, and will say the same again. */
function isNotStorage(error: unknown): boolean {
  return !(error instanceof AppError && error.code === 'storage_unavailable');
}

async function hasChanged(
  { deliveryStore }: DeliverContext,
  { run, logLength }: ReadyDelivery,
): Promise<boolean> {
  const { length } = await deliveryStore.readWithLength(run.endpointId, run.eventId);
  return length !== logLength;
}

async function startAnew(
  context: DeliverContext,
  ready: ReadyDelivery,
  admitted: Admitted,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  context.concurrency.releasePermit(admitted.permit, undefined);
  await withdraw(context, ready, admitted);
  return await deliver(context, ready.run, abortSignal);
}

// It was no attempt: others may have at once what it was admitted with, and if it goes in order, its turn stays its own.
async function letGo(
  context: DeliverContext,
  ready: ReadyDelivery,
  admitted: Admitted,
  outcome: Exclude<SendOutcome, { kind: 'sent' }>,
): Promise<DeliverResult> {
  await withdraw(context, ready, admitted);
  if (outcome.kind === 'interrupted') return outcome;
  const { eventId, endpointId } = ready.run;
  const traced = ready.event.trace && { traceId: ready.event.trace.traceId };
  context.emit({ name: 'delivery.unsent', eventId, endpointId, error: outcome.error, ...traced });
  return { kind: 'later', delayMs: UNSENT_DELAY_MS };
}

async function withdraw(
  { admissionStore, clock }: DeliverContext,
  { endpoint, breaker }: ReadyDelivery,
  admitted: Admitted,
): Promise<void> {
  if (admitted.attemptKey === undefined && !admitted.isProbe) return;
  await admissionStore.withdraw(endpoint.id, admitted, breaker, clock());
}

async function conclude(
  context: DeliverContext,
  ready: ReadyDelivery,
  sent: SentAttempt,
  decision: Decision,
  { effect }: RecordedAttempt,
  abortSignal: AbortSignal,
): Promise<void> {
  announceAttempt(context, ready, sent, effect && decision);
  // Another worker has gone on with it.
  if (!effect) return;
  const { run, endpoint, event } = ready;
  const { attempt, wish } = sent;
  const input = {
    endpoint,
    effect,
    delivered: attempt.outcome === 'delivered',
    disabledBy: wish.disabledBy,
    hasEnded: decision.kind !== 'retry',
    hasWaited: run.hasWaited,
  };
  // It is on record and is not made again, so nothing else would do it. Secrets that can't be read are another matter: it
  // can take days until they can be, and no worker's slot is to wait for that.
  const untilItIs = { abortSignal, isFinal: isNotStorage };
  const aftermath = await persistFor(context, run, () => afterAttempt(context, input), untilItIs);
  const isExhausted = decision.kind === 'exhausted';
  const events = eventsOfAttempt({ event, endpoint, attempt, isExhausted, ...aftermath });
  context.operationalEvents.raise(run.accountId, events);
}

/**
 * Says what an attempt was like, and that the delivery has come to its end if it has.
 *
 * @param decision `undefined`: another worker has gone on with the delivery.
 */
function announceAttempt(
  context: DeliverContext,
  ready: ReadyDelivery,
  { attempt, span }: SentAttempt,
  decision: Decision | undefined,
): void {
  const { run, event, begunAt } = ready;
  const { accountId, eventId, endpointId } = run;
  context.emit({
    name: 'delivery.attempted',
    deliveryId: deliveryIdOf({ eventId, endpointId }),
    accountId,
    eventId,
    endpointId,
    type: event.type,
    attempt: attempt.number,
    outcome: attempt.outcome,
    durationMs: attempt.durationMs,
    ...firstLagOf(ready, attempt),
    ...attempt.timings,
    ...(attempt.responseStatus === undefined ? {} : { responseStatus: attempt.responseStatus }),
    ...(decision?.kind === 'retry' ? { nextDelayMs: decision.delayMs } : {}),
    ...(span === undefined ? {} : { span }),
  });
  if (decision === undefined || decision.kind === 'retry' || decision.kind === 'stays_delivered') return;
  announceEnd(context, run, decision.kind, begunAt, span?.context);
}

// One that was held waited for its receiver's sake; one that was taken over waited for ours.
function firstLagOf(
  { run, trigger, begunAt }: ReadyDelivery,
  { number, startedAt }: Attempt,
): { readonly firstLagMs?: number } {
  const wasHeld = run.hasWaited && !run.wasTakenOver;
  if (number > 1 || trigger !== 'schedule' || wasHeld) return {};
  return { firstLagMs: Math.max(startedAt - begunAt, 0) };
}
