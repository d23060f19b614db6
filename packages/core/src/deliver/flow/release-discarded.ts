import type { Endpoint } from '../../domain/endpoint';
import type { EndpointStore } from '../../endpoints/redis-endpoint-store';
import type { Clock } from '../../platform/clock';
import type { DeliveryHolds } from '../../queue/bullmq-delivery-holds';
import type { HeldDeliveries } from '../../queue/bullmq-held-deliveries';

interface ReleaseDiscardedParts {
  readonly endpointStore: EndpointStore;
  readonly heldDeliveries: HeldDeliveries;
  readonly deliveryHolds: DeliveryHolds;
  readonly clock: Clock;
}

interface ReleasedSome {
  /** How many are still held. */
  readonly left: number;
  /** Milliseconds since the Unix epoch. */
  readonly wakeUpAgainAt: number;
}

// Nothing is sent for them: each ends as cancelled when it runs. If workers are at so many, the others of lines that wake-ups leave alone
// look for themselves: within ten seconds, or once they have waited for others of a request.
const RELEASED_AT_ONCE = 500;
const AGAIN_MS = 100;

/**
 * Release some of an endpoint's held deliveries that a client has discarded. When none of them is held any more, the endpoint's
 * record says so, and its wake-ups do not look for them again.
 *
 * @returns `undefined`: there were none, or workers are at all of them. The wake-up goes on as usual.
 */
export async function releaseDiscarded(
  { endpointStore, heldDeliveries, deliveryHolds, clock }: ReleaseDiscardedParts,
  endpoint: Endpoint | undefined,
  wakeUpWasDueAt: number | undefined,
): Promise<ReleasedSome | undefined> {
  if (endpoint?.heldDiscard === undefined || endpoint.heldDiscard.isDone) return undefined;
  const { accountId, id: endpointId } = endpoint;
  const { at } = endpoint.heldDiscard;
  const address = { accountId, endpointId };
  const only = await deliveryHolds.findHeldAt(address, at, RELEASED_AT_ONCE);
  if (only.length === 0) {
    await endpointStore.update(accountId, endpointId, (current) => withoutRest(current, at));
    return undefined;
  }
  const now = clock();
  const wakeUpAgainAt = now + AGAIN_MS;
  const request = { most: only.length, only, wakeUpWasDueAt, wakeUpAgainAt, now };
  const { released, left } = await heldDeliveries.release(address, request);
  return released > 0 ? { left, wakeUpAgainAt } : undefined;
}

/** The client may have discarded more meanwhile. */
function withoutRest(endpoint: Endpoint, at: number): Endpoint {
  if (endpoint.heldDiscard?.at !== at) return endpoint;
  return { ...endpoint, heldDiscard: { at, isDone: true } };
}
