import { CLOSED, FAILURES_TO_OPEN, PROBE_MS } from '../../domain/breaker';
import type { EndpointId } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { RATE_WINDOW_MS } from './limits';
import { type AdmissionRequest, AdmissionStore } from './redis-admission-store';

const NOW = 1_700_000_000_000;
const LIMIT = 3;
const LEASE_MS = 20_000;
const ADMITTED = { kind: 'admitted', isProbe: false };

let redis: TestRedis;
let store: AdmissionStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = new AdmissionStore(redis.client);
});
afterAll(() => redis.close());

function requestOf(change: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    rateLimit: undefined,
    attemptKey: uniqueEventId(),
    leaseMs: LEASE_MS,
    hasWaited: true,
    ...change,
  };
}

async function admit(id: EndpointId, change: Partial<AdmissionRequest> = {}, now = NOW) {
  return await store.admit(id, requestOf(change), now)(redis.client);
}

async function redisNow(): Promise<number> {
  const [seconds, microseconds] = await redis.client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

describe('the rate limit', () => {
  const limited = { rateLimit: LIMIT };
  const rateOf = async (id: EndpointId) => (await store.stand(id, LIMIT)).rate;

  /** Makes an attempt as old as it will be after some time. */
  async function age(id: EndpointId, attemptKey: string, ms: number): Promise<void> {
    await redis.client.zincrby(keys.recentAttempts(id), -ms, attemptKey);
  }
  async function expiryOf(id: EndpointId, attemptKey: string): Promise<number> {
    return Number(await redis.client.zscore(keys.recentAttempts(id), attemptKey));
  }

  it('admits as many attempts as it says, however many are asked for at the same time', async () => {
    const id = uniqueEndpointId();
    const answers = await Promise.all(Array.from({ length: 20 }, () => admit(id, limited)));
    expect(answers.filter(({ kind }) => kind === 'admitted')).toHaveLength(LIMIT);
    expect(answers.filter(({ kind }) => kind === 'rate_limited')).toHaveLength(20 - LIMIT);
  });

  it('is one for each endpoint, and absent without a setting', async () => {
    const id = uniqueEndpointId();
    for (let count = 0; count < LIMIT; count += 1) await admit(id, limited);
    expect(await admit(uniqueEndpointId(), limited)).toEqual(ADMITTED);
    expect(await admit(id)).toEqual(ADMITTED);
    expect((await store.stand(id, undefined)).rate.free).toBe(Number.POSITIVE_INFINITY);
  });

  it('counts an attempt for as long as it may be under way', async () => {
    const id = uniqueEndpointId();
    const before = await redisNow();
    await admit(id, { ...limited, attemptKey: 'a' });
    expect(await expiryOf(id, 'a')).toBeGreaterThanOrEqual(before + LEASE_MS);
    expect(await expiryOf(id, 'a')).toBeLessThanOrEqual((await redisNow()) + LEASE_MS);
  });

  it('counts one that was broken off for another second, from then on', async () => {
    const id = uniqueEndpointId();
    await admit(id, { rateLimit: 1, attemptKey: 'a' });
    const before = await redisNow();
    await store.withdraw(id, { attemptKey: 'a', isProbe: false }, CLOSED, NOW);
    expect(await expiryOf(id, 'a')).toBeGreaterThanOrEqual(before + RATE_WINDOW_MS);
    expect(await admit(id, { rateLimit: 1 })).toMatchObject({ kind: 'rate_limited' });
    await age(id, 'a', RATE_WINDOW_MS + 1);
    expect(await admit(id, { rateLimit: 1 })).toEqual(ADMITTED);
  });

  it('counts one whose worker died no longer when its lease is over, and does not bring it back', async () => {
    const id = uniqueEndpointId();
    await admit(id, { rateLimit: 1, attemptKey: 'a' });
    await age(id, 'a', LEASE_MS + 1);
    expect((await store.stand(id, 1)).rate).toEqual({ free: 1, nextInMs: 0 });
    await store.withdraw(id, { attemptKey: 'a', isProbe: false }, CLOSED, NOW);
    expect((await store.stand(id, 1)).rate.free).toBe(1);
  });

  it('counts a run that repeats another one’s attempt beside it', async () => {
    const id = uniqueEndpointId();
    const eventId = uniqueEventId();
    for (const attemptKey of [`${eventId} 1`, `${eventId} 2`]) await admit(id, { ...limited, attemptKey });
    expect((await rateOf(id)).free).toBe(LIMIT - 2);
  });

  it('tells how many may go, and when the next one may', async () => {
    const id = uniqueEndpointId();
    expect(await rateOf(id)).toEqual({ free: LIMIT, nextInMs: 0 });
    await admit(id, limited);
    await admit(id, { ...limited, leaseMs: 2 * LEASE_MS });
    const { free, nextInMs } = await rateOf(id);
    expect(free).toBe(1);
    expect(nextInMs).toBeGreaterThan(LEASE_MS - 10_000);
    expect(nextInMs).toBeLessThanOrEqual(LEASE_MS + 1);
  });

  it('lets none go when it was lowered below what is under way', async () => {
    const id = uniqueEndpointId();
    for (let count = 0; count < LIMIT; count += 1) await admit(id, limited);
    expect((await store.stand(id, 1)).rate.free).toBe(0);
  });

  it('lets no newcomer go before waiting ones, until none waits any more', async () => {
    const id = uniqueEndpointId();
    await admit(id, { rateLimit: 1, attemptKey: 'a' });
    await admit(id, { rateLimit: 1 });
    await age(id, 'a', LEASE_MS + 1);
    expect(await admit(id, { rateLimit: 1, hasWaited: false })).toMatchObject({ kind: 'rate_limited' });
    await store.endRateWait(id);
    expect(await admit(id, { rateLimit: 1, hasWaited: false })).toEqual(ADMITTED);
  });

  it('admits one that has waited before the others', async () => {
    const id = uniqueEndpointId();
    await admit(id, { rateLimit: 1, attemptKey: 'a' });
    await admit(id, { rateLimit: 1 });
    await age(id, 'a', LEASE_MS + 1);
    expect(await admit(id, { rateLimit: 1, hasWaited: true })).toEqual(ADMITTED);
  });

  it('leaves nothing behind for ever', async () => {
    const id = uniqueEndpointId();
    await admit(id, { rateLimit: 1 });
    await admit(id, { rateLimit: 1 });
    expect(await redis.client.pttl(keys.recentAttempts(id))).toBeGreaterThan(LEASE_MS);
    expect(await redis.client.pttl(keys.rateWaiting(id))).toBeGreaterThan(0);
  });

  it('never sees more attempts arrive within a second than it says, whatever the leases', async () => {
    const id = uniqueEndpointId();
    const arrivals: number[] = [];
    const until = Date.now() + 3_500;
    async function work(leaseMs: number): Promise<void> {
      while (Date.now() < until) {
        const request = requestOf({ ...limited, leaseMs });
        const answer = await store.admit(id, request, Date.now())(redis.client);
        if (answer.kind !== 'admitted') continue;
        arrivals.push(await redisNow());
        await store.withdraw(id, { attemptKey: request.attemptKey, isProbe: false }, CLOSED, Date.now());
      }
    }
    await Promise.all([2_000, 5_000, 60_000].map(work));
    const within = arrivals.map(
      (start) => arrivals.filter((at) => at >= start && at < start + RATE_WINDOW_MS).length,
    );
    expect(Math.max(...within)).toBeLessThanOrEqual(LIMIT);
    expect(arrivals.length).toBeGreaterThanOrEqual(2 * LIMIT);
  });
});

describe('the breaker', () => {
  const openUntil = NOW + 1_000;
  const breaker = { failures: FAILURES_TO_OPEN, openUntil };

  async function opened(rest = ` ${NOW} 1`): Promise<EndpointId> {
    const id = uniqueEndpointId();
    await redis.client.set(keys.breaker(id), `${breaker.failures} ${openUntil}${rest}`);
    return id;
  }

  it('admits anything where nothing is known', async () => {
    const id = uniqueEndpointId();
    expect(await store.readBreaker(id)).toEqual(CLOSED);
    expect(await admit(id)).toEqual(ADMITTED);
  });

  it('admits nothing before its time', async () => {
    const id = await opened();
    expect(await admit(id, {}, openUntil - 1)).toEqual({ kind: 'breaker_open', openUntil });
  });

  it('admits one of all who ask at the same time when its time has come: the probe', async () => {
    const id = await opened();
    const answers = await Promise.all(Array.from({ length: 50 }, () => admit(id, {}, openUntil)));
    expect(answers.filter(({ kind }) => kind === 'admitted')).toEqual([{ kind: 'admitted', isProbe: true }]);
    const probed = { ...breaker, openUntil: openUntil + PROBE_MS, isProbing: true };
    expect(await store.readBreaker(id)).toMatchObject(probed);
    expect((await store.stand(id, undefined)).breaker).toEqual(probed);
  });

  it('admits another one when the first is not heard of again', async () => {
    const id = await opened();
    await admit(id, {}, openUntil);
    expect((await admit(id, {}, openUntil + PROBE_MS - 1)).kind).toBe('breaker_open');
    expect(await admit(id, {}, openUntil + PROBE_MS)).toEqual({ kind: 'admitted', isProbe: true });
  });

  it('admits another one at once when nothing came of the first, and forgets nothing else', async () => {
    const id = await opened();
    await admit(id, {}, openUntil);
    await store.withdraw(id, { attemptKey: undefined, isProbe: true }, breaker, openUntil + 1);
    expect(await redis.client.get(keys.breaker(id))).toBe(`${FAILURES_TO_OPEN} ${openUntil} ${NOW} 1`);
    expect(await admit(id, {}, openUntil + 1)).toEqual({ kind: 'admitted', isProbe: true });
  });

  it('stays as it is when one that was no probe comes to nothing, or it was closed meanwhile', async () => {
    const id = await opened();
    await admit(id, {}, openUntil);
    const probed = await store.readBreaker(id);
    await store.withdraw(id, { attemptKey: 'a', isProbe: false }, breaker, openUntil + 1);
    expect(await store.readBreaker(id)).toEqual(probed);
    await store.closeBreaker(id);
    await store.withdraw(id, { attemptKey: undefined, isProbe: true }, breaker, openUntil + 1);
    expect(await store.readBreaker(id)).toEqual(CLOSED);
  });

  it('knows records that were written before they told since when', async () => {
    const id = await opened('');
    expect(await store.readBreaker(id)).toMatchObject(breaker);
    expect(await admit(id, {}, openUntil)).toEqual({ kind: 'admitted', isProbe: true });
  });

  it('takes nothing of the rate limit while it is open', async () => {
    const id = await opened();
    expect((await admit(id, { rateLimit: 1 }, NOW)).kind).toBe('breaker_open');
    expect((await store.stand(id, 1)).rate.free).toBe(1);
  });

  it('keeps its probe when the rate limit allows none', async () => {
    const id = await opened();
    await admit(uniqueEndpointId(), { rateLimit: 1 });
    await redis.client.zadd(keys.recentAttempts(id), (await redisNow()) + LEASE_MS, 'another one');
    expect((await admit(id, { rateLimit: 1 }, openUntil)).kind).toBe('rate_limited');
    expect(await store.readBreaker(id)).toMatchObject(breaker);
  });

  it('goes a month after it was last written: its endpoint may be deleted while an attempt is under way', async () => {
    const id = await opened();
    const daysLeft = async () => Math.ceil((await redis.client.pttl(keys.breaker(id))) / 86_400_000);
    await admit(id, {}, openUntil);
    expect(await daysLeft()).toBe(30);
    await redis.client.persist(keys.breaker(id));
    await store.withdraw(id, { attemptKey: undefined, isProbe: true }, breaker, openUntil + 1);
    expect(await daysLeft()).toBe(30);
  });
});

it('forgets all of an endpoint that is deleted, and nothing of others', async () => {
  const [id, other] = [uniqueEndpointId(), uniqueEndpointId()];
  for (const each of [id, other]) {
    await redis.client.set(keys.breaker(each), '1 0');
    await admit(each, { rateLimit: 1 });
    await admit(each, { rateLimit: 1 });
  }
  await store.remove(id);
  expect(await redis.client.keys(`*${id}*`)).toEqual([]);
  expect(await redis.client.keys(`*${other}*`)).toHaveLength(3);
});
