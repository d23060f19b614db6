import type { DeliveryRun } from '../domain/delivery';
import { batchLimitsOf } from '../domain/endpoint';
import { type Admitted, admit, hold } from './admit';
import { conclude } from './after-attempt';
import { decideNext } from './decide-next';
import { type DeliverBatchContext, deliverBatch } from './deliver-batch';
import {
  coalesce,
  type DeliverContext,
  type DeliverResult,
  DONE,
  delayUntil,
  hasChanged,
  letGo,
  passOn,
  resultOf,
  withdraw,
} from './end-run';
import { loadDelivery, type ReadyDelivery } from './load-delivery';
import { persistFor } from './persist';
import { recordAttempt } from './record-attempt';
import { sendAttempt } from './send-attempt';
import { type TransformedDelivery, transformEvent } from './transform-event';

/**
 * Make one attempt of one delivery: load → admit → transform → send → judge → decide → record → announce → after the
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
  context: DeliverBatchContext,
  run: DeliveryRun,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const loaded = await loadDelivery(context, run);
  if (loaded.kind !== 'ready') passOn(context, run);
  if (loaded.kind === 'over') return DONE;
  if (loaded.kind === 'not_due') return { kind: 'later', delayMs: delayUntil(context, loaded.dueAt) };
  const batchLimits = batchLimitsOf(loaded.endpoint);
  if (batchLimits) return await deliverBatch(context, loaded, batchLimits, abortSignal);

  const admission = await admit(context, loaded);
  if (admission.kind === 'refused') return { kind: 'later', delayMs: await hold(context, loaded, admission) };
  if (admission.kind !== 'admitted') return await coalesce(context, loaded, admission);

  // An earlier worker of this job may have recorded its attempt at this moment.
  if (run.wasTakenOver && (await hasChanged(context, loaded))) {
    return await startAnew(context, loaded, admission, abortSignal);
  }

  const transformed = await transformOrRelease(context, loaded, admission);
  if (transformed.kind === 'over') return await endTransformed(context, loaded, admission);
  const isMade = transformed.kind === 'ready';
  const ready = isMade ? transformed : loaded;
  const sent = isMade ? await sendAttempt(context, ready, admission.permit, abortSignal) : transformed;
  if (sent.kind !== 'sent') return await letGo(context, ready, admission, sent);

  const { attempt } = sent;
  const decision = decideNext(context, ready, sent);
  const input = { ready, attempt, decision, attemptKey: admission.attemptKey };
  const recorded = await persistFor(context, run, () => recordAttempt(context, input), abortSignal);
  await conclude(context, ready, sent, decision, recorded, abortSignal);
  return resultOf(context, sent, recorded);
}

/** An attempt that sends nothing does not keep its permit. */
async function transformOrRelease(
  context: DeliverContext,
  ready: ReadyDelivery,
  { permit }: Admitted,
): Promise<TransformedDelivery> {
  let transformed: TransformedDelivery | undefined;
  try {
    transformed = await transformEvent(context, ready);
    return transformed;
  } finally {
    if (transformed?.kind !== 'ready') context.concurrency.releasePermit(permit, undefined);
  }
}

async function endTransformed(
  context: DeliverContext,
  ready: ReadyDelivery,
  admitted: Admitted,
): Promise<DeliverResult> {
  await withdraw(context, ready, admitted);
  passOn(context, ready.run);
  return DONE;
}

async function startAnew(
  context: DeliverBatchContext,
  ready: ReadyDelivery,
  admitted: Admitted,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  context.concurrency.releasePermit(admitted.permit, undefined);
  await withdraw(context, ready, admitted);
  return await deliver(context, { ...ready.run, texts: undefined }, abortSignal);
}
