import type { DeliveryRun } from '../domain/delivery';
import type { Endpoint } from '../domain/endpoint';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import { eventsOfAttempt, type RaiseEvents } from '../endpoints/operational-events';
import { AppError } from '../platform/app-error';
import {
  type AnnounceEndDeps,
  type ArchiveLaterDeps,
  createAnnounceAttempt,
  createAnnounceEnd,
  createArchiveLater,
  persistFor,
} from './announce';
import { type Decision, decideNext, type RetrySchedule } from './decide-next';
import type { Admit, Admitted, Hold, Refused } from './flow/admit';
import type { Settle, Settled } from './flow/settle';
import { createLoadDelivery, type LoadDeliveryDeps, type ReadyDelivery } from './load-delivery';
import { createRecordAttempt, type RecordAttemptDeps, type RecordedAttempt } from './record-attempt';
import { createSendAttempt, type SendAttemptDeps, type SendOutcome, type SentAttempt } from './send-attempt';

type StepDeps = Omit<LoadDeliveryDeps, 'announceEnd'> &
  SendAttemptDeps &
  RecordAttemptDeps &
  ArchiveLaterDeps &
  AnnounceEndDeps;

export interface DeliverDeps extends StepDeps {
  readonly admit: Admit;
  readonly hold: Hold;
  readonly admissionStore: Pick<AdmissionStore, 'withdraw'>;
  readonly settle: Settle;
  readonly raise: RaiseEvents;
  readonly retrySchedule: RetrySchedule;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
}

/** What is to become of the job. */
export type DeliverResult =
  | { readonly kind: 'done' }
  /** An attempt has failed. */
  | { readonly kind: 'retry'; readonly delayMs: number; readonly reason: string }
  /** There was no attempt: it is held, or not due yet, or the request could not leave us. */
  | { readonly kind: 'later'; readonly delayMs: number }
  /** This process has to let go of it in the middle of the attempt; nothing is on record, and it starts anew. */
  | { readonly kind: 'interrupted' };

const DONE: DeliverResult = { kind: 'done' };

// Soon enough for a proxy that was restarted, and seldom enough for one that stays away.
const UNSENT_DELAY_MS = 5_000;

/**
 * One attempt of one delivery: load → admit → send → decide → record → settle → announce → tell.
 *
 * A crash anywhere before `record` leads to the same attempt once more, under the same `webhook-id`; after it, to none,
 * since the record says whether there is to be another one, and when. As long as this process lives it records what it
 * has sent before it lets go of the job: while Redis takes nothing, it waits.
 *
 * @param signal aborted when the process has to end.
 */
