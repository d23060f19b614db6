import type { Clock } from '../kernel/clock';
import type { Attempt } from '../model/attempt';
import { type DeliveryParts, deliveryIdOf } from '../model/delivery';
import type { EndStatus } from '../model/delivery-log';
import type { AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import type { TraceContext } from '../model/trace';
import type { ArchiveRecord } from '../record/archive-record';
import { persistFor } from '../record/persist-for';
import type { ArchiveStream } from '../record/redis-archive-stream';
import type { Decision } from './decide-next';
import type { ReadyDelivery } from './load-delivery';
import type { SentAttempt } from './send-attempt';

export interface AnnounceAttemptDeps {
  readonly announceEnd: AnnounceEnd;
  readonly emit: Emit;
}

/** Says what an attempt was like, and that the delivery has come to its end if it has. */
export function createAnnounceAttempt({ announceEnd, emit }: AnnounceAttemptDeps) {
  return function announceAttempt(
    ready: ReadyDelivery,
    { attempt, span }: SentAttempt,
    decision: Decision | { readonly kind: 'superseded' },
  ): void {
    const { run, event, begunAt } = ready;
    const { accountId, eventId, endpointId } = run;
    emit({
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
      ...(decision.kind === 'retry' ? { nextDelayMs: decision.delayMs } : {}),
      ...(span === undefined ? {} : { span }),
    });
    if (decision.kind === 'retry' || decision.kind === 'stays_delivered' || decision.kind === 'superseded')
      return;
    announceEnd(run, decision.kind, begunAt, span?.context);
  };
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

export interface AnnounceEndDeps {
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface EndedDelivery extends DeliveryParts {
  /** Whose it was, if that is known. */
  readonly accountId?: AccountId | undefined;
}

/** Says that a delivery has come to its end, and how long after it began (its event was accepted, or somebody requested it), if known. */
export function createAnnounceEnd({ clock, emit }: AnnounceEndDeps) {
  return function announceEnd(
    { accountId, eventId, endpointId }: EndedDelivery,
    status: EndStatus,
    begunAt: number | undefined,
    trace?: TraceContext,
  ): void {
    emit({
      name: 'delivery.ended',
      deliveryId: deliveryIdOf({ eventId, endpointId }),
      ...(accountId === undefined ? {} : { accountId }),
      eventId,
      endpointId,
      status,
      lagMs: begunAt === undefined ? 0 : clock() - begunAt,
      ...(trace === undefined ? {} : { traceId: trace.traceId }),
    });
  };
}

export type AnnounceEnd = ReturnType<typeof createAnnounceEnd>;

export interface ArchiveLaterDeps {
  readonly archiveStream?: Pick<ArchiveStream, 'add'> | undefined;
  readonly emit: Emit;
}

/**
 * Hands on to the archive what it could not get when it was put on record: Redis was full for a moment, say, or in a
 * Cluster the stream's node is away. The attempt is not made again, so nothing else would do it. An attempt that gets
 * there twice is in the archive once.
 */
export function createArchiveLater({ archiveStream, emit }: ArchiveLaterDeps) {
  return async function archiveLater(record: ArchiveRecord | undefined, signal: AbortSignal): Promise<void> {
    if (!record || !archiveStream) return;
    await persistFor(record, () => archiveStream.add(record), { signal, emit });
  };
}
