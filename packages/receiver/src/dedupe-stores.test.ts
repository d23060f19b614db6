import { randomUUID } from 'node:crypto';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import type { DedupeStore } from './dedupe-store';
import { memoryStore } from './memory-store';
import { redisStore } from './redis';

const LONG_MS = 60_000;
const SOON_MS = 20;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

async function untilClaimed(store: DedupeStore, id: string): Promise<void> {
  while ((await store.claim(id, LONG_MS)) !== 'claimed') await new Promise(setImmediate);
}

describe.each<[string, (ttlMs?: number) => DedupeStore]>([
  ['memoryStore', (ttlMs) => memoryStore(ttlMs === undefined ? {} : { ttlMs })],
  [
    'redisStore',
    (ttlMs) =>
      redisStore(redis.client, { prefix: `${randomUUID()}:`, ...(ttlMs === undefined ? {} : { ttlMs }) }),
  ],
])('%s', (_name, open) => {
  it('gives one of many the claim', async () => {
    const store = open();
    const claims = await Promise.all(Array.from({ length: 50 }, () => store.claim('a', LONG_MS)));
    expect(claims.filter((claim) => claim === 'claimed')).toHaveLength(1);
    expect(claims.filter((claim) => claim === 'busy')).toHaveLength(49);
    expect(await store.claim('b', LONG_MS)).toBe('claimed');
  });

  it('knows what was committed, whoever releases it later', async () => {
    const store = open();
    await store.claim('a', LONG_MS);
    await store.commit('a');
    await store.release('a');
    expect(await store.claim('a', LONG_MS)).toBe('done');
  });

  it('gives again what was released', async () => {
    const store = open();
    await store.claim('a', LONG_MS);
    await store.release('a');
    expect(await store.claim('a', LONG_MS)).toBe('claimed');
  });

  it('frees what a crash left claimed when its lease ends', async () => {
    const store = open();
    expect(await store.claim('a', SOON_MS)).toBe('claimed');
    await untilClaimed(store, 'a');
    expect(await store.claim('a', LONG_MS)).toBe('busy');
  });

  it('forgets what was handled long ago', async () => {
    const store = open(SOON_MS);
    await store.claim('a', LONG_MS);
    await store.commit('a');
    await untilClaimed(store, 'a');
  });
});

describe('memoryStore', () => {
  it('forgets the oldest for a new one, and no claim', async () => {
    const store = memoryStore({ max: 2 });
    await store.claim('claimed', LONG_MS);
    for (const id of ['a', 'b', 'c']) {
      await store.claim(id, LONG_MS);
      await store.commit(id);
    }
    expect(await store.claim('b', LONG_MS)).toBe('done');
    expect(await store.claim('claimed', LONG_MS)).toBe('busy');
    expect(await store.claim('a', LONG_MS)).toBe('claimed');
  });
});

describe('redisStore', () => {
  it('shares what it knows with other processes', async () => {
    const prefix = `${randomUUID()}:`;
    const [one, other] = [redisStore(redis.client, { prefix }), redisStore(redis.client, { prefix })];
    expect(await one.claim('a', LONG_MS)).toBe('claimed');
    expect(await other.claim('a', LONG_MS)).toBe('busy');
    await one.commit('a');
    expect(await other.claim('a', LONG_MS)).toBe('done');
  });

  it('leaves no key without an end', async () => {
    const prefix = `${randomUUID()}:`;
    const store = redisStore(redis.client, { prefix, ttlMs: LONG_MS });
    await store.claim('a', LONG_MS);
    expect(await redis.client.pttl(`${prefix}a`)).toBeGreaterThan(0);
    await store.commit('a');
    expect(await redis.client.pttl(`${prefix}a`)).toBeGreaterThan(0);
  });
});