export function createDeliver(deps: DeliverDeps) {
  const announceEnd = createAnnounceEnd(deps);
  const load = createLoadDelivery({ ...deps, announceEnd });
  const send = createSendAttempt(deps);
  const record = createRecordAttempt(deps);
  const archiveLater = createArchiveLater(deps);
  const announce = createAnnounceAttempt({ ...deps, announceEnd });

  async function deliver(run: DeliveryRun, signal: AbortSignal): Promise<DeliverResult> {
    const ready = await load(run);
    if (ready.kind === 'over') return DONE;
    if (ready.kind === 'not_due') return { kind: 'later', delayMs: delayUntil(ready.dueAt) };

    const { endpoint, breaker, event } = ready;
    const { acceptedAt } = event;
    const admission = await deps.admit({ ...run, endpoint, breaker, acceptedAt });
    if (admission.kind === 'refused') {
      const isForAll = isRefusedForAll(endpoint, admission);
      const held = { ...run, ...admission, acceptedAt, isForAll, traceId: event.trace?.traceId };
      return { kind: 'later', delayMs: await deps.hold(held) };
    }

    // Whoever had it before may have recorded what it has sent in this very moment.
    if (run.wasTakenOver && (await hasChanged(ready))) return await startAnew(ready, admission, signal);

    const sent = await send(ready, admission.place, signal);
    if (sent.kind !== 'sent') return await letGo(ready, admission, sent);

    const { attempt } = sent;
    const schedule = endpoint.retrySchedule ?? deps.retrySchedule;
    const decision = decideNext({ ...ready, sent, schedule, now: deps.clock(), random: deps.random() });
    const { attemptKey } = admission;
    const recorded = await persistFor(run, () => record({ ready, attempt, decision, attemptKey }), {
      signal,
      emit: deps.emit,
      isFinal: isFault,
    });
    await Promise.all([
      conclude(ready, sent, decision, recorded, signal),
      // The job waits for it, so that what is not archived yet does not pile up in memory; nothing else does.
      archiveLater(recorded.unarchived, signal),
    ]);
    const { nextAttemptAt } = recorded;
    if (nextAttemptAt === undefined) return DONE;
    return { kind: 'retry', delayMs: delayUntil(nextAttemptAt), reason: attempt.outcome };
  }

  async function hasChanged({ run, logLength }: ReadyDelivery): Promise<boolean> {
    const { length } = await deps.deliveryStore.readWithLength(run.endpointId, run.eventId);
    return length !== logLength;
  }

  async function startAnew(
    ready: ReadyDelivery,
    admitted: Admitted,
    signal: AbortSignal,
  ): Promise<DeliverResult> {
    deps.concurrency.leave(admitted.place, undefined);
    await withdraw(ready, admitted);
    return await deliver(ready.run, signal);
  }

  async function conclude(
    ready: ReadyDelivery,
    sent: SentAttempt,
    decision: Decision,
    { effect }: RecordedAttempt,
    signal: AbortSignal,
  ): Promise<void> {
    const { run, endpoint } = ready;
    const { attempt, wish } = sent;
    announce(ready, sent, effect ? decision : { kind: 'superseded' });
    // Another worker has gone on with it.
    if (!effect) return;
    const settleAttempt = () =>
      deps.settle({
        endpoint,
        effect,
        delivered: attempt.outcome === 'delivered',
        disabledBy: wish.disabledBy,
        hasEnded: decision.kind !== 'retry',
        hasWaited: run.hasWaited,
      });
    // It is on record and is not made again, so nothing else would do it. Secrets that can't be read are another matter: it
    // can take days until they can be, and no worker's slot is to wait for that.
    const settled = await persistFor(run, settleAttempt, { signal, emit: deps.emit, isFinal: isFault });
    tellAccount(ready, sent, decision, settled);
  }

  // It was no attempt: others may have at once what it was admitted with, and if it goes in order, its turn stays its own.
  async function letGo(
    ready: ReadyDelivery,
    admitted: Admitted,
    outcome: Exclude<SendOutcome, { kind: 'sent' }>,
  ): Promise<DeliverResult> {
    await withdraw(ready, admitted);
    if (outcome.kind === 'interrupted') return outcome;
    const { run, event } = ready;
    const { eventId, endpointId } = run;
    const traced = event.trace && { traceId: event.trace.traceId };
    deps.emit({ name: 'delivery.unsent', eventId, endpointId, error: outcome.error, ...traced });
    return { kind: 'later', delayMs: UNSENT_DELAY_MS };
  }

  async function withdraw({ endpoint, breaker }: ReadyDelivery, admitted: Admitted): Promise<void> {
    if (admitted.attemptKey === undefined && !admitted.isProbe) return;
    await deps.admissionStore.withdraw(endpoint.id, admitted, breaker, deps.clock());
  }

  function tellAccount(
    { run, event, endpoint }: ReadyDelivery,
    { attempt }: SentAttempt,
    decision: Decision,
    settled: Settled,
  ): void {
    const isExhausted = decision.kind === 'exhausted';
    deps.raise(run.accountId, eventsOfAttempt({ event, endpoint, attempt, isExhausted, ...settled }));
  }

  function delayUntil(time: number): number {
    return Math.max(time - deps.clock(), 0);
  }

  return deliver;
}

export type Deliver = ReturnType<typeof createDeliver>;

/**
 * Whether the endpoint's next deliveries would be refused as well. In strict order each one has to be asked, which gives it
 * its place; and a rate limit has room again before the next ones are taken.
 */
function isRefusedForAll({ ordering }: Endpoint, { reason, awaitsSlot }: Refused): boolean {
  return ordering === 'none' && !awaitsSlot && reason !== 'rate_limited';
}

/** Whether it is no use to wait for Redis: it answers, and will say the same again. */
function isFault(error: unknown): boolean {
  return !(error instanceof AppError && error.code === 'storage_unavailable');
}
