import { buildApiKey } from '../testing/build-api-key';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { type ApiKeyStore, createRedisApiKeyStore } from './redis-api-key-store';

let redis: TestRedis;
let store: ApiKeyStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = createRedisApiKeyStore(redis.client);
});
afterAll(() => redis.close());

async function issued() {
  const apiKey = buildApiKey({ scopes: ['webhooks:read'] });
  await store.save(apiKey.record);
  return apiKey;
}

describe('createRedisApiKeyStore', () => {
  it('gives a record back to every process, and none for an id that it does not know', async () => {
    const { record } = await issued();
    expect(await createRedisApiKeyStore(redis.client).find(record.id)).toEqual(record);
    expect(await store.find('0000000000000000')).toBeUndefined();
  });

  it('finds the newest state, also after another process has changed it', async () => {
    const { record } = await issued();
    await store.find(record.id);
    const changed = { ...record, scopes: [] };
    await createRedisApiKeyStore(redis.client).save(changed);
    expect(await store.find(record.id)).toEqual(changed);
  });

  it('never holds the key itself', async () => {
    const { key } = await issued();
    const stored = await Promise.all((await redis.client.keys('*')).map((name) => redis.client.get(name)));
    expect(stored.join()).toContain('sha256');
    expect(stored.join()).not.toContain(key.slice('whk_0123456789abcdef_'.length));
  });
});
