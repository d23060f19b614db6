import { announceEnd } from '../domain/announce-end';
import type { Attempt } from '../domain/attempt';
import { deliveryIdOf } from '../domain/delivery';
import type { DisabledReason, Endpoint } from '../domain/endpoint';
import type { GrowingSignal } from '../domain/signal';
import { RATE_WINDOW_MS } from '../endpoints/admission/limits';
import { disable, disableFailing, wasNotEnabledSince } from '../endpoints/disable';
import { eventsOfAttempt } from '../endpoints/operational-events';
import type { Decision } from './decide-next';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { persistFor, type RecordedAttempt } from './record-attempt';
import type { AttemptEffect } from './redis-attempt-store';
import type { SentAttempt } from './send-attempt';

export interface AfterAttemptInput {
  readonly endpoint: Endpoint;
  /** The effect of the attempt's record on the endpoint. */
  readonly effect: AttemptEffect;
  readonly delivered: boolean;
  /** How the receiver refused all further deliveries, if it did. */
  readonly disabledBy: Exclude<DisabledReason, 'client' | 'failing'> | undefined;
  /** Whether its end lets others begin, of its endpoint or its group. */
  readonly letsOthersGo: boolean;
  /** Whether the delivery had been held or tried before: then others may be held behind it. */
  readonly hasWaited: boolean;
  /** Whether it is in the lane of the whole endpoint, whose job goes on by itself. */
  readonly isInLane: boolean;
}

/** The effects on the endpoint. */
export interface Aftermath {
  /** Why this attempt disabled it, if it did. */
  readonly disabledAs: DisabledReason | undefined;
  /** When the failures began that this success ends, if the account got a message about them. */
  readonly recoveredFrom: number | undefined;
}

// Attempts at a hanging endpoint often began together, and time out together. This spreads the next ones over
// some seconds: all of them at once would disturb other endpoints.
const SLOW_PAUSE_MS = 5_000;
// Each success releases enough deliveries to double the number of running attempts, until no permit is left.
const GROWTH = 2;

/**
 * What follows from a recorded attempt.
 *
 * @param hasEnded whether a delivery has ended, so that another one may follow.
 */
export async function conclude(
  parts: AttemptParts,
  ready: ReadyDelivery,
  sent: SentAttempt,
  decision: Decision,
  { effect, letsOthersGo }: RecordedAttempt,
  abortSignal: AbortSignal,
  hasEnded = decision.kind !== 'retry',
): Promise<void> {
  announceAttempt(parts, ready, sent, effect && decision);
  await refuseToken(parts, ready, sent, abortSignal);
  // Another worker has continued it.
  if (!effect) return;
  const { run, endpoint, event } = ready;
  const { attempt, wish } = sent;
  const input = {
    endpoint,
    effect,
    delivered: attempt.outcome === 'delivered',
    disabledBy: wish.disabledBy,
    letsOthersGo: letsOthersGo || (hasEnded && run.lane?.isBesideJobs === true),
    hasWaited: run.hasWaited,
    isInLane: run.lane !== undefined && !run.lane.isLine,
  };
  // The attempt is recorded and not repeated, so nothing else would do this. It does not wait for unreadable
  // secrets: that can take days, and would block a worker's slot.
  const aftermath = await persistFor(parts, run, () => afterAttempt(parts, input), abortSignal);
  const isExhausted = decision.kind === 'exhausted';
  const events = eventsOfAttempt({ event, endpoint, attempt, isExhausted, ...aftermath });
  parts.operationalEvents.raise(run.accountId, events);
}

/**
 * Announce an attempt, and the end of its delivery if it has ended.
 *
 * @param decision `undefined`: another worker has continued the delivery.
 */
export function announceAttempt(
  parts: AttemptParts,
  ready: ReadyDelivery,
  { attempt, span }: SentAttempt,
  decision: Decision | undefined,
): void {
  const { run, event, begunAt } = ready;
  const { accountId, eventId, endpointId } = run;
  const attempted: GrowingSignal<'delivery.attempted'> = {
    name: 'delivery.attempted',
    deliveryId: deliveryIdOf({ eventId, endpointId }),
    accountId,
    eventId,
    endpointId,
    type: event.type,
    attempt: attempt.number,
    outcome: attempt.outcome,
    durationMs: attempt.durationMs,
    ...attempt.timings,
  };
  const firstLagMs = firstLagOf(ready, attempt);
  if (firstLagMs !== undefined) attempted.firstLagMs = firstLagMs;
  if (attempt.responseStatus !== undefined) attempted.responseStatus = attempt.responseStatus;
  if (decision?.kind === 'retry') attempted.nextDelayMs = decision.delayMs;
  if (event.requestId !== undefined) attempted.requestId = event.requestId;
  if (span !== undefined) attempted.span = span;
  parts.emit(attempted);
  if (decision === undefined || decision.kind === 'retry' || decision.kind === 'stays_delivered') return;
  announceEnd(parts, run, decision.kind, begunAt, { trace: span?.context, requestId: event.requestId });
}

