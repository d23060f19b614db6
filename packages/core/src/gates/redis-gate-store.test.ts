import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { CLOSED, FAILURES_TO_OPEN, FIRST_OPEN_MS, MAX_OPEN_MS, PROBE_MS } from './breaker';
import { createRedisGateStore, type GateStore, type Parked } from './redis-gate-store';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
let store: GateStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = createRedisGateStore(redis.client);
});
afterAll(() => redis.close());

async function fail(endpointId = uniqueEndpointId(), times = 1) {
  for (let count = 0; count < times; count += 1) await store.recordFailure(endpointId, CLOSED, NOW);
  return endpointId;
}

const parked = (side: Parked['side'] = 'second'): Parked => ({ eventId: uniqueEventId(), side });

describe('the breaker', () => {
  it('is closed where nothing is known', async () => {
    expect(await store.readBreaker(uniqueEndpointId())).toEqual(CLOSED);
  });

  it('counts failures and stays closed as long as they are few', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN - 2);
    const state = { failures: FAILURES_TO_OPEN - 1, openUntil: 0 };
    expect(await store.recordFailure(id, CLOSED, NOW)).toEqual({ ...state, hasOpened: false });
    expect(await store.readBreaker(id)).toEqual(state);
  });

  it('opens with the failure that is one too many', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN - 1);
    const state = { failures: FAILURES_TO_OPEN, openUntil: NOW + FIRST_OPEN_MS };
    expect(await store.recordFailure(id, CLOSED, NOW)).toEqual({ ...state, hasOpened: true });
    expect(await store.readBreaker(id)).toEqual(state);
  });

  it('is open twice as long after each failed probe, up to a maximum, however many there are', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    const openTimes: number[] = [];
    let now = NOW + FIRST_OPEN_MS;
    for (let probes = 0; probes < 80; probes += 1) {
      const seen = await store.readBreaker(id);
      await store.claimProbe(id, now);
      const { openUntil } = await store.recordFailure(id, seen, now);
      openTimes.push(openUntil - now);
      now = openUntil;
    }
    expect(openTimes.slice(0, 5)).toEqual([2, 4, 8, 16, 32].map((times) => times * FIRST_OPEN_MS));
    expect(new Set(openTimes.slice(5))).toEqual(new Set([MAX_OPEN_MS]));
  });

  it('is open no longer when many attempts fail that were all under way as it opened', async () => {
    const id = uniqueEndpointId();
    const records = await Promise.all(Array.from({ length: 64 }, () => store.recordFailure(id, CLOSED, NOW)));
    expect(records.filter(({ hasOpened }) => hasOpened)).toHaveLength(1);
    expect(await store.readBreaker(id)).toEqual({
      failures: FAILURES_TO_OPEN,
      openUntil: NOW + FIRST_OPEN_MS,
    });
  });

  it('is closed again without a memory of failures', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    await store.closeBreaker(id);
    expect(await store.readBreaker(id)).toEqual(CLOSED);
    expect(await store.recordFailure(id, CLOSED, NOW)).toMatchObject({ failures: 1, openUntil: 0 });
  });

  it('is one for each endpoint', async () => {
    await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    expect(await store.readBreaker(uniqueEndpointId())).toEqual(CLOSED);
  });
});

describe('claimProbe', () => {
  const openUntil = NOW + FIRST_OPEN_MS;

  it('gives the probe to nobody before its time', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    expect(await store.claimProbe(id, openUntil - 1)).toBe(false);
  });

  it('gives the probe to exactly one of all who ask at the same time', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    const claims = await Promise.all(Array.from({ length: 50 }, () => store.claimProbe(id, openUntil)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await store.readBreaker(id)).toEqual({
      failures: FAILURES_TO_OPEN,
      openUntil: openUntil + PROBE_MS,
    });
  });

  it('gives it to another one when the first is not heard of again', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    await store.claimProbe(id, openUntil);
    expect(await store.claimProbe(id, openUntil + PROBE_MS - 1)).toBe(false);
    expect(await store.claimProbe(id, openUntil + PROBE_MS)).toBe(true);
  });
});

describe('deliveries that are parked', () => {
  it('are listed in the order of their acceptance, whatever order they came in', async () => {
    const id = uniqueEndpointId();
    const [first, second, third] = [parked('first'), parked('second'), parked('first')];
    await store.park(id, third, NOW + 2);
    await store.park(id, first, NOW);
    await store.park(id, second, NOW + 1);
    expect(await store.listParked(id, 10)).toEqual([first, second, third]);
    expect(await store.listParked(id, 2)).toEqual([first, second]);
    expect(await store.countParked(id)).toBe(3);
  });

  it('are there once, and keep their place, when they are parked again', async () => {
    const id = uniqueEndpointId();
    const [first, second] = [parked(), parked()];
    await store.park(id, first, NOW);
    await store.park(id, second, NOW + 1);
    await store.park(id, first, NOW + 2);
    expect(await store.listParked(id, 10)).toEqual([first, second]);
  });

  it('stay until they are forgotten, and no other is forgotten with them', async () => {
    const id = uniqueEndpointId();
    const [first, second, third] = [parked(), parked(), parked()];
    for (const [index, each] of [first, second, third].entries()) await store.park(id, each, NOW + index);
    await store.forget(id, [first, third]);
    expect(await store.listParked(id, 10)).toEqual([second]);
    await store.forget(id, []);
    expect(await store.countParked(id)).toBe(1);
  });

  it("keep the two sides of one delivery apart: a release that came late does not take the new one's place", async () => {
    const id = uniqueEndpointId();
    const old = parked('second');
    const fresh: Parked = { ...old, side: 'first' };
    await store.park(id, old, NOW);
    await store.park(id, fresh, NOW);
    await store.forget(id, [old]);
    expect(await store.listParked(id, 10)).toEqual([fresh]);
  });

  it.each(['first', 'second'] as const)('are known to be parked by their %s side', async (side) => {
    const id = uniqueEndpointId();
    const each = parked(side);
    expect(await store.isParked(id, each.eventId)).toBe(false);
    await store.park(id, each, NOW);
    expect(await store.isParked(id, each.eventId)).toBe(true);
    expect(await store.isParked(id, uniqueEventId())).toBe(false);
    expect(await store.isParked(uniqueEndpointId(), each.eventId)).toBe(false);
  });
});

describe('removeAll', () => {
  it("forgets the endpoint's breaker and all that is parked, and nothing of others", async () => {
    const [id, other] = [await fail(uniqueEndpointId(), 2), await fail(uniqueEndpointId(), 2)];
    for (const each of [id, other]) await store.park(each, parked(), NOW);
    await store.removeAll(id);
    expect(await store.readBreaker(id)).toEqual(CLOSED);
    expect(await store.countParked(id)).toBe(0);
    expect(await store.readBreaker(other)).toMatchObject({ failures: 2 });
    expect(await store.countParked(other)).toBe(1);
  });
});
