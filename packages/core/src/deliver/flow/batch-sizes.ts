import type { EndpointId } from '../../domain/endpoint';
import { createLru } from '../../platform/caches';

interface Smaller {
  readonly most: number;
  /** Milliseconds since the Unix epoch. */
  readonly until: number;
}

const REMEMBERED_ENDPOINTS = 10_000;
// After this a receiver may have learned to take more.
const SMALLER_FOR_MS = 10 * 60_000;

/** How many events a request to an endpoint has at present, where its receiver found one too large. */
export class BatchSizes {
  readonly #smaller = createLru<EndpointId, Smaller>(REMEMBERED_ENDPOINTS);

  mostOf(endpointId: EndpointId, maxEvents: number, now: number): number {
    const smaller = this.#smaller.get(endpointId);
    return smaller && smaller.until > now ? Math.min(smaller.most, maxEvents) : maxEvents;
  }

  halve(endpointId: EndpointId, most: number, now: number): void {
    this.#smaller.set(endpointId, { most, until: now + SMALLER_FOR_MS });
  }
}
