import type { ArchiveStream } from '../archive/redis-archive-stream';
import type { HealthRecorder } from '../endpoints/health-recorder';
import type { Clock } from '../runtime/clock';
import type { Attempt } from './attempt';
import { type Decision, statusAfter } from './decide-next';
import type { AttemptedFact } from './delivery-fact';
import type { ReadyDelivery } from './load-delivery';
import type { DeliveryStore } from './redis-delivery-store';

export interface RecordAttemptDeps {
  readonly deliveryStore: Pick<DeliveryStore, 'append'>;
  /** Absent: attempts are not archived. */
  readonly archiveStream?: Pick<ArchiveStream, 'add'> | undefined;
  readonly healthRecorder: Pick<HealthRecorder, 'record'>;
  readonly clock: Clock;
}

/** Puts an attempt on record; gives when the next one is due, in milliseconds since the Unix epoch, if there is one. */
export function createRecordAttempt({
  deliveryStore,
  archiveStream,
  healthRecorder,
  clock,
}: RecordAttemptDeps) {
  return async function recordAttempt(
    delivery: Pick<ReadyDelivery, 'run' | 'event'>,
    attempt: Attempt,
    decision: Decision,
  ): Promise<number | undefined> {
    const { run } = delivery;
    const nextAttemptAt = decision.kind === 'retry' ? clock() + decision.delayMs : undefined;
    const fact = {
      kind: 'attempted',
      attempt,
      nextAttemptAt,
      isAborted: decision.kind === 'aborted',
    } as const;
    // Sent off before the log's line, over the same connection: what is on record is sure to be archived, also when the
    // process dies in between.
    const archiving = archive(delivery, fact, decision);
    await Promise.all([archiving, deliveryStore.append(run, fact)]);
    const endedAt = attempt.startedAt + attempt.durationMs;
    healthRecorder.record(run.endpointId, { delivered: decision.kind === 'delivered', at: endedAt });
    return nextAttemptAt;
  };

  function archive(
    { run, event }: Pick<ReadyDelivery, 'run' | 'event'>,
    fact: AttemptedFact,
    decision: Decision,
  ): Promise<void> | undefined {
    const { accountId, eventId, endpointId } = run;
    const { type, acceptedAt } = event;
    const status = statusAfter(decision);
    return archiveStream?.add({ accountId, eventId, endpointId, type, acceptedAt, status, fact });
  }
}
