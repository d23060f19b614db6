import { announceEnd } from '../domain/announce-end';
import type { Attempt } from '../domain/attempt';
import { type DeliveryRun, deliveryIdOf } from '../domain/delivery';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import { eventsOfAttempt, type OperationalEvents } from '../endpoints/operational-events';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { AppError } from '../platform/app-error';
import type { AccessTokens } from './access-tokens';
import { type AdmitContext, type Admitted, admit, type HoldContext, hold } from './admit';
import { type AfterAttemptContext, afterAttempt } from './after-attempt';
import { type DecideContext, type Decision, decideNext } from './decide-next';
import { type LoadDeliveryContext, loadDelivery, type ReadyDelivery } from './load-delivery';
import { persistFor } from './persist';
import { type RecordAttemptContext, type RecordedAttempt, recordAttempt } from './record-attempt';
import { type SendAttemptContext, type SendOutcome, type SentAttempt, sendAttempt } from './send-attempt';
import { type TransformContext, type TransformedDelivery, transformEvent } from './transform-event';

type StepsContext = LoadDeliveryContext &
  AdmitContext &
  HoldContext &
  TransformContext &
  SendAttemptContext &
  DecideContext &
  RecordAttemptContext &
  AfterAttemptContext;

export type DeliverContext = StepsContext & {
  readonly admissionStore: Pick<AdmissionStore, 'withdraw'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength'>;
  readonly accessTokens: Pick<AccessTokens, 'refuse'>;
  readonly operationalEvents: Pick<OperationalEvents, 'raise'>;
};

/** What happens to the job next. */
export type DeliverResult =
  | { readonly kind: 'done' }
  /** An attempt has failed. */
  | { readonly kind: 'retry'; readonly delayMs: number; readonly reason: string }
  /** No attempt was made: the delivery is held, or not due yet, or the request could not be sent. */
  | { readonly kind: 'later'; readonly delayMs: number }
  /** This process has to abandon the attempt. Nothing is recorded, and it starts again. */
  | { readonly kind: 'interrupted' };

const DONE: DeliverResult = { kind: 'done' };

// Soon enough after a proxy was restarted, and seldom enough for one that stays away.
const UNSENT_DELAY_MS = 5_000;

/**
 * Make one attempt of one delivery: load → admit → transform → send → judge → decide → record → announce → after the
 * attempt.
 *
 * A crash anywhere before `record` leads to the same attempt once more, under the same `webhook-id`. After
 * it, no attempt is repeated, since the record says whether another one follows, and when. As long as this
 * process lives it records each sent attempt before it lets go of the job: while Redis refuses writes, it
 * waits.
 *
 * @param abortSignal aborted when the process has to end.
 */
export async function deliver(
  context: DeliverContext,
  run: DeliveryRun,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const loaded = await loadDelivery(context, run);
  if (loaded.kind === 'over') return DONE;
  if (loaded.kind === 'not_due') return { kind: 'later', delayMs: delayUntil(context, loaded.dueAt) };

  const admission = await admit(context, loaded);
  if (admission.kind === 'refused') return { kind: 'later', delayMs: await hold(context, loaded, admission) };

  // The former worker may have recorded its attempt in this very moment.
  if (run.wasTakenOver && (await hasChanged(context, loaded))) {
    return await startAnew(context, loaded, admission, abortSignal);
  }

  const transformed = await transformOrRelease(context, loaded, admission);
  if (transformed.kind === 'changed') return await startAnew(context, loaded, admission, abortSignal);
  if (transformed.kind === 'over') return await endUnsent(context, loaded, admission);
  const isMade = transformed.kind === 'ready';
  const ready = isMade ? transformed : loaded;
  const sent = isMade ? await sendAttempt(context, ready, admission.permit, abortSignal) : transformed;
  if (sent.kind !== 'sent') return await letGo(context, ready, admission, sent);

  const { attempt } = sent;
  const decision = decideNext(context, ready, sent);
  const input = { ready, attempt, decision, attemptKey: admission.attemptKey };
  const untilItIs = { abortSignal, isFinal: isNotStorage };
  const recorded = await persistFor(context, run, () => recordAttempt(context, input), untilItIs);
  await conclude(context, ready, sent, decision, recorded, abortSignal);
  const { nextAttemptAt } = recorded;
  if (nextAttemptAt === undefined) return DONE;
  return { kind: 'retry', delayMs: delayUntil(context, nextAttemptAt), reason: attempt.outcome };
}

