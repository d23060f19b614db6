import { setTimeout as wait } from 'node:timers/promises';
import type { AccountId } from '../domain/account';
import type { Attempt } from '../domain/attempt';
import { type DeliveryParts, deliveryIdOf } from '../domain/delivery';
import type { EndStatus } from '../domain/delivery-log';
import type { Emit } from '../domain/signal';
import type { TraceContext } from '../domain/trace';
import type { ArchiveRecord, ArchiveStream } from '../events/archive/redis-archive-stream';
import type { Clock } from '../platform/clock';
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

export interface PersistForOptions extends Pick<PersistOptions, 'signal' | 'isFinal'> {
  readonly emit: Emit;
}

// So often while Redis refuses it: whoever records first once it takes something again is to be who has the answer.
const EVERY_MS = 250;

/** Does for a delivery what nothing else would do, and what its job must not be run again for. */
export async function persistFor<Result>(
  delivery: DeliveryParts,
  action: () => Promise<Result>,
  { emit, ...options }: PersistForOptions,
): Promise<Result> {
  const onFailure = (error: unknown) =>
    emit({ name: 'delivery.follow_up_failed', deliveryId: deliveryIdOf(delivery), error });
  return await persist(action, { ...options, everyMs: EVERY_MS, onFailure });
}

export interface PersistOptions {
  readonly everyMs: number;
  /** Ends it: what went wrong last is thrown. */
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
  /** Whether it is no use to go on after such a failure; by default it always is. */
  readonly isFinal?: (error: unknown) => boolean;
}

/** Does something, and for as long as that fails again and again; gives what came of it. */
export async function persist<Result>(
  action: () => Promise<Result>,
  { everyMs, signal, onFailure, isFinal = () => false }: PersistOptions,
): Promise<Result> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      onFailure(error);
      if (signal.aborted || isFinal(error)) throw error;
      await wait(everyMs, undefined, { signal }).catch(() => {});
    }
  }
}
