import { type HoldReason, holdReasons, type PastHold } from '../domain/delivery';
import type { Endpoint } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import type { DeliveryHolds, LaneStanding } from '../queue/bullmq-delivery-holds';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildVerification } from '../testing/build-verification';
import { fake } from '../testing/fake';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEventId } from '../testing/unique-ids';
import { type DeliveriesParts, explainHold } from './deliveries';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const heldDeliveries = fake<HeldDeliveries>({ askForWakeUp: jest.fn(async () => {}) });

async function explain(
  endpoint: Endpoint,
  eventId = uniqueEventId(),
  holds: readonly PastHold[] = [],
  lane?: LaneStanding,
) {
  const admissionStore = new AdmissionStore(redis.client);
  const deliveryHolds = fake<DeliveryHolds>({ holdsOf: async () => holds, findLane: async () => lane });
  const verification = buildVerification(redis.client, 'required');
  const besideLanes = new BesideLanes(redis.client);
  const parts = {
    admissionStore,
    besideLanes,
    deliveryHolds,
    heldDeliveries,
    ...verification,
    clock: () => NOW,
  };
  const holdOf = await explainHold(fake<DeliveriesParts>(parts), endpoint);
  return await holdOf(eventId);
}

/** For each reason: an endpoint whose worker notes it. */
const ARRANGED: Readonly<Record<HoldReason, () => Promise<Endpoint>>> = {
  disabled: async () => buildEndpoint({ status: 'disabled' }),
  unverified: async () =>
    buildEndpoint({ verification: { method: 'challenge', status: 'unverified', round: 1, tries: 0 } }),
  breaker_open: async () => {
    const endpoint = buildEndpoint();
    await redis.client.set(keys.breaker(endpoint.id), `10 ${NOW + 1_000} ${NOW} 0`);
    return endpoint;
  },
  busy: async () => buildEndpoint(),
  rate_limited: useUpLimit,
  ordering: async () => buildEndpoint({ ordering: 'strict' }),
  no_token: async () => {
    const endpoint = buildEndpoint();
    await redis.client.hset(keys.accessToken(endpoint.id), { open_until: NOW + 1_000 });
    return endpoint;
  },
  batching: async () => buildEndpoint({ batch: { max_wait_ms: 2_000 } }),
};

it.each(holdReasons)('says %s, as the log and the counters do', async (reason) => {
  const holds = [{ reason, since: NOW }];
  expect(await explain(await ARRANGED[reason](), uniqueEventId(), holds)).toMatchObject({ reason });
});

it('says that its endpoint is disabled, whatever else keeps it', async () => {
  const endpoint = buildEndpoint({ status: 'disabled' });
  await redis.client.set(keys.breaker(endpoint.id), `10 ${NOW + 1_000} ${NOW} 0`);
  expect(await explain(endpoint)).toEqual({ reason: 'disabled', until: undefined });
});

it('says until when the breaker is open, and that a probe is on its way afterwards', async () => {
  const endpoint = buildEndpoint();
  await redis.client.set(keys.breaker(endpoint.id), `10 ${NOW + 1_000} ${NOW} 0`);
  expect(await explain(endpoint)).toEqual({ reason: 'breaker_open', until: NOW + 1_000 });
  await redis.client.set(keys.breaker(endpoint.id), `10 ${NOW - 1} ${NOW} 0`);
  expect(await explain(endpoint)).toEqual({ reason: 'breaker_open', until: undefined });
  // Its time is that at which another one may go if this one has no result.
  await redis.client.set(keys.breaker(endpoint.id), `10 ${NOW + 60_000} ${NOW} 0 1`);
  expect(await explain(endpoint)).toEqual({ reason: 'breaker_open', until: undefined });
});

it('says that another one goes before it, except for the one whose turn it is', async () => {
  const endpoint = buildEndpoint({ ordering: 'strict' });
  const first = uniqueEventId();
  const places = [{ eventId: first, acceptedAt: NOW }];
  await new BesideLanes(redis.client).join(endpoint.id, places)(redis.client);
  expect(await explain(endpoint)).toEqual({ reason: 'ordering', until: undefined, waitsFor: first });
  expect(await explain(endpoint, first)).toEqual({ reason: 'busy', until: undefined });
});