// Not for a delivery that was held, which waited for its receiver, nor for one that was taken over, which
// waited for this service.
function firstLagOf(
  { run, trigger, begunAt }: ReadyDelivery,
  { number, startedAt }: Attempt,
): number | undefined {
  const wasHeld = run.hasWaited && !run.wasTakenOver;
  if (number > 1 || trigger !== 'schedule' || wasHeld) return undefined;
  return Math.max(startedAt - begunAt, 0);
}

// Before the next attempt of any worker.
async function refuseToken(
  parts: AttemptParts,
  { run, endpoint }: ReadyDelivery,
  { refusedToken }: SentAttempt,
  abortSignal: AbortSignal,
): Promise<void> {
  const { auth } = endpoint;
  if (refusedToken === undefined || auth?.type !== 'oauth2') return;
  const refuse = () => parts.accessTokens.refuse({ ...endpoint, auth }, refusedToken);
  await persistFor(parts, run, refuse, abortSignal);
}

/**
 * Apply the effects of a recorded attempt to its endpoint and its held deliveries. At a healthy endpoint:
 * nothing.
 */
export async function afterAttempt(parts: AttemptParts, input: AfterAttemptInput): Promise<Aftermath> {
  const { heldDeliveries, clock } = parts;
  const { endpoint, effect } = input;
  const { failingSince, hasClosed, recoveredFrom } = effect;
  const disabledAs = await disableByReceiver(parts, input);
  const isGivenUp = failingSince !== undefined && (await disableFailing(parts, endpoint, failingSince));
  if (hasClosed) await heldDeliveries.askForWakeUp(addressOf(endpoint), clock());
  await countBreaker(parts, endpoint, effect);
  announceBreaker(parts, endpoint, effect);
  letOthersGo(parts, input);
  return { disabledAs: isGivenUp ? 'failing' : disabledAs, recoveredFrom };
}

async function disableByReceiver(
  parts: AttemptParts,
  { endpoint, disabledBy }: AfterAttemptInput,
): Promise<DisabledReason | undefined> {
  if (disabledBy === undefined) return undefined;
  const { accountId, id } = endpoint;
  const { hasChanged } = await disable(parts, accountId, id, disabledBy, wasNotEnabledSince(endpoint));
  return hasChanged ? disabledBy : undefined;
}

async function countBreaker(
  { openBreakers, clock }: AttemptParts,
  endpoint: Endpoint,
  { openedUntil, hasClosed }: AttemptEffect,
): Promise<void> {
  if (openedUntil !== undefined) await openBreakers.enter(addressOf(endpoint), openedUntil, clock());
  if (hasClosed) await openBreakers.leave(addressOf(endpoint));
}

function announceBreaker(
  { clock, emit }: AttemptParts,
  endpoint: Endpoint,
  { failures, openedUntil, hasClosed }: AttemptEffect,
): void {
  if (hasClosed) emit({ name: 'breaker.closed', ...addressOf(endpoint) });
  if (openedUntil === undefined) return;
  emit({ name: 'breaker.opened', ...addressOf(endpoint), failures, openForMs: openedUntil - clock() });
}

// By memory alone: another process releases the deliveries that it knows of, and its sweep finds the rest.
function letOthersGo(
  { releaser, concurrency, clock }: AttemptParts,
  { endpoint, effect, delivered, letsOthersGo, hasWaited, isInLane }: AfterAttemptInput,
): void {
  const { accountId, id } = endpoint;
  if (effect.openedUntil !== undefined) return releaser.wakeUpAt(accountId, id, effect.openedUntil);
  if (effect.isRateWaitedFor) releaser.wakeUpAt(accountId, id, clock() + RATE_WINDOW_MS + 1);
  if (letsOthersGo) releaser.wakeUpAt(accountId, id, clock());
  if (isInLane) return;
  if (!hasWaited && !releaser.isWatching(id)) return;
  if (!delivered && concurrency.isSlow(id)) releaser.wakeUpAt(accountId, id, clock() + SLOW_PAUSE_MS);
  else releaser.grant(accountId, id, Math.min(concurrency.freePermits(id), delivered ? GROWTH : 1));
}

function addressOf({ accountId, id: endpointId }: Endpoint) {
  return { accountId, endpointId };
}
