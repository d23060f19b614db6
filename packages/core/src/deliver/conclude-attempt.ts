import { announceEnd } from '../domain/announce-end';
import type { Attempt } from '../domain/attempt';
import { deliveryIdOf } from '../domain/delivery';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import { eventsOfAttempt, type OperationalEvents } from '../endpoints/operational-events';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { AccessTokens } from './access-tokens';
import { type Admitted, type Coalesced, type HoldContext, hold } from './admit';
import { type AfterAttemptContext, afterAttempt } from './after-attempt';
import type { Decision } from './decide-next';
import { type EndUnsentContext, endUnsent, type ReadyDelivery } from './load-delivery';
import { persistFor } from './persist';
import type { RecordedAttempt } from './record-attempt';
import type { SendOutcome, SentAttempt } from './send-attempt';

export type ConcludeContext = AfterAttemptContext &
  HoldContext & {
    readonly admissionStore: Pick<AdmissionStore, 'withdraw'>;
    readonly deliveryStore: Pick<DeliveryStore, 'readWithLength'>;
    readonly accessTokens: Pick<AccessTokens, 'refuse'>;
    readonly operationalEvents: Pick<OperationalEvents, 'raise'>;
  };

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

// Nothing was sent for it, so the next deliveries may go at once.
const LET_GO_BY_SUPERSEDED = 4;
// Short enough after a restart of the proxy, long enough for a proxy that stays down.
const UNSENT_DELAY_MS = 5_000;

export function delayUntil({ clock }: ConcludeContext, time: number): number {
  return Math.max(time - clock(), 0);
}

/** Whether another process has written to the log of a delivery since it was read. */
export async function hasChanged(
  { deliveryStore }: ConcludeContext,
  { run, logLength }: ReadyDelivery,
): Promise<boolean> {
  const { length } = await deliveryStore.readWithLength(run.endpointId, run.eventId);
  return length !== logLength;
}

export async function withdraw(
  { admissionStore, clock }: ConcludeContext,
  { endpoint, breaker }: ReadyDelivery,
  admitted: Admitted,
): Promise<void> {
  if (admitted.attemptKey === undefined && !admitted.isProbe) return;
  await admissionStore.withdraw(endpoint.id, admitted, breaker, clock());
}

/** A newer delivery of its group is sent instead of it, or may come until a time. */
export async function coalesce(
  context: ConcludeContext & EndUnsentContext,
  ready: ReadyDelivery,
  coalesced: Coalesced,
): Promise<DeliverResult> {
  if (coalesced.kind === 'coalescing') {
    return { kind: 'later', delayMs: delayUntil(context, coalesced.until) };
  }
  const { kind } = await endUnsent(context, ready, { kind: 'superseded', by: coalesced.by });
  if (kind === 'changed') return AGAIN_AT_ONCE;
  const { accountId, endpointId, hasWaited } = ready.run;
  if (hasWaited) context.releaser.grant(accountId, endpointId, LET_GO_BY_SUPERSEDED);
  return DONE;
}

// No attempt was made, so its permits are free at once. In strict order the delivery keeps its turn.
export async function letGo(
  context: ConcludeContext,
  ready: ReadyDelivery,
  admitted: Admitted,
  outcome: Exclude<SendOutcome, { kind: 'sent' }>,
): Promise<DeliverResult> {
  await withdraw(context, ready, admitted);
  return await putOffUnsent(context, ready, outcome);
}

export async function putOffUnsent(
  context: ConcludeContext,
  ready: ReadyDelivery,
  outcome: Exclude<SendOutcome, { kind: 'sent' }>,
): Promise<DeliverResult> {
  if (outcome.kind === 'interrupted') return outcome;
  if (outcome.kind === 'paused') {
    const refusal = { kind: 'refused', reason: 'no_token', wakeUpAt: outcome.until } as const;
    return { kind: 'later', delayMs: await hold(context, ready, refusal) };
  }
  const { eventId, endpointId } = ready.run;
  const traced = ready.event.trace && { traceId: ready.event.trace.traceId };
  context.emit({ name: 'delivery.unsent', eventId, endpointId, error: outcome.error, ...traced });
  return { kind: 'later', delayMs: UNSENT_DELAY_MS };
}

/**
 * What follows from a recorded attempt.
 *
 * @param hasEnded whether a delivery has ended, so that another one may follow.
 */
export async function conclude(
  context: ConcludeContext,
  ready: ReadyDelivery,
  sent: SentAttempt,
  decision: Decision,
  { effect, letsOthersGo }: RecordedAttempt,
  abortSignal: AbortSignal,
  hasEnded = decision.kind !== 'retry',
): Promise<void> {
  announceAttempt(context, ready, sent, effect && decision);
  await refuseToken(context, ready, sent, abortSignal);
  // Another worker has continued it.
  if (!effect) return;
  const { run, endpoint, event } = ready;
  const { attempt, wish } = sent;
  const input = {
    endpoint,
    effect,
    delivered: attempt.outcome === 'delivered',
    disabledBy: wish.disabledBy,
    hasEnded,
    letsOthersGo,
    hasWaited: run.hasWaited,
  };
  // The attempt is recorded and not repeated, so nothing else would do this. It does not wait for unreadable
  // secrets: that can take days, and would block a worker's slot.
  const aftermath = await persistFor(context, run, () => afterAttempt(context, input), abortSignal);
  const isExhausted = decision.kind === 'exhausted';
  const events = eventsOfAttempt({ event, endpoint, attempt, isExhausted, ...aftermath });
  context.operationalEvents.raise(run.accountId, events);
}

// Before the next attempt of any worker.
async function refuseToken(
  context: ConcludeContext,
  { run, endpoint }: ReadyDelivery,
  { refusedToken }: SentAttempt,
  abortSignal: AbortSignal,
): Promise<void> {
  const { auth } = endpoint;
  if (refusedToken === undefined || auth?.type !== 'oauth2') return;
  const refuse = () => context.accessTokens.refuse({ ...endpoint, auth }, refusedToken);
  await persistFor(context, run, refuse, abortSignal);
}

/**
 * Announce an attempt, and the end of its delivery if it has ended.
 *
 * @param decision `undefined`: another worker has continued the delivery.
 */
export function announceAttempt(
  context: ConcludeContext,
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

// Not for a delivery that was held, which waited for its receiver, nor for one that was taken over, which
// waited for this service.
function firstLagOf(
  { run, trigger, begunAt }: ReadyDelivery,
  { number, startedAt }: Attempt,
): { readonly firstLagMs?: number } {
  const wasHeld = run.hasWaited && !run.wasTakenOver;
  if (number > 1 || trigger !== 'schedule' || wasHeld) return {};
  return { firstLagMs: Math.max(startedAt - begunAt, 0) };
}
