import { FIRST_PAUSE_MS, MAX_PAUSE_MS, REFETCH_MS } from '../domain/access-token';
import { keys } from '../domain/keys';
import { Sealer } from '../endpoints/seal';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { AccessTokenStore } from './redis-access-token-store';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const START = 1_700_000_000_000;
const LOCK_MS = 5_000;
const HOUR = 3_600_000;

function arrange(sealer = testSealer) {
  const store = new AccessTokenStore(redis.client, sealer);
  const endpoint = { accountId: uniqueAccountId(), id: uniqueEndpointId(), auth: { changedAt: 1 } };
  const ask = (owner: string, at = 0, changedAt = 1) =>
    store.ask({ ...endpoint, auth: { changedAt } }, { owner, ms: LOCK_MS }, START + at);
  const tokenOf = (version: string, at: number) => ({
    version,
    token: `token-${version}`,
    refreshAt: START + at + HOUR - 60_000,
    expiresAt: START + at + HOUR,
  });
  return {
    store,
    endpoint,
    ask,
    tokenOf,
    kept: async (owner: string, version: string, at = 0) => {
      await ask(owner, at);
      return await store.keep(endpoint, owner, tokenOf(version, at), START + at);
    },
    raw: () => redis.client.hgetall(keys.accessToken(endpoint.id)),
  };
}

describe('the lock', () => {
  it('is given to one that asks; the others wait', async () => {
    const { ask } = arrange();
    const answers = await Promise.all(['a', 'b', 'c'].map((owner) => ask(owner)));
    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(['fetch', 'wait', 'wait']);
  });

  it('ends by itself when its owner has died, and a late token of that one is not kept', async () => {
    const { ask, store, endpoint, tokenOf } = arrange();
    await ask('dead');
    expect(await ask('next', LOCK_MS - 1)).toEqual({ kind: 'wait' });
    expect(await ask('next', LOCK_MS)).toMatchObject({ kind: 'fetch', present: undefined });
    expect(await store.keep(endpoint, 'dead', tokenOf('late', 0), START + LOCK_MS)).toBe(false);
    expect(await store.keep(endpoint, 'next', tokenOf('next', 0), START + LOCK_MS)).toBe(true);
    expect(await ask('other', LOCK_MS)).toMatchObject({ kind: 'token', token: { token: 'token-next' } });
  });

  it('can be given back', async () => {
    const { ask, store, endpoint } = arrange();
    await ask('a');
    await store.unlock(endpoint, 'b');
    expect(await ask('b')).toEqual({ kind: 'wait' });
    await store.unlock(endpoint, 'a');
    expect(await ask('b')).toMatchObject({ kind: 'fetch' });
  });
});

describe('a token', () => {
  it('is there for all until its time has come; then one fetches, and the others go on with it', async () => {
    const { ask, kept } = arrange();
    await kept('a', '1');
    expect(await ask('b', HOUR - 60_001)).toMatchObject({ kind: 'token', token: { version: '1' } });
    expect(await ask('b', HOUR - 60_000)).toMatchObject({
      kind: 'fetch',
      isUsable: true,
      present: { version: '1' },
    });
    expect(await ask('c', HOUR - 60_000)).toMatchObject({ kind: 'token', token: { version: '1' } });
    expect(await ask('c', HOUR)).toMatchObject({ kind: 'fetch', isUsable: false, present: undefined });
  });

  it('is sealed, for its own endpoint alone', async () => {
    const { kept, raw, ask } = arrange();
    await kept('a', '1');
    const { sealed = '' } = await raw();
    expect(sealed).toMatch(/^sealed\.v1\./);
    expect(JSON.stringify(await raw())).not.toContain('token-1');
    const other = arrange();
    await other.kept('a', '2');
    await redis.client.hset(keys.accessToken(other.endpoint.id), 'sealed', sealed);
    expect(await other.ask('b')).toMatchObject({ kind: 'fetch', present: undefined });
    expect(await ask('b')).toMatchObject({ kind: 'token' });
  });

  it('that was sealed with a key that is gone is fetched anew', async () => {
    const { kept, endpoint } = arrange(new Sealer([]));
    await kept('a', '1');
    await redis.client.hset(keys.accessToken(endpoint.id), 'sealed', 'sealed.v1.00000000.AAAA');
    const store = new AccessTokenStore(redis.client, testSealer);
    expect(await store.ask(endpoint, { owner: 'b', ms: LOCK_MS }, START)).toMatchObject({ kind: 'fetch' });
  });

  it('belongs to one state of the auth; who has read the former one takes nothing away', async () => {
    const { ask, kept, store, endpoint, tokenOf } = arrange();
    await kept('a', '1');
    expect(await ask('b', 0, 2)).toMatchObject({ kind: 'fetch', present: undefined });
    expect(await ask('old', 0, 1)).toEqual({ kind: 'paused', until: START + FIRST_PAUSE_MS });
    expect(await store.keep(endpoint, 'b', tokenOf('old', 0), START)).toBe(false);
    expect(await store.keep({ ...endpoint, auth: { changedAt: 2 } }, 'b', tokenOf('2', 0), START)).toBe(true);
  });

  it('leaves nothing behind once it has expired', async () => {
    const { kept, endpoint } = arrange();
    await kept('a', '1');
    const ttl = await redis.client.pttl(keys.accessToken(endpoint.id));
    expect(ttl).toBeGreaterThan(HOUR - 10_000);
    expect(ttl).toBeLessThanOrEqual(HOUR);
  });
});

