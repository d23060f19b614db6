import type { Endpoint, EndpointId } from '../endpoints/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { AcceptedEvent, AccountId } from '../events/event';
import type { Clock } from '../runtime/clock';
import { phaseOf } from './breaker';
import { SAFETY_WAKE_MS, type WaitingHere, type WakeQueue } from './hold';
import type { Parked } from './parked';
import type { BreakerStore } from './redis-breaker-store';
import type { Claim, ParkedStore } from './redis-parked-store';
import type { FreePermits, PermitStore } from './redis-permit-store';
import type { RemoveGate } from './redis-remove-gate';
import type { NextInTurn, TurnStore } from './redis-turn-store';

/** Puts parked deliveries back onto the deliveries queue. Doing it again is harmless. */
export interface ReleaseQueue {
  release(accountId: AccountId, endpointId: EndpointId, parked: readonly Parked[]): Promise<void>;
  /** The same, unless the delivery has a job in either lane: it may have gone over to the slow one. */
  releaseLost(accountId: AccountId, endpointId: EndpointId, parked: Parked): Promise<void>;
}

/** Looks at the events that are not fanned out yet. */
export interface EventHorizon {
  /** Whether one of the account's events that was accepted before this one may still bring deliveries. */
  hasOlder(event: Pick<AcceptedEvent, 'accountId' | 'id' | 'acceptedAt'>): Promise<boolean>;
}

export interface OpenGateDeps {
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly breakerStore: Pick<BreakerStore, 'readBreaker'>;
  readonly parkedStore: Pick<ParkedStore, 'claimParked' | 'claimOne' | 'forget'>;
  readonly permitStore: Pick<PermitStore, 'countFree'>;
  readonly turnStore: Pick<TurnStore, 'findNext' | 'give'>;
  readonly eventHorizon: EventHorizon;
  readonly removeGate: RemoveGate;
  readonly releaseQueue: Pick<ReleaseQueue, 'release'>;
  readonly wakeQueue: WakeQueue;
  readonly waitingHere: WaitingHere;
  readonly clock: Clock;
}

// The safety wake for those that go one at a time: the queue itself sees to it that one whose worker dies comes to its end.
const TURN_WAKE_MS = 60_000;
// Fan-outs take milliseconds; one that broke off is put back for a second, one whose worker died for longer.
const HORIZON_WAKE_MS = 100;

const NO_LIMIT: FreePermits = { free: Number.POSITIVE_INFINITY, nextInMs: undefined };

/**
 * Lets up to `places` of the deliveries that wait at an endpoint's gate through, as far as it is enabled and its
 * breaker, its rate limit and its ordering allow: the longest waiting first.
 */
export function createOpenGate(deps: OpenGateDeps) {
  const { endpointStore, breakerStore, parkedStore, permitStore, turnStore, eventHorizon } = deps;
  const { removeGate, releaseQueue, wakeQueue, waitingHere, clock } = deps;

  return async function openGate(
    accountId: AccountId,
    endpointId: EndpointId,
    places: number,
  ): Promise<void> {
    const [endpoint, breaker] = await Promise.all([
      endpointStore.find(accountId, endpointId),
      breakerStore.readBreaker(endpointId),
    ]);
    if (endpoint?.status !== 'enabled') waitingHere.delete(endpointId);
    if (!endpoint) return await removeGate(endpointId);
    if (endpoint.status === 'disabled') return;
    if (places < 1) return;
    const phase = phaseOf(breaker, clock());
    if (phase === 'open') return await wakeQueue.wake(accountId, endpointId, breaker.openUntil);
    await letThrough(endpoint, phase === 'half_open' ? 1 : places);
  };

  async function letThrough(endpoint: Endpoint, places: number): Promise<void> {
    const { accountId, id, rateLimit, ordering } = endpoint;
    const permits = rateLimit === undefined ? NO_LIMIT : await permitStore.countFree(id, rateLimit);
    const wakeInMs = Math.min(permits.nextInMs ?? SAFETY_WAKE_MS, SAFETY_WAKE_MS);
    if (permits.free < 1) return await wakeQueue.wake(accountId, id, clock() + wakeInMs);
    if (ordering === 'strict') await letNextThrough(endpoint);
    else await letFirstThrough(endpoint, Math.min(places, permits.free), wakeInMs);
  }

  async function letFirstThrough(
    { accountId, id }: Endpoint,
    places: number,
    wakeInMs: number,
  ): Promise<void> {
    const claim = await parkedStore.claimParked(id, places);
    if (!claim.hasMore) waitingHere.delete(id);
    if (claim.parked.length === 0 && !claim.hasMore) return;
    // Before the release, which may be cut short: what is claimed and not on the queue then has to be looked at again.
    await wakeQueue.wake(accountId, id, clock() + wakeInMs);
    await release(accountId, id, claim);
  }

  async function letNextThrough(endpoint: Endpoint): Promise<void> {
    const { accountId, id } = endpoint;
    const next = await turnStore.findNext(id);
    if (next.kind === 'nobody') return;
    if (next.kind === 'first_in_line') {
      if (await isOvertaking(accountId, next)) {
        return await wakeQueue.wake(accountId, id, clock() + HORIZON_WAKE_MS);
      }
      // Another worker has given the turn, or one that comes before it has just been parked.
      if (!(await turnStore.give(id, next.delivery))) return await letNextThrough(endpoint);
    }
    await Promise.all([
      next.kind === 'under_way' ? undefined : releaseOne(accountId, id, next.delivery),
      wakeQueue.wake(accountId, id, clock() + TURN_WAKE_MS),
    ]);
  }

  async function isOvertaking(
    accountId: AccountId,
    { delivery, acceptedAt }: Extract<NextInTurn, { kind: 'first_in_line' }>,
  ): Promise<boolean> {
    return await eventHorizon.hasOlder({ accountId, id: delivery.eventId, acceptedAt });
  }

  // Onto the queue before out of the index: what a crash leaves between the two is released once more, which the
  // queue does not notice.
  async function release(accountId: AccountId, endpointId: EndpointId, claim: Claim): Promise<void> {
    if (claim.parked.length === 0) return;
    await releaseQueue.release(accountId, endpointId, claim.parked);
    await parkedStore.forget(endpointId, claim);
  }

  async function releaseOne(accountId: AccountId, endpointId: EndpointId, parked: Parked): Promise<void> {
    await release(accountId, endpointId, await parkedStore.claimOne(endpointId, parked));
  }
}

export type OpenGate = ReturnType<typeof createOpenGate>;
