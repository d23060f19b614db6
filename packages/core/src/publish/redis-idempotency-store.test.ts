import { keys } from '../domain/keys';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId } from '../testing/unique-ids';
import { IdempotencyStore, type RequestKey } from './redis-idempotency-store';

const NOW = 1_700_000_000_000;
const DAY_MS = 86_400_000;

let redis: TestRedis;
let store: IdempotencyStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = new IdempotencyStore(redis.client);
});
afterAll(() => redis.close());

const newRequestKey = () => ({ accountId: uniqueAccountId(), name: 'one' });
const keyOf = ({ accountId, name }: RequestKey) => keys.idempotency(accountId, name);
const leasedUntil = async (requestKey: RequestKey) =>
  Number(await redis.client.hget(keyOf(requestKey), 'leased_until'));

/** As it is once its time is over. */
async function endLease(requestKey: RequestKey): Promise<void> {
  await redis.client.hset(keyOf(requestKey), 'leased_until', (await leasedUntil(requestKey)) - 10_001);
}

describe('IdempotencyStore', () => {
  it('lets one of many claim a request', async () => {
    const requestKey = newRequestKey();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        store.claim(requestKey, 'request', `seed-${i}`, NOW)(redis.client),
      ),
    );
    expect(results.filter(({ state }) => state === 'claimed')).toHaveLength(1);
    expect(results.filter(({ state }) => state === 'running')).toHaveLength(19);
  });

  it('gives the first answer to the same request, and to no other one', async () => {
    const requestKey = newRequestKey();
    await store.claim(requestKey, 'request', 'seed', NOW)(redis.client);
    await store.answer(requestKey, 'first');
    await store.answer(requestKey, 'second');
    expect(await store.claim(requestKey, 'request', 'seed', NOW)(redis.client)).toEqual({
      state: 'answered',
      answer: 'first',
    });
    expect(await store.claim(requestKey, 'another', 'seed', NOW)(redis.client)).toEqual({ state: 'other' });
  });

  it('hands the claim of one who broke off to a retry, with the seed and the time of the first', async () => {
    const requestKey = newRequestKey();
    await store.claim(requestKey, 'request', 'seed-1', NOW)(redis.client);
    await endLease(requestKey);
    expect(await store.claim(requestKey, 'another', 'seed-2', NOW + 1)(redis.client)).toEqual({
      state: 'other',
    });
    const claimed = { state: 'claimed', seed: 'seed-1', claimedAt: NOW };
    expect(await store.claim(requestKey, 'request', 'seed-2', NOW + 1)(redis.client)).toEqual(claimed);
    expect(await store.claim(requestKey, 'request', 'seed-3', NOW + 1)(redis.client)).toEqual({
      state: 'running',
    });
  });

  it('takes no running request over by the clock of one API, and leaves none to another for days', async () => {
    const requestKey = newRequestKey();
    await store.claim(requestKey, 'request', 'seed-1', Date.now() + 15 * DAY_MS)(redis.client);
    expect(await leasedUntil(requestKey)).toBeLessThan(Date.now() + 60_000);
    expect(
      await store.claim(requestKey, 'request', 'seed-2', Date.now() + 30 * DAY_MS)(redis.client),
    ).toEqual({
      state: 'running',
    });
  });

  it('lets the next one try at once when it was released, with the seed of the first', async () => {
    const requestKey = newRequestKey();
    await store.claim(requestKey, 'request', 'seed-1', NOW)(redis.client);
    await store.release(requestKey, 'seed-1');
    expect(await store.claim(requestKey, 'request', 'seed-2', NOW)(redis.client)).toMatchObject({
      state: 'claimed',
      seed: 'seed-1',
    });
  });

  it.each(['release', 'forget'] as const)(
    'a request that has lost the claim does not %s it for the one that has it',
    async (end) => {
      const requestKey = newRequestKey();
      await store.claim(requestKey, 'request', 'seed-1', NOW)(redis.client);
      await endLease(requestKey);
      await store.claim(requestKey, 'request', 'seed-2', NOW)(redis.client);
      await store[end](requestKey, 'seed-1');
      expect(await store.claim(requestKey, 'request', 'seed-3', NOW)(redis.client)).toEqual({
        state: 'running',
      });
      await store.answer(requestKey, 'first');
      await store[end](requestKey, 'seed-1');
      expect(await store.claim(requestKey, 'request', 'seed-3', NOW)(redis.client)).toMatchObject({
        state: 'answered',
      });
    },
  );

  it('is kept for a day', async () => {
    const requestKey = newRequestKey();
    const key = keys.idempotency(requestKey.accountId, requestKey.name);
    await store.claim(requestKey, 'request', 'seed', NOW)(redis.client);
    expect(await redis.client.pttl(key)).toBeGreaterThan(DAY_MS - 60_000);
    await store.answer(requestKey, 'first');
    const remainingMs = await redis.client.pttl(key);
    expect(remainingMs).toBeGreaterThan(DAY_MS - 60_000);
    expect(remainingMs).toBeLessThanOrEqual(DAY_MS);
  });
});
