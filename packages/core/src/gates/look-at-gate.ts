import type { EndpointId } from '../endpoints/endpoint';
import type { AccountId } from '../events/event';
import type { Clock } from '../runtime/clock';
import { SAFETY_WAKE_MS, type WakeQueue } from './hold';
import type { InFlightWindows } from './in-flight-windows';
import type { Lanes } from './lanes';
import type { OpenGate, ReleaseQueue } from './open-gate';
import type { TurnStore } from './redis-turn-store';

export interface LookAtGateDeps {
  readonly turnStore: Pick<TurnStore, 'findNext'>;
  readonly releaseQueue: Pick<ReleaseQueue, 'releaseLost'>;
  readonly windows: Pick<InFlightWindows, 'freePlaces'>;
  readonly lanes: Pick<Lanes, 'isSlow'>;
  readonly wakeQueue: WakeQueue;
  readonly openGate: OpenGate;
  readonly clock: Clock;
}

// How many deliveries a look lets through at once; each that ends well lets more of them through.
const PLACES = 2;

/**
 * Looks at a gate when its time has come, and sees to it that the delivery whose turn it is has a job: without one,
 * after Redis has lost data say, all behind it would wait for ever. A job whose delivery has ended passes the turn.
 */
export function createLookAtGate(deps: LookAtGateDeps) {
  const { turnStore, releaseQueue, windows, lanes, wakeQueue, openGate, clock } = deps;

  return async function lookAtGate(accountId: AccountId, endpointId: EndpointId): Promise<void> {
    const next = await turnStore.findNext(endpointId);
    if (next.kind === 'under_way') await releaseQueue.releaseLost(accountId, endpointId, next.delivery);
    // While attempts are under way here, they let the next ones through.
    const places = Math.min(windows.freePlaces(endpointId), lanes.isSlow(endpointId) ? 1 : PLACES);
    if (places > 0) await openGate(accountId, endpointId, places);
    else await wakeQueue.wake(accountId, endpointId, clock() + SAFETY_WAKE_MS);
  };
}

export type LookAtGate = ReturnType<typeof createLookAtGate>;
