import { type PastHold, wasHeldAt } from '../domain/delivery';
import type { DeliveryState } from '../domain/delivery-log';
import { discardsWhatIsDue, type Endpoint } from '../domain/endpoint';

/**
 * Whether a delivery that is due ends unsent: a client has discarded what was held, and this was; or its endpoint is disabled,
 * and discards what is due then.
 *
 * A request that was acknowledged is sent: one after the discarding, and any at an endpoint that is disabled. So is an event that
 * was accepted after the discarding: a lane or a batch may tell of holds from before. What is held already when the endpoint is
 * disabled, or begins to discard, stays held.
 *
 * @param holds why its job was held. Those before the former attempt may be among them.
 */
export function isDiscarded(
  endpoint: Endpoint,
  holds: readonly PastHold[] | undefined,
  { attempts, lastRequestedAt }: Pick<DeliveryState, 'attempts' | 'lastRequestedAt'>,
  acceptedAt: number,
): boolean {
  const { heldDiscard } = endpoint;
  const previousStartedAt = attempts.at(-1)?.startedAt ?? 0;
  const own = holds?.filter(({ since }) => since >= previousStartedAt) ?? [];
  const sinceAt = Math.max(acceptedAt, lastRequestedAt ?? 0);
  if (heldDiscard && wasHeldAt(own, heldDiscard.at) && sinceAt <= heldDiscard.at) return true;
  return discardsWhatIsDue(endpoint) && lastRequestedAt === undefined && own.length === 0;
}

/** Whether a delivery of it that is on its way may end so. A request for one has to be recorded, or it would end with it. */
export function mayDiscard(endpoint: Endpoint): boolean {
  return endpoint.heldDiscard !== undefined || discardsWhatIsDue(endpoint);
}
