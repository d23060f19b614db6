import { PROBE_MS, phaseOf } from '../domain/breaker';
import type { HoldReason, LaneRun } from '../domain/delivery';
import type { Endpoint } from '../domain/endpoint';
import { lacksProof } from '../domain/verification';
import type { AdmissionAnswer } from '../endpoints/admission/redis-admission-store';
import type { NotInTurn } from '../endpoints/former-order/redis-former-order';
import type { Permit } from './flow/concurrency';
import { DISABLED_WAKE_UP_MS, SAFETY_WAKE_UP_MS, UNVERIFIED_WAKE_UP_MS } from './flow/releaser';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';

export type Admission = Admitted | Refused | Exclude<NotInTurn, { kind: 'ordering' | 'first' }>;

/** An attempt may begin. Its permit has to be released, and the attempt recorded or withdrawn. */
export interface Admitted {
  readonly kind: 'admitted';
  readonly permit: Permit;
  /** The key that counts it, at an endpoint with a rate limit. */
  readonly attemptKey: string | undefined;
  /** Whether it is the one attempt that a half-open breaker lets through. */
  readonly isProbe: boolean;
}

export interface Refused {
  readonly kind: 'refused';
  readonly reason: HoldReason;
  /** When to ask again. Milliseconds since the Unix epoch. */
  readonly wakeUpAt: number;
  /** Whether it waits for a slot that an attempt at any endpoint may free. */
  readonly awaitsSlot?: boolean;
  /** Whether another delivery of its group goes first, and releases this one when it ends. */
  readonly isBehind?: boolean;
}

// For the work before and after the request: long enough that no attempt stops counting within a second of
// its arrival.
const LEASE_MARGIN_MS = 5_000;
// The awaited event may happen unseen while the job is being delayed. So it asks again soon.
const SOON_MS = 100;

/**
 * Whether an attempt may begin now. For an enabled, verified, healthy endpoint that is not busy and has no rate
 * limit or strict ordering, this only reads memory. For others it is one script that takes everything or nothing.
 */
export async function admit(parts: AttemptParts, ready: ReadyDelivery): Promise<Admission> {
  const { concurrency, verificationPolicy, clock } = parts;
  const { endpoint, breaker, run } = ready;
  const now = clock();
  if (endpoint.status === 'disabled') return refused('disabled', now + SOON_MS);
  if (lacksProof(endpoint) && (await verificationPolicy.isWaiting(endpoint))) {
    return refused('unverified', now + SOON_MS);
  }
  if (phaseOf(breaker, now) === 'open') return refused('breaker_open', breaker.openUntil);
  const permit = await concurrency.takePermit(endpoint, breaker.failures > 0, run.hasWaited);
  if (permit === 'no_slot') return { ...refused('busy', now + SAFETY_WAKE_UP_MS), awaitsSlot: true };
  if (permit === 'endpoint_full') return refused('busy', now + SOON_MS);
  if (!isLimited(parts, ready)) return { kind: 'admitted', permit, attemptKey: undefined, isProbe: false };
  let admission: Admission | undefined;
  try {
    admission = await ask(parts, ready, permit);
    return admission;
  } finally {
    // Also when Redis failed.
    if (admission?.kind !== 'admitted') concurrency.releasePermit(permit, undefined);
  }
}

function isLimited(parts: AttemptParts, ready: ReadyDelivery): boolean {
  const { endpoint, breaker } = ready;
  return breaker.openUntil > 0 || endpoint.rateLimit !== undefined || takesTurns(parts, ready);
}

/** With `RECORD_FORM=former`: whether it takes turns by its job. Otherwise one that has to wait is in a lane. */
function takesTurns({ formerOrder }: AttemptParts, { endpoint, run }: ReadyDelivery): boolean {
  return formerOrder !== undefined && endpoint.ordering !== 'none' && !run.lane;
}

function refused(reason: HoldReason, wakeUpAt: number): Refused {
  return { kind: 'refused', reason, wakeUpAt };
}

