import type { Attempt } from '../domain/attempt';
import type { JobEnd } from '../domain/delivery';
import type { AttemptedFact } from '../domain/delivery-log';
import { ATTEMPT_BYTES, type NoteUsage } from '../domain/usage';
import type { HealthRecorder } from '../endpoints/health/health-recorder';
import { tellsOfFailing } from '../endpoints/operational-events';
import type { ArchiveRecord, ArchiveStream } from '../events/archive/redis-archive-stream';
import type { DeliveryStore, LogLength } from '../events/redis-delivery-store';
import type { Clock } from '../platform/clock';
import type { InOrder } from '../platform/redis-script';
import { type Decision, statusAfter } from './decide-next';
import type { AttemptEffect, AttemptRecord, AttemptStore } from './flow/redis-attempt-store';
import type { ReadyDelivery } from './load-delivery';
import { type PersistContext, persistFor } from './persist';

const SHORT_RESPONSE = 100;

export interface RecordAttemptContext {
  readonly attemptStore: Pick<AttemptStore, 'record'>;
  readonly deliveryStore: Pick<DeliveryStore, 'readWithLength' | 'appendIfUnchanged'>;
  /** On the Redis of these. */
  readonly inOrder: InOrder;
  /** Absent: attempts are not archived. */
  readonly archiveStream?: Pick<ArchiveStream, 'add'> | undefined;
  readonly healthRecorder: Pick<HealthRecorder, 'record'>;
  /** Absent: nobody counts usage. */
  readonly noteUsage?: NoteUsage | undefined;
  readonly clock: Clock;
}

export interface RecordInput {
  readonly ready: ReadyDelivery;
  readonly attempt: Attempt;
  readonly decision: Decision;
  /** The key that counts it for the rate limit, if there is one. */
  readonly attemptKey: string | undefined;
}

/** A recorded attempt. */
export interface RecordedAttempt {
  /**
   * Its effect on the endpoint. Absent: another worker had continued the delivery, and this attempt has no
   * effect.
   */
  readonly effect: AttemptEffect | undefined;
  /** When the next one is due, in milliseconds since the Unix epoch, if there is one. */
  readonly nextAttemptAt: number | undefined;
  /** The record that could not be handed to the archive yet. */
  readonly unarchived: ArchiveRecord | undefined;
}

/**
 * Record an attempt, with all its effects on the endpoint. The same script lets go of its job, and takes the
 * worker's next one: not if the attempt is not recorded.
 */
export async function recordAttempt(
  context: RecordAttemptContext,
  input: RecordInput,
): Promise<RecordedAttempt> {
  const { ready, attempt, decision } = input;
  const fact = {
    kind: 'attempted',
    attempt,
    nextAttemptAt: decision.kind === 'retry' ? context.clock() + decision.delayMs : undefined,
    isAborted: decision.kind === 'aborted',
  } as const;
  const archived = archiveRecordOf(ready, decision, fact);
  // Sent before the log's line, over the same connection: a recorded attempt is sure to be archived, even
  // when the process dies in between.
  const [handedOn, recorded] = await Promise.allSettled([
    context.archiveStream?.add(archived),
    recordOrAddLate(context, input, fact, ready.logLength),
  ]);
  if (recorded.status === 'rejected') throw recorded.reason;
  const { startedAt, durationMs } = attempt;
  const ended = { delivered: decision.kind === 'delivered', at: startedAt + durationMs, durationMs };
  context.healthRecorder.record(ready.run.endpointId, ended);
  // A delivery that is accepted at once was counted with its event.
  if (isLong(attempt)) context.noteUsage?.(ready.run.accountId, 'deliveries', bytesOf(attempt));
  return { ...recorded.value, unarchived: handedOn.status === 'rejected' ? archived : undefined };
}

async function recordOrAddLate(
  context: RecordAttemptContext,
  input: RecordInput,
  fact: AttemptedFact,
  logLength: LogLength,
): Promise<Omit<RecordedAttempt, 'unarchived'>> {
  const { attemptStore, deliveryStore, inOrder, clock } = context;
  const { ready, attempt, decision, attemptKey } = input;
  const { run, event, breaker } = ready;
  const record: AttemptRecord = {
    delivery: run,
    fact: attempt.number === 1 ? { ...fact, eventType: event.type } : fact,
    logLength,
    acceptedAt: event.acceptedAt,
    openUntil: breaker.openUntil,
    attemptKey,
    hasEnded: decision.kind !== 'retry',
    tellsOfFailing: tellsOfFailing(event.type, attempt),
    now: clock(),
  };
  let effect = undefined as AttemptEffect | undefined;
  try {
    await inOrder([
      async (target) => {
        effect = await attemptStore.record(record, target);
      },
      ...(run.stepsToEnd?.(endAfter(decision, attempt)) ?? []),
    ]);
  } catch (error) {
    // What keeps the job from its end takes no record back: it shows again when the run is over.
    if (effect === undefined) throw error;
  }
  if (effect) return { effect, nextAttemptAt: fact.nextAttemptAt };
  const { state, length } = await deliveryStore.readWithLength(run.endpointId, run.eventId);
  const numbered = { ...fact, attempt: { ...attempt, number: state.attempts.length + 1 } };
  // No other worker has decided the status: its responses were erased, for example, or a late attempt was
  // recorded.
  if (state.isOpen && state.decidingAttempts === ready.decidingAttempts) {
    return await recordOrAddLate(context, input, numbered, length);
  }
  const { nextAttemptAt } = state;
  const late = { ...numbered, nextAttemptAt, isLate: true };
  if (await deliveryStore.appendIfUnchanged(run, late, length)) return { effect: undefined, nextAttemptAt };
  return await recordOrAddLate(context, input, fact, length);
}

function endAfter(decision: Decision, { outcome }: Attempt): JobEnd {
  if (decision.kind !== 'retry') return { kind: 'done' };
  return { kind: 'delayed', delayMs: decision.delayMs, failure: outcome };
}

export interface ArchiveLaterContext extends PersistContext {
  readonly archiveStream?: Pick<ArchiveStream, 'add'> | undefined;
}

/**
 * Hand on to the archive an attempt that it could not get at the time of its record: Redis was full for a
 * moment, for example, or in a Cluster the stream's node is away. The attempt is not repeated, so nothing
 * else would do it. An attempt that gets there twice is in the archive once.
 */
export async function archiveLater(
  context: ArchiveLaterContext,
  record: ArchiveRecord | undefined,
  abortSignal: AbortSignal,
): Promise<void> {
  const { archiveStream } = context;
  if (!record || !archiveStream) return;
  await persistFor(context, record, () => archiveStream.add(record), { abortSignal });
}

function archiveRecordOf(
  { run: { accountId, eventId, endpointId }, event: { type, acceptedAt } }: ReadyDelivery,
  decision: Decision,
  fact: AttemptedFact,
): ArchiveRecord {
  return { accountId, eventId, endpointId, type, acceptedAt, status: statusAfter(decision), fact };
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
