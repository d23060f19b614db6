import type { Attempt } from '../model/attempt';
import { deliveryIdOf } from '../model/delivery-id';
import type { Emit } from '../model/signals';
import type { AnnounceEnd } from './announce-end';
import type { Decision } from './decide-next';
import type { ReadyDelivery } from './load-delivery';

export interface AnnounceAttemptDeps {
  readonly announceEnd: AnnounceEnd;
  readonly emit: Emit;
}

/** Says what an attempt was like, and that the delivery has come to its end if it has. */
export function createAnnounceAttempt({ announceEnd, emit }: AnnounceAttemptDeps) {
  return function announceAttempt(
    { run: { eventId, endpointId }, event, begunAt }: ReadyDelivery,
    attempt: Attempt,
    decision: Decision | { readonly kind: 'superseded' },
  ): void {
    emit({
      name: 'delivery.attempted',
      deliveryId: deliveryIdOf({ eventId, endpointId }),
      eventId,
      endpointId,
      type: event.type,
      attempt: attempt.number,
      outcome: attempt.outcome,
      durationMs: attempt.durationMs,
      ...attempt.timings,
      ...(attempt.responseStatus === undefined ? {} : { responseStatus: attempt.responseStatus }),
      ...(decision.kind === 'retry' ? { nextDelayMs: decision.delayMs } : {}),
    });
    if (decision.kind === 'retry' || decision.kind === 'stays_delivered' || decision.kind === 'superseded')
      return;
    announceEnd({ eventId, endpointId }, decision.kind, begunAt);
  };
}
