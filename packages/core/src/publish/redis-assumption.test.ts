import { Cluster } from 'ioredis';
import { ApiKeyStore } from '../accounts/redis-api-key-store';
import type { Standing } from '../accounts/redis-usage-store';
import { keys } from '../domain/keys';
import { AppError } from '../platform/app-error';
import { type Atomic, atomicAsOne } from '../platform/redis-atomic';
import { storageUnavailable } from '../platform/redis-errors';
import { buildApiKey } from '../testing/build-api-key';
import { buildAtomic } from '../testing/build-atomic';
import { addNote } from '../testing/redis-notes.script';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { Assumptions, NoLongerTrue } from './redis-assumption';

describe('an assumption', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await openTestRedis();
  });
  afterAll(() => redis.close());

  const inTurns: { take?: Atomic } = {};
  const atomic = buildAtomic((steps) => (inTurns.take ??= atomicAsOne(redis.client))(steps));

  /** A request that was let in by a key as it is, and what it stores. */
  async function arrange(defaultQuotaBytes = 0) {
    const { record: apiKey } = buildApiKey();
    const { accountId } = apiKey;
    const apiKeyStore = new ApiKeyStore(redis.client);
    await apiKeyStore.save(apiKey);
    const standings: Standing[] = [];
    const assumptions = new Assumptions(redis.client, {
      atomic,
      defaultQuotaBytes,
      noteStanding: (_accountId, standing) => standings.push(standing),
    });
    const apiKeyRecord = JSON.stringify(apiKey);
    const again = () => assumptions.make({ accountId, apiKey, apiKeyRecord, endpointsVersion: '0' });
    const store = (text: string) => addNote({ notes: `stored:${apiKey.id}`, text });
    return {
      accountId,
      again,
      assumption: again(),
      standings,
      store,
      revoke: () => apiKeyStore.remove(apiKey),
      stored: () => redis.client.lrange(`stored:${apiKey.id}`, 0, -1),
    };
  }

  it('that holds lets all steps run, and is compared once', async () => {
    const { assumption, standings, store, stored, revoke } = await arrange();
    await assumption.atomic([store('a'), store('b')]);
    await revoke();
    await assumption.atomic([store('c')]);
    await assumption.confirm();
    expect(await stored()).toEqual(['a', 'b', 'c']);
    expect(standings).toEqual([{ usedBytes: 0, ownQuotaBytes: undefined }]);
  });

  it.each<[string, (arranged: Awaited<ReturnType<typeof arrange>>) => Promise<unknown>]>([
    ['a revoked key', ({ revoke }) => revoke()],
    ['changed endpoints', ({ accountId }) => redis.client.incr(keys.endpointsVersion(accountId))],
    ['a quota that is reached', ({ accountId }) => redis.client.set(keys.usedBytes(accountId), 100)],
    [
      'a quota of its own that is reached',
      ({ accountId }) => redis.client.mset(keys.usedBytes(accountId), 5, keys.quota(accountId), 5),
    ],
  ])(
    'that no longer holds because of %s lets no step run, and leaves other units alone',
    async (_why, change) => {
      const [arranged, other] = [await arrange(100), await arrange(100)];
      await change(arranged);
      const [refused] = await Promise.allSettled([
        arranged.assumption.atomic([arranged.store('a')]),
        other.assumption.atomic([other.store('b')]),
      ]);
      expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(NoLongerTrue) });
      expect(await arranged.stored()).toEqual([]);
      expect(await other.stored()).toEqual(['b']);
      await expect(arranged.assumption.confirm()).rejects.toThrow(NoLongerTrue);
    },
  );

  it('of several requests is compared once for all of them, whether it holds or not', async () => {
    const { assumption, again, standings, store, stored, revoke } = await arrange();
    const others = [again(), again()];
    expect(others.map(({ name }) => name)).toEqual([assumption.name, assumption.name]);
    await assumption.atomic([store('a')], others);
    await revoke();
    for (const other of others) await other.atomic([store('b')]);
    expect(await stored()).toEqual(['a', 'b', 'b']);
    expect(standings).toHaveLength(1);

    const [late, later] = [again(), again()];
    expect(late.name).not.toBe(assumption.name);
    await expect(late.atomic([store('c')], [later])).rejects.toThrow(NoLongerTrue);
    await expect(later.atomic([store('c')])).rejects.toThrow(NoLongerTrue);
    expect(await stored()).toEqual(['a', 'b', 'b']);
  });

  it('has room without a limit where the quota is 0', async () => {
    const { accountId, assumption } = await arrange(100);
    await redis.client.mset(keys.usedBytes(accountId), 1_000, keys.quota(accountId), 0);
    await expect(assumption.confirm()).resolves.toBeUndefined();
  });

  describe('behind a failure', () => {
    const refusal = new AppError('invalid_request', 'no');

    it('makes it stand if it holds, and not if it does not', async () => {
      const { assumption } = await arrange();
      expect(await assumption.standsBehind(refusal)).toBe(true);
      const fallen = await arrange();
      await fallen.revoke();
      expect(await fallen.assumption.standsBehind(refusal)).toBe(false);
      expect(await fallen.assumption.standsBehind(new NoLongerTrue())).toBe(false);
    });

    it('asks nobody when Redis was silent, but does when Redis refused', async () => {
      const { assumption, standings, revoke } = await arrange();
      await revoke();
      const silence = storageUnavailable(new Error('Command timed out'));
      await expect(assumption.standsBehind(silence)).rejects.toBe(silence);
      expect(standings).toEqual([]);
      const refused = await redis.client.call('NO-SUCH-COMMAND').catch((error: unknown) => error);
      expect(await assumption.standsBehind(storageUnavailable(refused))).toBe(false);
    });
  });

  it('can not be made in a Cluster, where its keys are on several nodes', () => {
    const cluster = new Cluster([], { lazyConnect: true });
    const options = { atomic, defaultQuotaBytes: 0, noteStanding: () => {} };
    expect(new Assumptions(cluster, options).arePossible).toBe(false);
    expect(new Assumptions(redis.client, options).arePossible).toBe(true);
    cluster.disconnect();
  });
});
