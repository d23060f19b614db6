import type { Attempt } from '../domain/attempt';
import type { DeliveryRun, JobEnd } from '../domain/delivery';
import type { AttemptedFact, DeliveryState, FoundAttempt } from '../domain/delivery-log';
import type { Endpoint } from '../domain/endpoint';
import { ATTEMPT_BYTES, type NoteUsage } from '../domain/usage';
import type { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import type { HealthRecorder } from '../endpoints/health/health-recorder';
import { tellsOfFailing } from '../endpoints/operational-events';
import type { DeliveryStore, LogLength } from '../events/redis-delivery-store';
import type { OverList } from '../events/redis-over-list';
import type { Clock } from '../platform/clock';
import { type Atomic, mapReply, together } from '../platform/redis-atomic';
import type { Step } from '../platform/redis-script';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { Decision } from './decide-next';
import { isGone, type ReadyDelivery } from './load-delivery';
import type { AttemptEffect, AttemptRecord, AttemptStore } from './redis-attempt-store';

const SHORT_RESPONSE = 100;
const NO_STEPS: readonly Step[] = [];
const LETS_NONE_GO: Step<boolean> = async () => false;
const NO_EFFECT = { effect: undefined, letsOthersGo: false };

export interface RecordAttemptContext {
  readonly attemptStore: Pick<AttemptStore, 'record'>;
  readonly admissionStore: Pick<AdmissionStore, 'leaveOrder'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithAttempt' | 'appendIfUnchanged'>;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  /** Absent: there is no history. */
  readonly overList?: Pick<OverList, 'addAll'> | undefined;
  readonly deliveryQueue: Pick<DeliveryQueue, 'requestOf' | 'promote'>;
  readonly healthRecorder: Pick<HealthRecorder, 'record'>;
  /** Absent: usage is not counted. */
  readonly noteUsage?: NoteUsage | undefined;
  readonly clock: Clock;
}

export interface RecordInput {
  readonly ready: ReadyDelivery;
  readonly attempt: Attempt;
  readonly decision: Decision;
  /** The key that counts it for the rate limit, if there is one. */
  readonly attemptKey: string | undefined;
  /** Whether the record of another delivery of the same request has the result for the receiver. */
  readonly isAlong?: boolean;
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
export async function recordAttempt(
  context: RecordAttemptContext,
  input: RecordInput,
): Promise<RecordedAttempt> {
  const fact = factOf(context, input);
  const recorded = await recordOrAddLate(context, input, fact, input.ready.logLength);
  countAttempt(context, input);
  return recorded;
}

export function factOf(
  { clock }: RecordAttemptContext,
  { ready, attempt, decision }: RecordInput,
): AttemptedFact {
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
  context: RecordAttemptContext,
  { ready, attempt, decision }: RecordInput,
  times = 1,
): void {
  const { startedAt, durationMs } = attempt;
  const ended = { delivered: decision.kind === 'delivered', at: startedAt + durationMs, durationMs };
  context.healthRecorder.record(ready.run.endpointId, ended, times);
  // The bytes of a delivery that succeeds at once were counted with its event.
  if (isLong(attempt)) context.noteUsage?.(ready.run.accountId, 'deliveries', times * bytesOf(attempt));
}

export function recordOf(
  { clock }: RecordAttemptContext,
  { ready, attempt, decision, attemptKey, isAlong = false }: RecordInput,
  fact: AttemptedFact,
  logLength: LogLength,
  mustBeListed = true,
): AttemptRecord {
  const { run, event, endpoint, breaker } = ready;
  return {
    delivery: run,
    fact: attempt.number === 1 ? { eventType: event.type, ...fact } : fact,
    logLength,
    acceptedAt: event.acceptedAt,
    openUntil: isAlong ? 0 : breaker.openUntil,
    isAlong,
    attemptKey,
    leavesOrder: decision.kind !== 'retry' && endpoint.ordering === 'strict',
    tellsOfFailing: tellsOfFailing(event.type, attempt),
    mustBeListed,
    now: clock(),
  };
}

/**
 * Record an attempt whose log may have changed since it was prepared: as before, if nobody has decided its round meanwhile. Else
 * it is late, and only says what was sent. One that is recorded already, since the reply was lost, is not recorded again.
 */
export async function recordOrAddLate(
  context: RecordAttemptContext,
  input: RecordInput,
  fact: AttemptedFact,
  logLength: LogLength,
  mustBeListed?: boolean,
): Promise<RecordedAttempt> {
  const { deliveryStore } = context;
  const { ready, attempt } = input;
  const { run } = ready;
  const recorded = await tryToRecord(context, input, fact, logLength, mustBeListed);
  if (recorded) return recorded;
  const { state, length, found } = await deliveryStore.readWithAttempt(run, attempt);
  if (length === 0 && (await isGone(context, run))) return { ...NO_EFFECT, nextAttemptAt: undefined };
  const nextAttemptAt = nextAfter(context, input, state);
  if (found) return (await repeat(context, input, fact, found)) ?? { ...NO_EFFECT, nextAttemptAt };
  const numbered = { ...fact, attempt: { ...attempt, number: state.attempts.length + 1 } };
  // Its responses were erased, for example, or a late attempt was recorded.
  if (isUndecided(ready, state)) {
    if (state.status !== 'delivered') return await recordOrAddLate(context, input, numbered, length, false);
    const { isAborted: _isAborted, ...last } = { ...numbered, nextAttemptAt: undefined };
    return await recordOrAddLate(context, asLastOne(input), last, length, false);
  }
  const late = { ...numbered, nextAttemptAt, isLate: true };
  if (!(await deliveryStore.appendIfUnchanged(run, late, length))) {
    return await recordOrAddLate(context, input, fact, length);
  }
  // Its job may be delayed for a retry. Until it has found that the delivery is over, nobody can send that again.
  if (state.isOpen && nextAttemptAt === undefined) await context.deliveryQueue.promote(run);
  return { ...NO_EFFECT, nextAttemptAt };
}

// The script finds the line where it was appended, and tells its effect once more. A late one had none.
async function repeat(
  context: RecordAttemptContext,
  input: RecordInput,
  fact: AttemptedFact,
  { number, nextAttemptAt, isLate, place }: FoundAttempt,
): Promise<RecordedAttempt | undefined> {
  if (isLate) return undefined;
  const same = { ...fact, attempt: { ...input.attempt, number }, nextAttemptAt };
  return await tryToRecord(context, input, same, place, false);
}

// A late attempt of an earlier round has delivered it meanwhile: then what was asked for is sent once.
function asLastOne(input: RecordInput): RecordInput {
  const { decision } = input;
  return decision.kind === 'delivered' ? input : { ...input, decision: { kind: 'stays_delivered' } };
}

/** When the next attempt is due, after a late one. */
function nextAfter(
  { clock }: RecordAttemptContext,
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
  context: RecordAttemptContext,
  input: RecordInput,
  fact: AttemptedFact,
  logLength: LogLength,
  mustBeListed?: boolean,
): Promise<RecordedAttempt | undefined> {
  const { attemptStore, atomic } = context;
  const { ready, attempt, decision } = input;
  const { run } = ready;
  const record = recordOf(context, input, fact, logLength, mustBeListed);
  const ended = decision.kind === 'retry' ? [] : [run];
  const { results, error } = await atomic.tried([
    attemptStore.record(record),
    leaveLines(context, ready.endpoint, ended),
    ...stepsToHistory(context, ended, record.now),
    ...(run.stepsToEnd?.(endAfter(decision, attempt)) ?? []),
  ]);
  const [effect, hasLetOthersGo] = results;
  // An error that keeps the job from ending does not undo the record. It is thrown again when the run ends.
  if (error !== undefined && !effect) throw error;
  if (!effect) return undefined;
  const letsOthersGo = effect.letsOthersGo || hasLetOthersGo === true;
  return { effect, letsOthersGo, nextAttemptAt: fact.nextAttemptAt };
}

/**
 * Out of the lines of their groups. In strict order, the script of the record removes them.
 *
 * @returns a step that gives whether others may go.
 */
export function leaveLines(
  { admissionStore }: RecordAttemptContext,
  { ordering }: Endpoint,
  ended: readonly DeliveryRun[],
): Step<boolean> {
  if (ordering !== 'group' || ended.length === 0) return LETS_NONE_GO;
  const steps = ended.map(({ endpointId, eventId }) => admissionStore.leaveOrder(endpointId, eventId));
  return mapReply(together(steps), (letOthersGo) => letOthersGo.includes(true));
}

// Before the job ends. A repeated run finds that the delivery has ended, and adds it then.
export function stepsToHistory(
  { overList }: RecordAttemptContext,
  ended: readonly DeliveryRun[],
  now: number,
): readonly Step[] {
  if (!overList || ended.length === 0) return NO_STEPS;
  return [overList.addAll(ended, now)];
}

export function endAfter(decision: Decision, { outcome }: Attempt): JobEnd {
  if (decision.kind !== 'retry') return { kind: 'done' };
  return { kind: 'delayed', delayMs: decision.delayMs, failure: outcome };
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
