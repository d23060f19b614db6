import { setTimeout as wait } from 'node:timers/promises';
import type { Attempt } from '../domain/attempt';
import { type DeliveryParts, type DeliveryRun, deliveryIdOf, type JobEnd } from '../domain/delivery';
import type { AttemptedFact, FoundAttempt } from '../domain/delivery-fact';
import type { DeliveryState } from '../domain/delivery-log';
import type { Endpoint } from '../domain/endpoint';
import { ATTEMPT_BYTES } from '../domain/usage';
import type { FailedAttempt } from '../endpoints/health/attempt-tally';
import { notifiesOfFailing } from '../endpoints/operational-events';
import type { LogLength } from '../events/redis-delivery-store';
import { mapReply, together } from '../platform/redis-atomic';
import { isUnavailable } from '../platform/redis-errors';
import type { Step } from '../platform/redis-script';
import type { Decision } from './decide-next';
import { isGone, type ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import type { AttemptEffect, AttemptRecord } from './redis-attempt-store';

const SHORT_RESPONSE = 100;
const NO_STEPS: readonly Step[] = [];
const LETS_NONE_GO: Step<boolean> = async () => false;
const NO_EFFECT = { effect: undefined, letsOthersGo: false };

export interface RecordInput {
  readonly ready: ReadyDelivery;
  readonly attempt: Attempt;
  readonly decision: Decision;
  /** The key that counts it for the rate limit, if there is one. */
  readonly attemptKey: string | undefined;
  /** Whether the record of another delivery of the same request has the result for the receiver. */
  readonly isRepresented?: boolean;
}

/** A recorded attempt. */
export interface RecordedAttempt {
  /**
   * Its effect on the endpoint. Absent: another worker had continued the delivery, and this attempt has no
   * effect.
   */
  readonly effect: AttemptEffect | undefined;
  /** Whether its end lets others begin, of its endpoint or its group. */
  readonly letsOthersGo: boolean;
  /** When the next one is due, in milliseconds since the Unix epoch, if there is one. */
  readonly nextAttemptAt: number | undefined;
}

/**
 * Record an attempt, with all its effects on the endpoint. The same script lets go of its job, and takes the
 * worker's next one: not if the attempt is not recorded.
 */
export async function recordAttempt(parts: AttemptParts, input: RecordInput): Promise<RecordedAttempt> {
  const fact = factOf(parts, input);
  const recorded = await recordOrAddLate(parts, input, fact, input.ready.logLength);
  countAttempt(parts, input);
  return recorded;
}

export function factOf({ clock }: AttemptParts, { ready, attempt, decision }: RecordInput): AttemptedFact {
  return {
    kind: 'attempted',
    attempt,
    round: ready.roundNumber,
    nextAttemptAt: decision.kind === 'retry' ? clock() + decision.delayMs : undefined,
    isAborted: decision.kind === 'aborted',
  };
}

/**
 * For the statistics of its endpoint, and its account's usage.
 *
 * @param times of how many deliveries it was the attempt.
 */
export function countAttempt(
  parts: AttemptParts,
  { ready, attempt, decision }: RecordInput,
  times = 1,
): void {
  const { startedAt, durationMs } = attempt;
  const failed = decision.kind === 'delivered' ? undefined : failedOf(ready, attempt);
  const ended = { failed, at: startedAt + durationMs, durationMs };
  parts.healthRecorder.record(ready.run.endpointId, ended, times);
  // The bytes of a delivery that succeeds at once were counted with its event.
  if (isLong(attempt)) parts.noteUsage?.(ready.run.accountId, 'deliveries', times * bytesOf(attempt));
}

function failedOf({ run }: ReadyDelivery, { number, outcome, responseStatus }: Attempt): FailedAttempt {
  return { eventId: run.eventId, number, outcome, status: responseStatus };
}

export function recordOf(
  { clock }: AttemptParts,
  { ready, attempt, attemptKey, isRepresented = false }: RecordInput,
  fact: AttemptedFact,
  logLength: LogLength,
  mustBeListed = true,
): AttemptRecord {
  const { run, event, breaker } = ready;
  return {
    delivery: run,
    fact: attempt.number === 1 ? { eventType: event.type, ...fact } : fact,
    logLength,
    acceptedAt: event.acceptedAt,
    openUntil: isRepresented ? 0 : breaker.openUntil,
    isRepresented,
    attemptKey,
    notifiesOfFailing: notifiesOfFailing(event.type, attempt),
    mustBeListed,
    now: clock(),
  };
}

/**
 * Record an attempt whose log may have changed since it was prepared: as before, if nobody has decided its round meanwhile. Else
 * it is late, and only says what was sent. One that is recorded already, since the reply was lost, is not recorded again.
 */
export async function recordOrAddLate(
  parts: AttemptParts,
  input: RecordInput,
  fact: AttemptedFact,
  logLength: LogLength,
  mustBeListed?: boolean,
): Promise<RecordedAttempt> {
  const { deliveryStore } = parts;
  const { ready, attempt } = input;
  const { run } = ready;
  const recorded = await tryToRecord(parts, input, fact, logLength, mustBeListed);
  if (recorded) return recorded;
  const { state, length, found } = await deliveryStore.readWithAttempt(run, attempt, ready.roundNumber);
  if (length === 0 && (await isGone(parts, run))) return { ...NO_EFFECT, nextAttemptAt: undefined };
  const nextAttemptAt = nextAfter(parts, input, state);
  if (found) return (await repeat(parts, input, fact, found)) ?? { ...NO_EFFECT, nextAttemptAt };
  if (!state.isOpen && (await deliveryStore.hasLapsed(run)))
    return { ...NO_EFFECT, nextAttemptAt: undefined };
  const numbered = { ...fact, attempt: { ...attempt, number: state.attempts.length + 1 } };
  // Its responses were erased, for example, or a late attempt was recorded.
  if (isUndecided(ready, state)) {
    if (state.status !== 'delivered') return await recordOrAddLate(parts, input, numbered, length, false);
    const { isAborted: _isAborted, ...last } = { ...numbered, nextAttemptAt: undefined };
    return await recordOrAddLate(parts, asLastOne(input), last, length, false);
  }
  const late = { ...numbered, nextAttemptAt, isLate: true };
  if (!(await deliveryStore.appendIfUnchanged(run, late, length))) {
    return await recordOrAddLate(parts, input, fact, length);
  }
  // Its job may be delayed for a retry. Until it has found that the delivery has ended, nobody can send that again.
  if (state.isOpen && nextAttemptAt === undefined)
    await parts.deliveryQueue.promote(run.endpointId, [run.eventId]);
  return { ...NO_EFFECT, nextAttemptAt };
}

// The script finds the line where it was appended, and tells its effect once more. A late one had none.
async function repeat(
  parts: AttemptParts,
  input: RecordInput,
  fact: AttemptedFact,
  { number, nextAttemptAt, isLate, place }: FoundAttempt,
): Promise<RecordedAttempt | undefined> {
  if (isLate) return undefined;
  const same = { ...fact, attempt: { ...input.attempt, number }, nextAttemptAt };
  return await tryToRecord(parts, input, same, place, false);
}

// A late attempt of an earlier round has delivered it meanwhile: then what was asked for is sent once.
function asLastOne(input: RecordInput): RecordInput {
  const { decision } = input;
  return decision.kind === 'delivered' ? input : { ...input, decision: { kind: 'stays_delivered' } };
}

/** When the next attempt is due, after a late one. */
function nextAfter(
  { clock }: AttemptParts,
  { ready, attempt }: RecordInput,
  { isOpen, round, nextAttemptAt }: DeliveryState,
): number | undefined {
  const endsRound = attempt.outcome === 'delivered' && round.number === ready.roundNumber;
  if (!isOpen || endsRound) return undefined;
  // At once, if it was asked for.
  return nextAttemptAt ?? clock();
}

/** Whether no other worker has decided what this attempt is about to decide. */
function isUndecided(
  { roundNumber, scheduledAttempt }: ReadyDelivery,
  { isOpen, round }: DeliveryState,
): boolean {
  return isOpen && round.number === roundNumber && round.attempts === scheduledAttempt - 1;
}

/** Gives `undefined`, and nothing is recorded, if the log has changed. */
async function tryToRecord(
  parts: AttemptParts,
  input: RecordInput,
  fact: AttemptedFact,
  logLength: LogLength,
  mustBeListed?: boolean,
): Promise<RecordedAttempt | undefined> {
  const { attemptStore, atomic } = parts;
  const { ready, attempt, decision } = input;
  const { run } = ready;
  const record = recordOf(parts, input, fact, logLength, mustBeListed);
  const ended = decision.kind === 'retry' ? [] : [run];
  const { results, error } = await atomic.tried([
    attemptStore.record(record),
    leaveOrder(parts, ready.endpoint, ended),
    ...stepsToHistory(parts, ended, record.now),
    ...(run.stepsToEnd?.(endAfter(decision, attempt)) ?? []),
  ]);
  const [effect, hasLetOthersGo] = results;
  // An error that keeps the job from ending does not undo the record. It is thrown again when the run ends.
  if (error !== undefined && !effect) throw error;
  if (!effect) return undefined;
  return { effect, letsOthersGo: hasLetOthersGo === true, nextAttemptAt: fact.nextAttemptAt };
}

/**
 * They make room for those that wait for them, if they had jobs of their own.
 *
 * @returns a step that gives whether one did.
 */
export function leaveOrder(
  { besideLanes }: AttemptParts,
  { ordering }: Endpoint,
  ended: readonly DeliveryRun[],
): Step<boolean> {
  const besideJobs = ended.filter(({ lane }) => lane?.isBesideJobs !== false);
  if (ordering === 'none' || besideJobs.length === 0) return LETS_NONE_GO;
  const steps = besideJobs.map(({ endpointId, eventId }) => besideLanes.leave(endpointId, eventId));
  return mapReply(together(steps), (hadPlace) => hadPlace.includes(true));
}

// Before the job ends. A repeated run finds that the delivery has ended, and adds it then.
export function stepsToHistory(
  { endedList }: AttemptParts,
  ended: readonly DeliveryRun[],
  now: number,
): readonly Step[] {
  if (!endedList || ended.length === 0) return NO_STEPS;
  return [endedList.addAll(ended, now)];
}

export function endAfter(decision: Decision, { outcome }: Attempt): JobEnd {
  if (decision.kind !== 'retry') return { kind: 'done' };
  return { kind: 'delayed', delayMs: decision.delayMs, failure: outcome };
}

// The interval of tries while Redis refuses writes: the worker that has the response must be the first to
// record once Redis accepts writes again.
const EVERY_MS = 250;

/**
 * Repeat a write for a delivery until it succeeds: no other process would do it, and its job must not be repeated. Any other
 * failure than of Redis is thrown at once.
 *
 * @param abortSignal ends the wait: then the last failure is thrown.
 */
export async function persistFor<Result>(
  { emit }: AttemptParts,
  delivery: DeliveryParts,
  action: () => Promise<Result>,
  abortSignal: AbortSignal,
): Promise<Result> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      emit({ name: 'delivery.follow_up_failed', deliveryId: deliveryIdOf(delivery), error });
      // A Redis that responds would fail in the same way again.
      if (abortSignal.aborted || !isUnavailable(error)) throw error;
      await wait(EVERY_MS, undefined, { signal: abortSignal }).catch(() => {});
    }
  }
}

// A word or two, as in many responses, is within the count of a delivery.
function isLong({ outcome, responseBody = '' }: Attempt): boolean {
  return outcome !== 'delivered' || responseBody.length > SHORT_RESPONSE;
}

/** About the length of its line in the log. */
function bytesOf({ error = '', responseBody = '', responseHeaders = {} }: Attempt): number {
  const headers = Object.entries(responseHeaders).reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    0,
  );
  return ATTEMPT_BYTES + Buffer.byteLength(error) + Buffer.byteLength(responseBody) + headers;
}
