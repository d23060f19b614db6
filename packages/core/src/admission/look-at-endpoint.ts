import type { DisabledEndpoints } from '../endpoints/redis-disabled-endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { Clock } from '../kernel/clock';
import { PROBE_MS, phaseOf } from '../model/breaker';
import type { Endpoint } from '../model/endpoint';
import type { AccountId, EventId } from '../model/event';
import type { EndpointAddress, HeldDeliveries, Released } from './held-deliveries';
import type { AdmissionStore, OrderedDelivery } from './redis-admission-store';

/** Looks at the events that are not fanned out yet. */
export interface EventHorizon {
  /** Whether one of the account's events that was accepted before this one may still bring deliveries. */
  hasOlder(event: {
    readonly accountId: AccountId;
    readonly id: EventId;
    readonly acceptedAt: number;
  }): Promise<boolean>;
}

export interface LookAtEndpointDeps {
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly disabledEndpoints: Pick<DisabledEndpoints, 'enter'>;
  readonly admissionStore: Pick<AdmissionStore, 'stand' | 'endRateWait'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'release' | 'lookDueAt'>;
  readonly eventHorizon: EventHorizon;
  readonly restoreDelivery: RestoreDelivery;
  readonly clock: Clock;
}

/** Sees to it that a delivery whose turn it is, and that has no job, gets one, or leaves the order if it has ended. */
export type RestoreDelivery = (address: EndpointAddress, eventId: EventId) => Promise<void>;

/** What came of a look, and when the next one is due, if some are held still. */
export interface Looked extends Pick<Released, 'left'> {
  readonly lookAgainAt: number;
}

/** How many may go at once, and when to look again. */
interface Allowance {
  readonly most: number;
  readonly only?: EventId;
  readonly againInMs: number;
}

/** Those that wait for a place or a turn are released as others end. So much later there is a look in any case. */
export const SAFETY_LOOK_MS = 10_000;
// Full is one process: another one may have room, and finds by its sweep what this one has held.
const FULL_LOOK_MS = 1_000;
// Fan-outs take milliseconds; one that broke off is put back for a second, one whose worker died for longer.
const HORIZON_LOOK_MS = 100;
// There may be hundreds like it in a row, one behind the other.
const RESTORED_LOOK_MS = 10;
// To a deleted endpoint nothing is sent: each one that is released ends as cancelled.
const DELETED_AT_ONCE = 500;
const DELETED_LOOK_MS = 100;

// Whoever enables it asks for a look; this is for one that died before it came to that.
const DISABLED_LOOK_MS = 600_000;

/**
 * Releases as many of an endpoint's held deliveries as there are places, as far as it is enabled and its circuit breaker,
 * its rate limit and its ordering allow. Any process may look, at any time and as often as it likes: what is released is
 * asked once more when it runs.
 */
export function createLookAtEndpoint(deps: LookAtEndpointDeps) {
  const {
    endpointStore,
    disabledEndpoints,
    admissionStore,
    heldDeliveries,
    eventHorizon,
    restoreDelivery,
    clock,
  } = deps;

  return async function lookAtEndpoint(address: EndpointAddress, places: number): Promise<Looked> {
    const { accountId, endpointId } = address;
    // When it is due is read first: what somebody asks for from here on is not overwritten.
    const lookWasDueAt = await heldDeliveries.lookDueAt(address);
    const endpoint = await endpointStore.find(accountId, endpointId);
    const { most, only, againInMs } = await allowanceOf(endpoint, places);
    const now = clock();
    const lookAgainAt = now + againInMs;
    const request = { most, only, lookWasDueAt, lookAgainAt, now };
    const { left, isMissing } = await heldDeliveries.release(address, request);
    if (left === 0 && endpoint?.rateLimit !== undefined) await admissionStore.endRateWait(endpointId);
    if (!isMissing || only === undefined) return { left, lookAgainAt };
    // After Redis has lost data, say, or a former version has delivered it: all behind it would wait for ever.
    await restoreDelivery(address, only);
    return { left, lookAgainAt: clock() + RESTORED_LOOK_MS };
  };

  async function allowanceOf(endpoint: Endpoint | undefined, places: number): Promise<Allowance> {
    if (!endpoint) return { most: DELETED_AT_ONCE, againInMs: DELETED_LOOK_MS };
    if (endpoint.status === 'disabled') {
      // One that a former version disabled is not counted yet.
      await disabledEndpoints.enter(endpoint);
      return { most: 0, againInMs: DISABLED_LOOK_MS };
    }
    const standing = await admissionStore.stand(endpoint.id, endpoint.rateLimit);
    const { breaker, rate, next } = standing;
    const now = clock();
    const phase = phaseOf(breaker, now);
    if (phase === 'open') return { most: 0, againInMs: Math.min(breaker.openUntil - now, PROBE_MS) };
    const safetyMs = places === 0 ? FULL_LOOK_MS : SAFETY_LOOK_MS;
    const againInMs = Math.min(rate.free < places ? rate.nextInMs : safetyMs, safetyMs);
    const most = Math.min(phase === 'half_open' ? 1 : places, rate.free);
    if (endpoint.ordering === 'none') return { most, againInMs };
    if (most < 1) return { most: 0, againInMs };
    // Nobody is in the order: what was held before there was one joins it when it is asked again.
    return next ? await allowanceInOrder(endpoint, next, againInMs) : { most: 1, againInMs };
  }

  async function allowanceInOrder(
    { accountId }: Endpoint,
    { eventId, acceptedAt, hasBegun }: OrderedDelivery,
    againInMs: number,
  ): Promise<Allowance> {
    const isOvertaking = !hasBegun && (await eventHorizon.hasOlder({ accountId, id: eventId, acceptedAt }));
    return isOvertaking ? { most: 0, againInMs: HORIZON_LOOK_MS } : { most: 1, only: eventId, againInMs };
  }
}

export type LookAtEndpoint = ReturnType<typeof createLookAtEndpoint>;