describe('a token that the receiver refuses', () => {
  it('is fetched anew once, and the others wait for that', async () => {
    const { ask, kept, store, endpoint } = arrange();
    await kept('a', '1');
    await store.refuse(endpoint, '1');
    expect(await ask('b', 1_000)).toMatchObject({
      kind: 'fetch',
      isUsable: false,
      present: { version: '1' },
    });
    expect(await ask('c', 1_000)).toEqual({ kind: 'wait' });
  });

  it('is not fetched for a second time when the server gives the same one', async () => {
    const { ask, kept, store, endpoint, tokenOf } = arrange();
    await kept('a', '1');
    await store.refuse(endpoint, '1');
    await ask('b', 1_000);
    await store.keep(endpoint, 'b', tokenOf('1', 1_000), START + 1_000);
    await store.refuse(endpoint, '1');
    expect(await ask('c', 2 * REFETCH_MS)).toMatchObject({ kind: 'token' });
  });

  it('nor is the next one within a minute, however often it is refused', async () => {
    const { ask, kept, store, endpoint, tokenOf } = arrange();
    await kept('a', '1');
    await store.refuse(endpoint, '1');
    await ask('b', 1_000);
    await store.keep(endpoint, 'b', tokenOf('2', 1_000), START + 1_000);
    await store.refuse(endpoint, '2');
    expect(await ask('c', 1_000 + REFETCH_MS - 1)).toMatchObject({ kind: 'token', token: { version: '2' } });
    expect(await ask('c', 1_000 + REFETCH_MS)).toMatchObject({ kind: 'fetch' });
  });

  it('says nothing of the one that has replaced it', async () => {
    const { ask, kept, store, endpoint } = arrange();
    await kept('a', '2');
    await store.refuse(endpoint, '1');
    expect(await ask('b', 1_000)).toMatchObject({ kind: 'token', token: { version: '2' } });
  });
});

describe('a failure', () => {
  it('pauses for a second, then twice as long each time, a minute at most', async () => {
    const { ask, store, endpoint } = arrange();
    const pauses: number[] = [];
    let at = 0;
    for (let i = 0; i < 8; i += 1) {
      await ask('a', at);
      const until = await store.fail(endpoint, 'a', 0, START + at);
      pauses.push(until - START - at);
      expect(await ask('b', at)).toEqual({ kind: 'paused', until });
      at = until - START;
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, MAX_PAUSE_MS, MAX_PAUSE_MS]);
  });

  it('pauses for as long as the server asks for, a minute at most', async () => {
    const { ask, store, endpoint } = arrange();
    await ask('a');
    expect(await store.fail(endpoint, 'a', 20_000, START)).toBe(START + 20_000);
    await ask('a', 20_000);
    expect(await store.fail(endpoint, 'a', 86_400_000, START + 20_000)).toBe(START + 20_000 + MAX_PAUSE_MS);
  });

  it('leaves a token that is valid to all', async () => {
    const { ask, kept, store, endpoint } = arrange();
    await kept('a', '1');
    await ask('b', HOUR - 60_000);
    await store.fail(endpoint, 'b', 0, START + HOUR - 60_000);
    expect(await ask('c', HOUR - 60_000)).toMatchObject({ kind: 'token', token: { version: '1' } });
  });

  it('is forgotten with a success, and with another auth', async () => {
    const { ask, store, endpoint, kept } = arrange();
    await ask('a');
    await store.fail(endpoint, 'a', 0, START);
    expect(await ask('b', 0, 2)).toMatchObject({ kind: 'fetch' });
    const other = arrange();
    await other.ask('a');
    await other.store.fail(other.endpoint, 'a', 0, START);
    await other.kept('b', '1', 1_000);
    expect(await other.raw()).not.toHaveProperty('failures');
    await kept('c', '3', 1_000);
  });

  it('of a lock that is over changes nothing', async () => {
    const { ask, store, endpoint } = arrange();
    await ask('slow');
    await ask('next', LOCK_MS);
    expect(await store.fail(endpoint, 'slow', 0, START + LOCK_MS)).toBe(0);
    expect(await ask('other', LOCK_MS)).toEqual({ kind: 'wait' });
  });
});
