import { keys } from '../domain/keys';
import { buildApiKey } from '../testing/build-api-key';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId } from '../testing/unique-ids';
import { ApiKeyStore } from './redis-api-key-store';

let redis: TestRedis;
let store: ApiKeyStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = new ApiKeyStore(redis.client);
});
afterAll(() => redis.close());

async function issued(change: Parameters<typeof buildApiKey>[0] = {}) {
  const apiKey = buildApiKey({ scopes: ['webhooks:read'], ...change });
  await store.save(apiKey.record);
  return apiKey;
}

describe('ApiKeyStore', () => {
  it('gives a record back to every process, and none for an id that it does not know', async () => {
    const { record } = await issued();
    expect(await new ApiKeyStore(redis.client).find(record.id)).toEqual(record);
    expect(await store.find('0000000000000000')).toBeUndefined();
  });

  it('reads a record of a later version, without the scopes that this one does not know', async () => {
    const { record } = await issued();
    const later = { ...record, scopes: ['webhooks:read', 'of:tomorrow'], also: 'new' };
    await redis.client.set(keys.apiKey(record.id), JSON.stringify(later));
    expect(await store.find(record.id)).toEqual(record);
  });

  it('finds the newest state, also after another process has changed it', async () => {
    const { record } = await issued();
    await store.find(record.id);
    const changed = { ...record, scopes: [] };
    await new ApiKeyStore(redis.client).save(changed);
    expect(await store.find(record.id)).toEqual(changed);
  });

  it('lists the keys of an account page by page, newest first, each with its last use', async () => {
    const accountId = uniqueAccountId();
    const [first, second, third] = [
      (await issued({ accountId, createdAt: 1_000 })).record,
      (await issued({ accountId, createdAt: 2_000 })).record,
      (await issued({ accountId, createdAt: 3_000 })).record,
    ];
    await issued();
    await store.noteUse(second.id, 4_000);
    const page = await store.list(accountId, 2);
    expect(page.apiKeys).toEqual([third, { ...second, lastUsedAt: 4_000 }]);
    expect(await store.list(accountId, 2, page.nextCursor)).toEqual({
      apiKeys: [first],
      nextCursor: undefined,
    });
  });

  it('forgets a key that was revoked, whole, also when a use of it is noted afterwards', async () => {
    await redis.client.flushdb();
    const { record } = await issued();
    await store.noteUse(record.id, 4_000);
    expect(await store.remove(record)).toBe(true);
    expect(await store.remove(record)).toBe(false);
    await store.noteUse(record.id, 5_000);
    expect(await store.find(record.id)).toBeUndefined();
    expect(await redis.client.keys('*')).toEqual([]);
  });

  it('passes over what was left in the list by a process that died between two steps', async () => {
    const { record } = await issued();
    await redis.client.del(`api-key:{${record.id}}`);
    expect((await store.list(record.accountId, 10)).apiKeys).toEqual([]);
  });

  it('keeps every scope', async () => {
    const { record } = await issued({ scopes: ['admin', 'portal:write'] });
    expect(await store.find(record.id)).toEqual(record);
  });

  it('never holds the key itself', async () => {
    const { key } = await issued();
    const records = await redis.client.keys('api-key:*');
    const stored = await Promise.all(records.map((name) => redis.client.get(name)));
    expect(stored.join()).toContain('sha256');
    expect(stored.join()).not.toContain(key.slice('whk_0123456789abcdef_'.length));
  });
});
