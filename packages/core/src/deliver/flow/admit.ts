import type { AccountId } from '../../domain/account';
import { type BreakerState, PROBE_MS, phaseOf } from '../../domain/breaker';
import type { HoldReason } from '../../domain/delivery';
import type { Endpoint, EndpointId } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import type { Emit } from '../../domain/signal';
import type { AdmissionAnswer, AdmissionStore } from '../../endpoints/flow/redis-admission-store';
import type { Clock } from '../../platform/clock';
import type { HeldDeliveries } from '../../queue/bullmq-held-deliveries';
import type { OldestEvents } from '../../queue/bullmq-oldest-events';
import type { Concurrency, Place } from './concurrency';
import { type Releaser, SAFETY_WAKE_UP_MS } from './releaser';

export type Admission = Admitted | Refused;

/** An attempt may begin. Whoever was admitted has to leave the place, and to record the attempt or withdraw it. */
export interface Admitted {
  readonly kind: 'admitted';
  readonly place: Place;
  /** What it is counted by at an endpoint with a rate limit. */
  readonly attemptKey: string | undefined;
  /** Whether it is the one attempt that a half-open breaker lets through. */
  readonly isProbe: boolean;
}

export interface Refused {
  readonly kind: 'refused';
  readonly reason: HoldReason;
  /** When to look again. Milliseconds since the Unix epoch. */
  readonly wakeUpAt: number;
  /** Whether it waits for a slot, whichever endpoint's attempt frees it. */
  readonly awaitsSlot?: boolean;
}

export interface AdmitDeps {
  readonly admissionStore: Pick<AdmissionStore, 'admit'>;
  readonly oldestEvents: Pick<OldestEvents, 'hasOlder'>;
  readonly concurrency: Pick<Concurrency, 'enter' | 'leave'>;
  /** How long an attempt may take at an endpoint that says nothing else. Milliseconds. */
  readonly attemptTimeoutMs: number;
  readonly clock: Clock;
}

export interface AdmitInput {
  readonly endpoint: Endpoint;
  readonly breaker: BreakerState;
  readonly eventId: EventId;
  readonly acceptedAt: number;
  /** Whether it was held or tried before. */
  readonly hasWaited: boolean;
}

// For what is before and after the request: long enough that no attempt stops counting within a second of its arrival.
const LEASE_MARGIN_MS = 5_000;
// What it waits for may come while its job is on its way to being delayed, unseen: so there is a look soon after.
const SOON_MS = 100;

/**
 * Whether an attempt may begin now. For an endpoint that is enabled, well, not busy and without a rate limit or strict
 * ordering this costs no more than a look into memory; for others, one script that takes all of it or nothing.
 */
export function createAdmit(deps: AdmitDeps) {
  const { admissionStore, oldestEvents, concurrency, attemptTimeoutMs, clock } = deps;

  return async function admit(input: AdmitInput): Promise<Admission> {
    const { endpoint, breaker } = input;
    const now = clock();
    if (endpoint.status === 'disabled') return refused('disabled', now + SOON_MS);
    if (phaseOf(breaker, now) === 'open') return refused('breaker_open', breaker.openUntil);
    const place = await concurrency.enter(endpoint, breaker.failures > 0, input.hasWaited);
    if (place === 'no_slot') return { ...refused('busy', now + SAFETY_WAKE_UP_MS), awaitsSlot: true };
    if (place === 'endpoint_full') return refused('busy', now + SOON_MS);
    if (!isLimited(input)) return { kind: 'admitted', place, attemptKey: undefined, isProbe: false };
    let admission: Admission | undefined;
    try {
      admission = await ask(input, place);
      return admission;
    } finally {
      // Also when Redis could not be asked.
      if (admission?.kind !== 'admitted') concurrency.leave(place, undefined);
    }
  };

  async function ask(input: AdmitInput, place: Place): Promise<Admission> {
    const attemptKey = `${input.eventId} ${clock()}`;
    const answer = await askInOrder(input, attemptKey);
    const now = clock();
    switch (answer.kind) {
      case 'admitted':
        return { kind: 'admitted', place, attemptKey, isProbe: answer.isProbe };
      case 'breaker_open':
        return refused('breaker_open', Math.min(answer.openUntil, now + PROBE_MS));
      case 'rate_limited':
        return refused('rate_limited', now + Math.min(answer.nextInMs, SAFETY_WAKE_UP_MS));
      case 'out_of_turn':
      case 'first':
        return refused('out_of_turn', now + SOON_MS);
    }
  }

  // The first one in the order may still be overtaken by what it would overtake: an event on its way from the queue.
  async function askInOrder(input: AdmitInput, attemptKey: string): Promise<AdmissionAnswer> {
    const { endpoint, eventId, acceptedAt, hasWaited } = input;
    const { accountId, id, rateLimit, timeoutMs = attemptTimeoutMs } = endpoint;
    const leaseMs = timeoutMs + LEASE_MARGIN_MS;
    const request = { eventId, acceptedAt, rateLimit, attemptKey, leaseMs, hasWaited };
    if (endpoint.ordering === 'none')
      return await admissionStore.admit(id, { ...request, ordering: 'any' }, clock());
    const answer = await admissionStore.admit(id, { ...request, ordering: 'look' }, clock());
    if (answer.kind !== 'first' || (await oldestEvents.hasOlder({ accountId, id: eventId, acceptedAt })))
      return answer;
    return await admissionStore.admit(id, { ...request, ordering: 'begin' }, clock());
  }
}

