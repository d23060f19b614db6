import type { EndpointId } from '../endpoints/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { AccountId } from '../events/event';
import type { Clock } from '../runtime/clock';
import { phaseOf } from './breaker';
import type { WaitingHere, WakeQueue } from './hold';
import type { Parked } from './parked';
import type { BreakerStore } from './redis-breaker-store';
import type { ParkedStore } from './redis-parked-store';
import type { RemoveGate } from './redis-remove-gate';

/** Puts parked deliveries back onto the deliveries queue. Doing it again is harmless. */
export interface ReleaseQueue {
  release(accountId: AccountId, endpointId: EndpointId, parked: readonly Parked[]): Promise<void>;
}

export interface OpenGateDeps {
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly breakerStore: Pick<BreakerStore, 'readBreaker'>;
  readonly parkedStore: Pick<ParkedStore, 'listParked' | 'forget'>;
  readonly removeGate: RemoveGate;
  readonly releaseQueue: ReleaseQueue;
  readonly wakeQueue: WakeQueue;
  readonly waitingHere: WaitingHere;
  readonly clock: Clock;
}

// While deliveries flow, each that ends lets the next one through. This is for when the worker that knows dies.
const SAFETY_WAKE_MS = 10_000;

/**
 * Lets up to `places` of the deliveries that wait at an endpoint's gate through, as far as it is enabled and its
 * breaker allows: the longest waiting first.
 */
export function createOpenGate(deps: OpenGateDeps) {
  const {
    endpointStore,
    breakerStore,
    parkedStore,
    removeGate,
    releaseQueue,
    wakeQueue,
    waitingHere,
    clock,
  } = deps;

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
    await release(accountId, endpointId, phase === 'half_open' ? 1 : places);
  };

  // Onto the queue before out of the index: what a crash leaves between the two is released once more, which the
  // queue does not notice.
  async function release(accountId: AccountId, endpointId: EndpointId, places: number): Promise<void> {
    const parked = await parkedStore.listParked(endpointId, places);
    await releaseQueue.release(accountId, endpointId, parked);
    await parkedStore.forget(endpointId, parked);
    if (parked.length < places) return void waitingHere.delete(endpointId);
    await wakeQueue.wake(accountId, endpointId, clock() + SAFETY_WAKE_MS);
  }
}

export type OpenGate = ReturnType<typeof createOpenGate>;
