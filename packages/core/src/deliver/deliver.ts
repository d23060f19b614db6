import type { DeliveryRun, LaneRun } from '../domain/delivery';
import { batchLimitsOf, findLane } from '../domain/endpoint';
import { type Admitted, admit, hold } from './admit';
import { conclude } from './after-attempt';
import { decideNext } from './decide-next';
import { deliverBatch } from './deliver-batch';
import {
  coalesce,
  type DeliverResult,
  DONE,
  delayUntil,
  ELSEWHERE,
  hasChanged,
  letGo,
  passOn,
  resultOf,
  withdraw,
} from './end-run';
import {
  endThoseOver,
  endThoseSentFor,
  goesInPlaceOfOlder,
  leaveLane,
  mayHaveBeenSent,
  supersedeOlder,
  takeTurn,
  waitAlone,
} from './lane';
import { loadDelivery, type ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { persistFor, recordAttempt } from './record-attempt';
import { sendAttempt } from './send-attempt';
import { type TransformedDelivery, transformEvent } from './transform-event';

/**
 * Make one attempt of one delivery: load → admit → transform → send → classify → decide → record → announce → after the
 * attempt.
 *
 * A crash anywhere before `record` leads to the same attempt once more, under the same `webhook-id`. After
 * it, no attempt is repeated, since the record says whether another one follows, and when. As long as this
 * process lives it records each sent attempt before it lets go of the job: while Redis refuses writes, it
 * waits.
 *
 * @param abortSignal aborted when the process has to end.
 */
export async function deliver(
  parts: AttemptParts,
  run: DeliveryRun,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const loaded = await loadDelivery(parts, run);
  if (loaded.kind !== 'ready') passOn(parts, run);
  if (loaded.kind === 'ended') return DONE;
  const over = run.lane && (await endThoseSentFor(parts, loaded, run, run.lane));
  if (over) return over;
  const isToGoAlone = run.lane !== undefined && loaded.kind === 'ready' && mayHaveBeenSent(loaded, run.lane);
  if (run.lane && !isToGoAlone && run.lane.name !== findLane(loaded.endpoint, loaded.event.group)) {
    return await leaveLane(parts, run, run.lane, loaded.endpoint);
  }
  if (run.lane) await endThoseOver(parts, run, run.lane);
  if (loaded.kind === 'not_due' && run.lane && loaded.endpoint.ordering === 'none') {
    return await waitAlone(run, run.lane);
  }
  if (loaded.kind === 'not_due') return { kind: 'later', delayMs: delayUntil(parts, loaded.dueAt) };
  const next = await takeTurn(parts, loaded, async (other) => {
    const attempt = () => deliver(parts, other, abortSignal);
    const result = parts.claim ? await parts.claim(other, attempt) : await attempt();
    return result === 'elsewhere' ? ELSEWHERE : result;
  });
  if (next.kind !== 'ready') return next;
  const batchLimits = batchLimitsOf(next.endpoint);
  if (batchLimits) {
    const primary = isToGoAlone ? { ...next, run: { ...next.run, batch: undefined } } : next;
    return await deliverBatch(parts, primary, batchLimits, abortSignal);
  }

  const admission = await admit(parts, next);
  if (admission.kind === 'refused') return { kind: 'later', delayMs: await hold(parts, next, admission) };
  if (admission.kind !== 'admitted') return await coalesce(parts, next, admission);

  // An earlier worker of this job may have recorded its attempt at this moment.
  if (run.wasTakenOver && (await hasChanged(parts, next))) {
    return await startAnew(parts, next, admission, abortSignal);
  }

  const newest = goesInPlaceOfOlder(next) ? next.run.lane : undefined;
  const transformed = await transformOrRelease(parts, next, admission, newest);
  if (transformed.kind === 'ended') return await endTransformed(parts, next, admission);
  const isMade = transformed.kind === 'ready';
  const ready = isMade ? transformed : next;
  const sent = isMade ? await sendAttempt(parts, ready, admission.permit, abortSignal) : transformed;
  if (sent.kind !== 'sent') {
    // What was interrupted may have been received.
    if (sent.kind !== 'interrupted') await newest?.unmarkSent();
    return await letGo(parts, ready, admission, sent);
  }

  const { attempt } = sent;
  const decision = decideNext(parts, ready, sent);
  const input = { ready, attempt, decision, attemptKey: admission.attemptKey };
  const recorded = await persistFor(parts, run, () => recordAttempt(parts, input), abortSignal);
  await conclude(parts, ready, sent, decision, recorded, abortSignal);
  // After its end the next run of the lane does this.
  if (newest && decision.kind === 'retry' && recorded.effect)
    await supersedeOlder(parts, run, newest, { eventId: run.eventId, acceptedAt: newest.place });
  return resultOf(parts, sent, recorded);
}

/**
 * An attempt that sends nothing does not keep its permit. One that the code has cancelled is no attempt, and takes no one's place.
 *
 * @param newest its lane, if it goes in place of older ones.
 */
async function transformOrRelease(
  parts: AttemptParts,
  ready: ReadyDelivery,
  { permit }: Admitted,
  newest: LaneRun | undefined,
): Promise<TransformedDelivery> {
  let transformed: TransformedDelivery | undefined;
  try {
    const made = await transformEvent(parts, ready);
    if (made.kind === 'ready' || made.kind === 'sent') await newest?.markSent();
    transformed = made;
    return made;
  } finally {
    if (transformed?.kind !== 'ready') parts.concurrency.releasePermit(permit, undefined);
  }
}

async function endTransformed(
  parts: AttemptParts,
  ready: ReadyDelivery,
  admitted: Admitted,
): Promise<DeliverResult> {
  await withdraw(parts, ready, admitted);
  passOn(parts, ready.run);
  return DONE;
}

async function startAnew(
  parts: AttemptParts,
  ready: ReadyDelivery,
  admitted: Admitted,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  parts.concurrency.releasePermit(admitted.permit, undefined);
  await withdraw(parts, ready, admitted);
  return await deliver(parts, { ...ready.run, texts: undefined }, abortSignal);
}