function delayUntil({ clock }: DeliverContext, time: number): number {
  return Math.max(time - clock(), 0);
}

/** Whether waiting for Redis is useless: it responds, and will fail in the same way again. */
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

/** An attempt that sends nothing does not keep its permit. */
async function transformOrRelease(
  context: DeliverContext,
  ready: ReadyDelivery,
  { permit }: Admitted,
): Promise<TransformedDelivery> {
  let transformed: TransformedDelivery | undefined;
  try {
    transformed = await transformEvent(context, ready);
    return transformed;
  } finally {
    // Who begins anew releases it as well.
    const isKept = transformed?.kind === 'ready' || transformed?.kind === 'changed';
    if (!isKept) context.concurrency.releasePermit(permit, undefined);
  }
}

async function endUnsent(
  context: DeliverContext,
  ready: ReadyDelivery,
  admitted: Admitted,
): Promise<DeliverResult> {
  await withdraw(context, ready, admitted);
  return DONE;
}

async function startAnew(
  context: DeliverContext,
  ready: ReadyDelivery,
  admitted: Admitted,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  context.concurrency.releasePermit(admitted.permit, undefined);
  await withdraw(context, ready, admitted);
  return await deliver(context, { ...ready.run, texts: undefined }, abortSignal);
}

// This was no attempt: its permits are free for others at once. In strict order the delivery keeps its turn.
async function letGo(
  context: DeliverContext,
  ready: ReadyDelivery,
  admitted: Admitted,
  outcome: Exclude<SendOutcome, { kind: 'sent' }>,
): Promise<DeliverResult> {
  await withdraw(context, ready, admitted);
  if (outcome.kind === 'interrupted') return outcome;
  if (outcome.kind === 'paused') {
    const refusal = { kind: 'refused', reason: 'no_token', wakeUpAt: outcome.until } as const;
    return { kind: 'later', delayMs: await hold(context, ready, refusal) };
  }
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
  await refuseToken(context, ready, sent, abortSignal);
  // Another worker has continued it.
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
  // The attempt is recorded and not repeated, so nothing else would do this. It does not wait for unreadable
  // secrets: that can take days, and would block a worker's slot.
  const untilItIs = { abortSignal, isFinal: isNotStorage };
  const aftermath = await persistFor(context, run, () => afterAttempt(context, input), untilItIs);
  const isExhausted = decision.kind === 'exhausted';
  const events = eventsOfAttempt({ event, endpoint, attempt, isExhausted, ...aftermath });
  context.operationalEvents.raise(run.accountId, events);
}

// Before the next attempt, of any worker.
async function refuseToken(
  context: DeliverContext,
  { run, endpoint }: ReadyDelivery,
  { refusedToken }: SentAttempt,
  abortSignal: AbortSignal,
): Promise<void> {
  const { auth } = endpoint;
  if (refusedToken === undefined || auth?.type !== 'oauth2') return;
  const refuse = () => context.accessTokens.refuse({ ...endpoint, auth }, refusedToken);
  await persistFor(context, run, refuse, { abortSignal, isFinal: isNotStorage });
}

/**
 * Announce an attempt, and the end of its delivery if it has ended.
 *
 * @param decision `undefined`: another worker has continued the delivery.
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

// Not for a delivery that was held, which waited for its receiver, nor for one that was taken over, which
// waited for this service.
function firstLagOf(
  { run, trigger, begunAt }: ReadyDelivery,
  { number, startedAt }: Attempt,
): { readonly firstLagMs?: number } {
  const wasHeld = run.hasWaited && !run.wasTakenOver;
  if (number > 1 || trigger !== 'schedule' || wasHeld) return {};
  return { firstLagMs: Math.max(startedAt - begunAt, 0) };
}