it('says of those in a lane that its first one goes before them', async () => {
  const endpoint = buildEndpoint({ ordering: 'strict', rateLimit: 1 });
  const first = uniqueEventId();
  const lane = { first, isHeld: false, hasJob: true, isInWindow: false, holds: [], isInBatches: false };
  expect(await explain(endpoint, uniqueEventId(), [], lane)).toEqual({
    reason: 'ordering',
    until: undefined,
    waitsFor: first,
  });
  expect(await explain(endpoint, first, [], lane)).toEqual({ reason: 'busy', until: undefined });
});

it('asks for a wake-up of an endpoint whose lane has no job: an operator may have removed it', async () => {
  const endpoint = buildEndpoint({ ordering: 'strict' });
  const lane = { first: uniqueEventId(), isHeld: false, isInWindow: false, holds: [], isInBatches: false };
  await explain(endpoint, uniqueEventId(), [], { ...lane, hasJob: true });
  expect(heldDeliveries.askForWakeUp).not.toHaveBeenCalled();
  await explain(endpoint, uniqueEventId(), [], { ...lane, hasJob: false });
  const address = { accountId: endpoint.accountId, endpointId: endpoint.id };
  expect(heldDeliveries.askForWakeUp).toHaveBeenCalledWith(address, NOW, true);
});

it('says of all in a lane that it waits for one that has failed for good, if its job tells so', async () => {
  const endpoint = buildEndpoint({ ordering: 'group' });
  const first = uniqueEventId();
  const holds = [{ reason: 'ordering', since: NOW }] as const;
  const lane = {
    line: 'blue',
    first,
    isHeld: true,
    hasJob: true,
    isInWindow: false,
    isInBatches: false,
    holds,
  };
  const failed = uniqueEventId();
  const places = [{ eventId: failed, acceptedAt: NOW, line: 'blue' }];
  await new BesideLanes(redis.client).join(endpoint.id, places)(redis.client);
  for (const behind of [first, uniqueEventId()]) {
    expect(await explain(endpoint, behind, [], lane)).toEqual({
      reason: 'ordering',
      until: undefined,
      waitsFor: failed,
    });
  }
});

it('names no event that goes first while that is still on the queue', async () => {
  const endpoint = buildEndpoint({ ordering: 'group' });
  const first = uniqueEventId();
  const holds = [{ reason: 'ordering', since: NOW }] as const;
  const lane = {
    line: 'blue',
    first,
    isHeld: true,
    hasJob: true,
    isInWindow: false,
    isInBatches: false,
    holds,
  };
  expect(await explain(endpoint, first, [], lane)).toEqual({ reason: 'ordering', until: undefined });
});

it('says that the one whose turn it is waits for an event on the queue, if its job tells so', async () => {
  const endpoint = buildEndpoint({ ordering: 'strict' });
  const holds = [{ reason: 'ordering', since: NOW }] as const;
  expect(await explain(endpoint, uniqueEventId(), holds)).toEqual({ reason: 'ordering', until: undefined });
  const unordered = buildEndpoint({ ordering: 'none' });
  expect(await explain(unordered, uniqueEventId(), holds)).toEqual({ reason: 'busy', until: undefined });
});

it('says until when one waits for others to go with it, if its job tells so', async () => {
  const batching = { reason: 'batching' } as const;
  const holds = [
    { reason: 'busy', since: NOW - 900 } as const,
    { ...batching, since: NOW - 500 },
    { ...batching, since: NOW - 100 },
  ];
  const waiting = buildEndpoint({ batch: { max_wait_ms: 2_000 } });
  expect(await explain(waiting, uniqueEventId(), holds)).toEqual({ reason: 'batching', until: NOW + 1_500 });
  expect(await explain(waiting)).toEqual({ reason: 'busy', until: undefined });
  const changed = buildEndpoint({ batch: undefined });
  expect(await explain(changed, uniqueEventId(), holds)).toEqual({ reason: 'busy', until: undefined });
});

it('says when the rate limit lets the next one through', async () => {
  const { reason, until } = await explain(await useUpLimit());
  expect(reason).toBe('rate_limited');
  expect(until).toBeGreaterThan(NOW);
});

async function useUpLimit(): Promise<Endpoint> {
  const endpoint = buildEndpoint({ rateLimit: 1 });
  const request = { rateLimit: 1, attemptKey: 'one', leaseMs: 5_000, hasWaited: false };
  await new AdmissionStore(redis.client).admit(endpoint.id, request, Date.now())(redis.client);
  return endpoint;
}
