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
  resultOf,
  wakeOthers,
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
import { type LoadedDelivery, loadDelivery, type ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { persistFor, recordAttempt } from './record-attempt';
import { sendAttempt } from './send-attempt';
import { type TransformedDelivery, transformEvent } from './transform-event';

/**
 * Run the job of one delivery: load → turn → attempt. How a run ends, by what it finds:
 *
 * | Loaded  | With a job of its own | As an entry of a lane |
 * | ------- | --------------------- | --------------------- |
 * | ended   | done | done, and the lane goes on |
 * | not due | later, when it is due | the same, with its turn; where others need not wait for it: done, it gets a job of its own |
 * | ready   | an attempt; or done, it becomes an entry of a lane | an attempt, in its turn; later, behind others; done, where a newer one was sent instead |
 *
 * An entry whose webhook has another order now leaves its lane, unless its request may have been sent in place of older ones. Where only
 * the newest is sent, that one runs in place of the first.
 *
 * @param abortSignal aborted when the process has to end.
 */
export async function deliver(
  parts: AttemptParts,
  run: DeliveryRun,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const loaded = await loadDelivery(parts, run);
  if (loaded.kind !== 'ready') wakeOthers(parts, run);
  if (loaded.kind === 'ended') return DONE;
  const over = run.lane && (await settleLane(parts, loaded, run, run.lane));
  if (over) return over;
  if (loaded.kind === 'not_due') return await waitUntilDue(parts, loaded, run);
  const next = await takeTurn(parts, loaded, async (other) => {
    const attempt = () => deliver(parts, other, abortSignal);
    const result = parts.claim ? await parts.claim(other, attempt) : await attempt();
    return result === 'elsewhere' ? ELSEWHERE : result;
  });
  if (next.kind !== 'ready') return next;
  const batchLimits = batchLimitsOf(next.endpoint);
  if (!batchLimits) return await deliverAlone(parts, next, abortSignal);
  const isToGoAlone = run.lane !== undefined && mayHaveBeenSent(loaded, run.lane);
  const primary = isToGoAlone ? { ...next, run: { ...next.run, batch: undefined } } : next;
  return await deliverBatch(parts, primary, batchLimits, abortSignal);
}

/**
 * End what is over in a lane, whatever its first one does.
 *
 * @returns what becomes of the run if its delivery is over, or leaves the lane.
 */
async function settleLane(
  parts: AttemptParts,
  loaded: Exclude<LoadedDelivery, { kind: 'ended' }>,
  run: DeliveryRun,
  lane: LaneRun,
): Promise<DeliverResult | undefined> {
  const over = await endThoseSentFor(parts, loaded, run, lane);
  if (over) return over;
  const isToStay = loaded.kind === 'ready' && mayHaveBeenSent(loaded, lane);
  const isOfAnother = lane.name !== findLane(loaded.endpoint, loaded.event.group);
  if (isOfAnother && !isToStay) return await leaveLane(parts, run, lane, loaded.endpoint);
  await endThoseOver(parts, run, lane);
  return undefined;
}

async function waitUntilDue(
  parts: AttemptParts,
  { endpoint, dueAt }: Extract<LoadedDelivery, { kind: 'not_due' }>,
  run: DeliveryRun,
): Promise<DeliverResult> {
  if (run.lane && endpoint.ordering === 'none') return await waitAlone(run, run.lane);
  return { kind: 'later', delayMs: delayUntil(parts, dueAt) };
}

/**
 * Make one attempt of one delivery, in a request of its own: admit → transform → send → classify → decide → record → announce →
 * after the attempt.
 *
 * A crash anywhere before `record` leads to the same attempt once more, under the same `webhook-id`. After
 * it, no attempt is repeated, since the record says whether another one follows, and when. As long as this
 * process lives it records each sent attempt before it lets go of the job: while Redis refuses writes, it
 * waits.
 */
async function deliverAlone(
  parts: AttemptParts,
  ready: ReadyDelivery,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const admission = await admit(parts, ready);
  if (admission.kind === 'refused') return { kind: 'later', delayMs: await hold(parts, ready, admission) };
  if (admission.kind !== 'admitted') return await coalesce(parts, ready, admission);

  // An earlier worker of this job may have recorded its attempt at this moment.
  if (ready.run.wasTakenOver && (await hasChanged(parts, ready))) {
    return await startAnew(parts, ready, admission, abortSignal);
  }

  const newest = goesInPlaceOfOlder(ready) ? ready.run.lane : undefined;
  const transformed = await transformOrRelease(parts, ready, admission, newest);
  if (transformed.kind === 'ended') return await endTransformed(parts, ready, admission);
  const made = transformed.kind === 'ready' ? transformed : ready;
  const sent =
    transformed.kind === 'ready'
      ? await sendAttempt(parts, made, admission.permit, abortSignal)
      : transformed;
  if (sent.kind !== 'sent') {
    // What was interrupted may have been received.
    if (sent.kind !== 'interrupted') await newest?.unmarkSent();
    return await letGo(parts, made, admission, sent);
  }

  const { attempt } = sent;
  const { run } = made;
  const decision = decideNext(parts, made, sent);
  const input = { ready: made, attempt, decision, attemptKey: admission.attemptKey };
  const recorded = await persistFor(parts, run, () => recordAttempt(parts, input), abortSignal);
  await conclude(parts, made, sent, decision, recorded, abortSignal);
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
  wakeOthers(parts, ready.run);
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