async function ask(parts: AttemptParts, ready: ReadyDelivery, permit: Permit): Promise<Admission> {
  const attemptKey = `${ready.run.eventId} ${parts.clock()}`;
  const response = await askLimits(parts, ready, attemptKey);
  const now = parts.clock();
  switch (response.kind) {
    case 'admitted':
      return {
        kind: 'admitted',
        permit,
        attemptKey: ready.endpoint.rateLimit === undefined ? undefined : attemptKey,
        isProbe: response.isProbe,
      };
    case 'breaker_open':
      return refused('breaker_open', Math.min(response.openUntil, now + PROBE_MS));
    case 'rate_limited':
      return refused('rate_limited', now + Math.min(response.nextInMs, SAFETY_WAKE_UP_MS));
    case 'ordering':
      return {
        ...refused('ordering', now + (response.isSoon ? SOON_MS : lookAgainMs(ready))),
        isBehind: true,
      };
    case 'first':
      return refused('ordering', now + SOON_MS);
    case 'superseded':
    case 'coalescing':
      return response;
  }
}

// A delivery that ends releases the next one of its group. It may have ended before this one was held: the next wake-up,
// which comes soon, notices that. A delivery that is still behind another one is not checked again and again.
function lookAgainMs({ endpoint, run }: ReadyDelivery): number {
  return endpoint.ordering === 'group' && run.hasWaited ? SAFETY_WAKE_UP_MS : SOON_MS;
}

/**
 * Whether a delivery may go in the batch of another one that was admitted, at an endpoint whose rate limit counts
 * events. Gives the key that counts it.
 */
export async function admitToBatch(parts: AttemptParts, ready: ReadyDelivery): Promise<string | undefined> {
  const { endpoint, run } = ready;
  const { id, rateLimit, timeoutMs = parts.attemptTimeoutMs } = endpoint;
  const attemptKey = `${run.eventId} ${parts.clock()}`;
  const leaseMs = timeoutMs + LEASE_MARGIN_MS;
  // Other deliveries that wait for the limit came later than the one that this goes with.
  const request = { rateLimit, attemptKey, leaseMs, hasWaited: true };
  const [{ kind }] = await parts.atomic([parts.admissionStore.admit(id, request, parts.clock())]);
  return kind === 'admitted' ? attemptKey : undefined;
}

// In the script of this turn of the event loop, together with the requests of others.
async function askLimits(
  parts: AttemptParts,
  ready: ReadyDelivery,
  attemptKey: string,
): Promise<AdmissionAnswer | NotInTurn> {
  const { endpoint, event, run } = ready;
  const { admissionStore, oldestEvents, formerOrder, atomic, clock } = parts;
  const { id, rateLimit, timeoutMs = parts.attemptTimeoutMs } = endpoint;
  const leaseMs = timeoutMs + LEASE_MARGIN_MS;
  const admitted = admissionStore.admit(
    id,
    { rateLimit, attemptKey, leaseMs, hasWaited: run.hasWaited },
    clock(),
  );
  if (formerOrder && takesTurns(parts, ready)) {
    return await formerOrder.admit(endpoint, event, oldestEvents, admitted);
  }
  return (await atomic([admitted]))[0];
}

/**
 * A held delivery's job comes back after this time and is checked again, even if its entry was lost; a
 * missing event is noticed then. Usually nothing waits for it: wake-ups release the deliveries that may go.
 */
const BOUND_MS = 3_600_000;
function boundMs(random: () => number): number {
  return Math.round(BOUND_MS * (1 + random()));
}

/** The same for a lane. The process that changed its endpoint may have died before it asked for a wake-up. */
const SELDOM_MS: Partial<Record<HoldReason, number>> = {
  disabled: DISABLED_WAKE_UP_MS,
  unverified: UNVERIFIED_WAKE_UP_MS,
};

/**
 * Enter a delivery among the held ones. Waiting uses no attempt. Other deliveries of the endpoint that would
 * be taken next only to be refused are held together with it.
 *
 * @param batch those that are held with it, as they have one job.
 * @returns the delay of its job in milliseconds: between one hour and two, so that deliveries held together
 *   do not come back together.
 */
export async function hold(
  parts: AttemptParts,
  ready: ReadyDelivery,
  refusal: Refused,
  batch: readonly ReadyDelivery[] = [ready],
): Promise<number> {
  const { lane } = ready.run;
  if (lane === undefined) return await holdJob(parts, ready, refusal, batch);
  return await holdLane(parts, ready, lane, refusal);
}

/**
 * All that are in the lane are held with its first one. Whoever changes the endpoint asks for a wake-up. A line is held like a delivery
 * with a job.
 */
