import { buildApiKey } from '../testing/build-api-key';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { scopes } from './api-key';
import { createAuthenticate } from './authenticate';
import { DEFAULT_ACCOUNT, ensureBootstrapKey } from './ensure-bootstrap-key';
import { type ApiKeyStore, createRedisApiKeyStore } from './redis-api-key-store';

const NOW = 1_700_000_000_000;

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

describe('ensureBootstrapKey', () => {
  it('creates the key, with every scope, for the default account', async () => {
    const { key, record } = buildApiKey();
    await ensureBootstrapKey(key, store, () => NOW);
    expect(await createAuthenticate(store)(`Bearer ${key}`)).toEqual({
      id: record.id,
      accountId: DEFAULT_ACCOUNT,
      sha256: record.sha256,
      scopes: [...scopes],
      name: 'bootstrap',
      createdAt: NOW,
    });
  });

  it('leaves the key as it is when it is there already', async () => {
    const { key, record } = await issued();
    await ensureBootstrapKey(key, store, () => NOW + 1);
    expect(await store.find(record.id)).toEqual(record);
  });

  it('replaces a key of the same id that has another secret part', async () => {
    const { key, record } = await issued();
    const newKey = key.slice(0, 21) + buildApiKey().key.slice(21);
    await ensureBootstrapKey(newKey, store, () => NOW);
    const authenticate = createAuthenticate(store);
    expect(await authenticate(`Bearer ${newKey}`)).toMatchObject({ id: record.id, name: 'bootstrap' });
    await expect(authenticate(`Bearer ${key}`)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('does not repeat a key that has not the form of one', async () => {
    await expect(ensureBootstrapKey('whk_mine', store, () => NOW)).rejects.toThrow(
      /^BOOTSTRAP_API_KEY(?!.*mine)/,
    );
  });
});
