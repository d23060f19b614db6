import type { EndpointId } from '../../domain/endpoint';
import { createLru } from '../../platform/caches';

interface Smaller {
  readonly most: number;
  /** Milliseconds since the Unix epoch. */
  readonly until: number;
}

const REMEMBERED_ENDPOINTS = 10_000;
// After this time, larger requests are tried again.
const SMALLER_FOR_MS = 10 * 60_000;

/** How many events a request to an endpoint may have, after its receiver refused a larger one (413). */
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
