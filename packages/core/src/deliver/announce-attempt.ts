import { type AnnounceEndContext, announceEnd } from '../domain/announce-end';
import type { Attempt } from '../domain/attempt';
import { deliveryIdOf } from '../domain/delivery';
import type { Decision } from './decide-next';
import type { ReadyDelivery } from './load-delivery';
import type { SentAttempt } from './send-attempt';

/**
 * Says what an attempt was like, and that the delivery has come to its end if it has.
 *
 * @param decision `undefined`: another worker has gone on with the delivery.
 */
export function announceAttempt(
  context: AnnounceEndContext,
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