async function holdLane(
  parts: AttemptParts,
  ready: ReadyDelivery,
  lane: LaneRun,
  refusal: Refused,
): Promise<number> {
  const { releaser, clock, random } = parts;
  const { run, previousStartedAt, openUntil } = ready;
  const { reason, wakeUpAt } = refusal;
  const now = clock();
  await lane.hold({ reason, since: now, wakeUpAt, previousStartedAt });
  if (lane.isLine) releaser.wakeUpAt(run.accountId, run.endpointId, wakeUpAt);
  announceHeld(parts, ready, refusal);
  const delayMs = lane.isLine ? boundMs(random) : (SELDOM_MS[reason] ?? Math.max(wakeUpAt - now, 0));
  return Math.min(delayMs, leftOf(openUntil, now));
}

/**
 * All that are in the lane wait until more are in it, or their time is over.
 *
 * @param fullAt it goes on as soon as so many are in it.
 * @returns `undefined`: they are, and it is not held.
 */
export async function waitUntilFull(
  parts: AttemptParts,
  ready: ReadyDelivery,
  lane: LaneRun,
  refusal: Refused,
  fullAt: number,
): Promise<number | undefined> {
  const { reason, wakeUpAt } = refusal;
  const { previousStartedAt, openUntil } = ready;
  const now = parts.clock();
  const isHeld = await lane.hold({ reason, since: now, previousStartedAt, fullAt });
  if (!isHeld) return undefined;
  announceHeld(parts, ready, refusal);
  return Math.min(Math.max(wakeUpAt - now, 0), leftOf(openUntil, now));
}

function announceHeld(
  { releaser, emit }: AttemptParts,
  { run, event }: ReadyDelivery,
  { reason, awaitsSlot }: Refused,
): void {
  const { accountId, endpointId, eventId } = run;
  if (awaitsSlot) releaser.awaitSlot(accountId, endpointId);
  const traced = event.trace && { traceId: event.trace.traceId };
  emit({ name: 'delivery.held', accountId, endpointId, eventId, reason, ...traced });
}

/** It is looked at before its event goes. */
function leftOf(openUntil: number, now: number): number {
  return Math.max(Math.round(openUntil - now), SOON_MS);
}

async function holdJob(
  parts: AttemptParts,
  ready: ReadyDelivery,
  refusal: Refused,
  batch: readonly ReadyDelivery[],
): Promise<number> {
  const { heldDeliveries, formerOrder, releaser, clock, random, emit } = parts;
  const { run, endpoint, previousStartedAt } = ready;
  const { accountId, endpointId, eventId } = run;
  const { acceptedAt, trace } = ready.event;
  const { reason, wakeUpAt, awaitsSlot } = refusal;
  const address = { accountId, endpointId };
  const leftMs = leftOf(ready.openUntil, clock());
  const holdsOthers = run.batch === undefined && isRefusedForAll(endpoint, refusal);
  const othersForMs = holdsOthers ? Math.min(BOUND_MS, leftMs) : undefined;
  if (!refusal.isBehind) await formerOrder?.markReady(endpoint, [{ eventId, acceptedAt }]);
  const deliveries = batch.map(({ event }) => ({ eventId: event.id, acceptedAt: event.acceptedAt }));
  const ofBatch = run.batch && { jobId: run.batch.jobId, deliveries };
  const held = { eventId, acceptedAt, previousStartedAt, together: ofBatch };
  const others = await heldDeliveries.enter(address, held, wakeUpAt, reason, othersForMs);
  releaser.wakeUpAt(accountId, endpointId, wakeUpAt);
  if (awaitsSlot) releaser.awaitSlot(accountId, endpointId);
  const traced = trace && { traceId: trace.traceId };
  emit({ name: 'delivery.held', ...address, eventId, reason, ...traced });
  const along = batch.map(({ event }) => event.id).filter((id) => id !== eventId);
  for (const each of [...along, ...others])
    emit({ name: 'delivery.held', ...address, eventId: each, reason });
  return Math.min(boundMs(random), leftMs);
}

/**
 * Whether the endpoint's next deliveries would be refused as well. In strict order each one has to be
 * checked, which gives it its position. A rate limit has room again before the next ones are taken.
 */
function isRefusedForAll({ ordering }: Endpoint, { reason, awaitsSlot }: Refused): boolean {
  return ordering === 'none' && !awaitsSlot && reason !== 'rate_limited';
}
