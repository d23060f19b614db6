import type { Admit, Ticket } from '../gates/admit';
import type { HandBack } from '../gates/hand-back';
import type { Hold } from '../gates/hold';
import type { Move } from '../gates/move';
import { otherSide } from '../gates/parked';
import type { Settled } from '../gates/settle';
import { eventsOfAttempt } from '../operational-events/events-of-attempt';
import type { RaiseEvents } from '../operational-events/operational-events';
import { createAnnounceAttempt } from './announce-attempt';
import { type AnnounceEndDeps, createAnnounceEnd } from './announce-end';
import { type ArchiveLaterDeps, createArchiveLater } from './archive-later';
import type { Attempt } from './attempt';
import { type Decision, decideNext } from './decide-next';
import type { DeliveryRun } from './delivery-run';
import { createFollowUp, type FollowUpDeps, type FollowUpInput } from './follow-up';
import { createLoadDelivery, type LoadDeliveryDeps, type ReadyDelivery } from './load-delivery';
import { persistFor } from './persist-for';
import { createRecordAttempt, type RecordAttemptDeps } from './record-attempt';
import type { RetrySchedule } from './retry-policy';
import { createSendAttempt, type SendAttemptDeps, type SendOutcome } from './send-attempt';

type StepDeps = Omit<LoadDeliveryDeps, 'announceEnd'> &
  SendAttemptDeps &
  RecordAttemptDeps &
  ArchiveLaterDeps &
  FollowUpDeps &
  AnnounceEndDeps;

export interface DeliverDeps extends StepDeps {
  readonly admit: Admit;
  readonly hold: Hold;
  readonly move: Move;
  readonly handBack: HandBack;
  readonly raise: RaiseEvents;
  readonly retrySchedule: RetrySchedule;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
}

/** What is to become of the job. */
export type DeliverResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly reason: string }
  /** The request could not leave us, by none of the receiver's faults; nothing is on record. */
  | { readonly kind: 'again'; readonly delayMs: number }
  /** This process has to let go of it in the middle of the attempt; nothing is on record, and it starts anew. */
  | { readonly kind: 'interrupted' };

const DONE: DeliverResult = { kind: 'done' };

// Soon enough for a proxy that was restarted, and seldom enough for one that stays away.
const UNSENT_DELAY_MS = 5_000;

/**
 * One attempt of one delivery: load → admit → send → decide → record → follow up → announce → tell.
 *
 * A crash anywhere before `record` leads to the same attempt once more, under the same `webhook-id`; after it, to none,
 * since the record says whether there is to be another one, and when.
 */
export function createDeliver(deps: DeliverDeps) {
  const announceEnd = createAnnounceEnd(deps);
  const load = createLoadDelivery({ ...deps, announceEnd });
  const send = createSendAttempt(deps);
  const record = createRecordAttempt(deps);
  const archiveLater = createArchiveLater(deps);
  const followUp = createFollowUp(deps);
  const announce = createAnnounceAttempt({ ...deps, announceEnd });

  return async function deliver(run: DeliveryRun, signal: AbortSignal): Promise<DeliverResult> {
    const ready = await load(run);
    if (ready.kind === 'over') return DONE;
    if (ready.kind === 'not_due') return retryAt(ready.dueAt, 'not_due');

    const { endpoint, breaker } = ready;
    const admission = await deps.admit({ ...run, endpoint, breaker });
    if (admission.kind === 'wait') {
      await hold(ready, admission, signal);
      return DONE;
    }
    if (admission.kind === 'move') {
      await deps.move(run, admission);
      return DONE;
    }

    const { ticket } = admission;
    const sent = await send(ready, admission, signal);
    if (sent.kind !== 'sent') return await letGo(ready, ticket, sent);

    const { attempt } = sent;
    const schedule = ready.endpoint.retrySchedule ?? deps.retrySchedule;
    const decision = decideNext({ ...ready, sent, schedule, now: deps.clock(), random: deps.random() });
    const { nextAttemptAt, unarchived } = await record(ready, attempt, decision);
    await Promise.all([
      conclude({ ready, ticket, sent, decision }, signal),
      // The job waits for it, so that what is not archived yet does not pile up in memory; nothing else does.
      archiveLater(unarchived, signal),
    ]);
    return nextAttemptAt === undefined ? DONE : retryAt(nextAttemptAt, attempt.outcome);
  };

  // Once it is parked its other job may come any moment: were this one run again for an error, there would be two of them,
  // and each attempt would be made twice from then on.
  async function hold(
    { run, event: { acceptedAt } }: ReadyDelivery,
    admission: Parameters<Hold>[1],
    signal: AbortSignal,
  ): Promise<void> {
    const parked = { ...run, acceptedAt, side: otherSide(run.side) };
    await persistFor(run, () => deps.hold(parked, admission), { signal, emit: deps.emit });
  }

  async function conclude(input: FollowUpInput, signal: AbortSignal): Promise<void> {
    const { ready, sent, decision } = input;
    const settled = await followUp(input, signal);
    announce(ready, sent.attempt, decision);
    tellAccount(ready, sent.attempt, decision, settled);
  }

  // It was no attempt: others may have at once what it was admitted with, and if it goes in order, its turn stays its own.
  async function letGo(
    ready: ReadyDelivery,
    ticket: Ticket,
    outcome: Exclude<SendOutcome, { kind: 'sent' }>,
  ): Promise<DeliverResult> {
    await deps.handBack({ ...ready, ticket, wasInterrupted: true });
    if (outcome.kind === 'interrupted') return outcome;
    const { eventId, endpointId } = ready.run;
    deps.emit({ name: 'delivery.unsent', eventId, endpointId, error: outcome.error });
    return { kind: 'again', delayMs: UNSENT_DELAY_MS };
  }

  function tellAccount(
    { run, event, endpoint }: ReadyDelivery,
    attempt: Attempt,
    decision: Decision,
    settled: Settled,
  ): void {
    const isExhausted = decision.kind === 'exhausted';
    deps.raise(run.accountId, eventsOfAttempt({ event, endpoint, attempt, isExhausted, ...settled }));
  }

  function retryAt(time: number, reason: string): DeliverResult {
    return { kind: 'retry', delayMs: Math.max(time - deps.clock(), 0), reason };
  }
}

export type Deliver = ReturnType<typeof createDeliver>;