export type Admit = ReturnType<typeof createAdmit>;

function isLimited({ endpoint, breaker }: AdmitInput): boolean {
  return breaker.openUntil > 0 || endpoint.rateLimit !== undefined || endpoint.ordering === 'strict';
}

function refused(reason: HoldReason, wakeUpAt: number): Refused {
  return { kind: 'refused', reason, wakeUpAt };
}

export interface HoldDeps {
  readonly heldDeliveries: Pick<HeldDeliveries, 'enter'>;
  readonly releaser: Pick<Releaser, 'wakeUpAt' | 'awaitSlot'>;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  readonly emit: Emit;
}

export interface HoldInput {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  readonly eventId: EventId;
  readonly acceptedAt: number;
  readonly reason: HoldReason;
  /** When to look whether it may go. Milliseconds since the Unix epoch. */
  readonly wakeUpAt: number;
  /** Of the event, for the log. */
  readonly traceId?: string | undefined;
  /** Whether it waits for a slot, whichever endpoint's attempt frees it. */
  readonly awaitsSlot?: boolean | undefined;
  /** Whether what is refused to it would be refused to the endpoint's next ones as well. */
  readonly isForAll: boolean;
}

/**
 * A held delivery's job comes back to be asked again after this, whatever was forgotten; and that its event is gone
 * meanwhile is noticed then. Nothing waits for it as a rule: looks release what may go.
 */
const BOUND_MS = 3_600_000;

/**
 * Enters a delivery among the held ones. Waiting uses no attempt. Others of the endpoint that would be taken next only to be
 * refused are held along with it.
 *
 * @returns for how long its job is to be delayed, in milliseconds: between one hour and two, so that what was held together
 *   does not come back together.
 */
export function createHold({ heldDeliveries, releaser, random, emit }: HoldDeps) {
  return async function hold({
    reason,
    wakeUpAt,
    awaitsSlot = false,
    isForAll,
    traceId,
    ...delivery
  }: HoldInput): Promise<number> {
    const { accountId, endpointId, eventId, acceptedAt } = delivery;
    const address = { accountId, endpointId };
    const entry = { eventId, acceptedAt };
    const alongForMs = isForAll ? BOUND_MS : undefined;
    const along = await heldDeliveries.enter(address, entry, wakeUpAt, reason, alongForMs);
    releaser.wakeUpAt(accountId, endpointId, wakeUpAt);
    if (awaitsSlot) releaser.awaitSlot(accountId, endpointId);
    emit({
      name: 'delivery.held',
      ...address,
      eventId,
      reason,
      ...(traceId === undefined ? {} : { traceId }),
    });
    for (const each of along) emit({ name: 'delivery.held', ...address, eventId: each, reason });
    return Math.round(BOUND_MS * (1 + random()));
  };
}

export type Hold = ReturnType<typeof createHold>;
