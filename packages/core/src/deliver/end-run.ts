import type { DeliveryRun } from '../domain/delivery';
import { type Admission, type Admitted, hold, type Refused } from './admit';
import { endUnsent, type ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import type { RecordedAttempt } from './record-attempt';
import type { SendOutcome, SentAttempt } from './send-attempt';

/** What happens to the job next. */
export type DeliverResult =
  | { readonly kind: 'done' }
  /** An attempt has failed. */
  | { readonly kind: 'retry'; readonly delayMs: number; readonly reason: string }
  /** No attempt was made: the delivery is held, or not due yet, or the request could not be sent. */
  | { readonly kind: 'later'; readonly delayMs: number }
  /** This process has to abandon the attempt. Nothing is recorded, and it starts again. */
  | { readonly kind: 'interrupted' };

export const DONE: DeliverResult = { kind: 'done' };
/** The delivery has to be read again. */
export const AGAIN_AT_ONCE: DeliverResult = { kind: 'later', delayMs: 0 };
/** A worker has the delivery in another shard: its attempt takes about as long as any. */
export const ELSEWHERE: DeliverResult = { kind: 'later', delayMs: 1_000 };

// More than one: what has ended in a backlog takes fewer and fewer wake-ups.
const LET_GO_BY_UNSENT = 4;
// Short enough after a restart of the proxy, long enough for a proxy that stays down.
const UNSENT_DELAY_MS = 5_000;

/** After a recorded attempt. */
export function resultOf(
  parts: AttemptParts,
  { attempt }: SentAttempt,
  { nextAttemptAt }: RecordedAttempt,
): DeliverResult {
  if (nextAttemptAt === undefined) return DONE;
  return { kind: 'retry', delayMs: delayUntil(parts, nextAttemptAt), reason: attempt.outcome };
}

export function delayUntil({ clock }: AttemptParts, time: number): number {
  return Math.max(time - clock(), 0);
}

/** Whether another process has written to the log of a delivery since it was read. */
export async function hasChanged(
  { deliveryStore }: AttemptParts,
  { run, logLength }: ReadyDelivery,
): Promise<boolean> {
  const { length } = await deliveryStore.readWithLength(run.endpointId, run.eventId);
  return length !== logLength;
}

export async function withdraw(
  { admissionStore, clock }: AttemptParts,
  { endpoint, breaker }: ReadyDelivery,
  admitted: Admitted,
): Promise<void> {
  if (admitted.attemptKey === undefined && !admitted.isProbe) return;
  await admissionStore.withdraw(endpoint.id, admitted, breaker, clock());
}

/** A newer delivery of its group is sent instead of it, or may come until a time. */
export async function coalesce(
  parts: AttemptParts,
  ready: ReadyDelivery,
  coalesced: Exclude<Admission, Admitted | Refused>,
): Promise<DeliverResult> {
  if (coalesced.kind === 'coalescing') {
    return { kind: 'later', delayMs: delayUntil(parts, coalesced.until) };
  }
  const { kind } = await endUnsent(parts, ready, { kind: 'superseded', by: coalesced.by });
  if (kind === 'changed') return AGAIN_AT_ONCE;
  wakeOthers(parts, ready.run);
  return DONE;
}

/**
 * Nothing is sent for a delivery that may have been released: the next held ones go at once, in its place. Only an attempt
 * would wake them up otherwise.
 */
export function wakeOthers(
  { releaser }: AttemptParts,
  { accountId, endpointId, hasWaited, lane }: DeliveryRun,
): void {
  if (hasWaited && (lane === undefined || lane.isLine))
    releaser.grant(accountId, endpointId, LET_GO_BY_UNSENT);
}

// No attempt was made, so its permits are free at once. In strict order the delivery keeps its turn.
export async function letGo(
  parts: AttemptParts,
  ready: ReadyDelivery,
  admitted: Admitted,
  outcome: Exclude<SendOutcome, { kind: 'sent' }>,
  batch?: readonly ReadyDelivery[],
): Promise<DeliverResult> {
  await withdraw(parts, ready, admitted);
  return await putOffUnsent(parts, ready, outcome, batch);
}

export async function putOffUnsent(
  parts: AttemptParts,
  ready: ReadyDelivery,
  outcome: Exclude<SendOutcome, { kind: 'sent' }>,
  batch?: readonly ReadyDelivery[],
): Promise<DeliverResult> {
  if (outcome.kind === 'interrupted') return outcome;
  if (outcome.kind === 'changed') return AGAIN_AT_ONCE;
  if (outcome.kind === 'paused') {
    const refusal = { kind: 'refused', reason: 'no_token', wakeUpAt: outcome.until } as const;
    return { kind: 'later', delayMs: await hold(parts, ready, refusal, batch) };
  }
  const { eventId, endpointId } = ready.run;
  const traced = ready.event.trace && { traceId: ready.event.trace.traceId };
  const { error, pausedForMs } = outcome;
  const paused = pausedForMs === undefined ? {} : { pausedForMs };
  parts.emit({ name: 'delivery.unsent', eventId, endpointId, error, ...paused, ...traced });
  return { kind: 'later', delayMs: pausedForMs ?? UNSENT_DELAY_MS };
}
