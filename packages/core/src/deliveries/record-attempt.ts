import type { HealthRecorder } from '../endpoints/health-recorder';
import type { Clock } from '../runtime/clock';
import type { Attempt } from './attempt';
import type { Decision } from './decide-next';
import type { DeliveryParts } from './delivery-id';
import type { DeliveryStore } from './redis-delivery-store';

export interface RecordAttemptDeps {
  readonly deliveryStore: Pick<DeliveryStore, 'append'>;
  readonly healthRecorder: Pick<HealthRecorder, 'record'>;
  readonly clock: Clock;
}

/** Puts an attempt on record; gives when the next one is due, in milliseconds since the Unix epoch, if there is one. */
export function createRecordAttempt({ deliveryStore, healthRecorder, clock }: RecordAttemptDeps) {
  return async function recordAttempt(
    delivery: DeliveryParts,
    attempt: Attempt,
    decision: Decision,
  ): Promise<number | undefined> {
    const nextAttemptAt = decision.kind === 'retry' ? clock() + decision.delayMs : undefined;
    const isAborted = decision.kind === 'aborted';
    await deliveryStore.append(delivery, { kind: 'attempted', attempt, nextAttemptAt, isAborted });
    const endedAt = attempt.startedAt + attempt.durationMs;
    healthRecorder.record(delivery.endpointId, { delivered: decision.kind === 'delivered', at: endedAt });
    return nextAttemptAt;
  };
}
