import type { EndpointId } from '../endpoints/endpoint';
import type { WaitingHere } from './hold';
import type { Lanes } from './lanes';

export interface IsStuckDeps {
  readonly lanes: Pick<Lanes, 'isSlow'>;
  readonly waitingHere: WaitingHere;
}

/**
 * Whether what comes for an endpoint would only go to its gate and wait: it is slow, and others wait there for a place
 * already. As far as this process knows, by memory alone.
 */
export function createIsStuck({ lanes, waitingHere }: IsStuckDeps) {
  return function isStuck(endpointId: EndpointId): boolean {
    return waitingHere.has(endpointId) && lanes.isSlow(endpointId);
  };
}

export type IsStuck = ReturnType<typeof createIsStuck>;
