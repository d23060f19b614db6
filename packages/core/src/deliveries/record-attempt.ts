import type { ArchiveRecord } from '../archive/archive-record';
import type { ArchiveStream } from '../archive/redis-archive-stream';
import type { HealthRecorder } from '../endpoints/health-recorder';
import type { Clock } from '../runtime/clock';
import type { Attempt } from './attempt';
import { type Decision, statusAfter } from './decide-next';
import type { ReadyDelivery } from './load-delivery';
import type { DeliveryStore } from './redis-delivery-store';

export interface RecordAttemptDeps {
  readonly deliveryStore: Pick<DeliveryStore, 'append'>;
  /** Absent: attempts are not archived. */
  readonly archiveStream?: Pick<ArchiveStream, 'add'> | undefined;
  readonly healthRecorder: Pick<HealthRecorder, 'record'>;
  readonly clock: Clock;
}

/** An attempt that is on record. */
export interface RecordedAttempt {
  /** When the next one is due, in milliseconds since the Unix epoch, if there is one. */
  readonly nextAttemptAt: number | undefined;
  /** What the archive still has to get: it could not be handed on. */
  readonly unarchived: ArchiveRecord | undefined;
}

/** Puts an attempt on record. */
export function createRecordAttempt({
  deliveryStore,
  archiveStream,
  healthRecorder,
  clock,
}: RecordAttemptDeps) {
  return async function recordAttempt(
    { run, event }: Pick<ReadyDelivery, 'run' | 'event'>,
    attempt: Attempt,
    decision: Decision,
  ): Promise<RecordedAttempt> {
    const { accountId, eventId, endpointId } = run;
    const { type, acceptedAt } = event;
    const nextAttemptAt = decision.kind === 'retry' ? clock() + decision.delayMs : undefined;
    const isAborted = decision.kind === 'aborted';
    const fact = { kind: 'attempted', attempt, nextAttemptAt, isAborted } as const;
    const status = statusAfter(decision);
    const record = { accountId, eventId, endpointId, type, acceptedAt, status, fact };
    // Sent off before the log's line, over the same connection: what is on record is sure to be archived, also when the
    // process dies in between.
    const [archived, appended] = await Promise.allSettled([
      archiveStream?.add(record),
      deliveryStore.append(run, attempt.number === 1 ? { ...fact, eventType: type } : fact),
    ]);
    if (appended.status === 'rejected') throw appended.reason;
    const endedAt = attempt.startedAt + attempt.durationMs;
    healthRecorder.record(endpointId, { delivered: decision.kind === 'delivered', at: endedAt });
    return { nextAttemptAt, unarchived: archived.status === 'rejected' ? record : undefined };
  };
}
