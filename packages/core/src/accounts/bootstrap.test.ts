import { DEFAULT_ACCOUNT } from '../model/account';
import { scopes } from '../model/api-key';
import { buildApiKey } from '../testing/build-api-key';
import { noSessions } from '../testing/no-sessions';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { createAuthenticate } from './authenticate';
import { ensureBootstrapKey } from './bootstrap';
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

function authenticate(authorization: string) {
  return createAuthenticate({
    authenticateSession: noSessions,
    apiKeyStore: store,
    noteUse: () => {},
    clock: () => NOW,
  })(authorization);
}

describe('ensureBootstrapKey', () => {
  it('creates the key, with every scope, for the default account', async () => {
    const { key, record } = buildApiKey();
    await ensureBootstrapKey(key, store, () => NOW);
    expect(await authenticate(`Bearer ${key}`)).toEqual({
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

  it('gives the key the scopes that have come since an earlier version made it', async () => {
    const { key, record } = buildApiKey({ accountId: DEFAULT_ACCOUNT, scopes: ['admin'] });
    await store.save({ ...record, name: 'bootstrap' });
    await ensureBootstrapKey(key, store, () => NOW);
    expect(await store.find(record.id)).toEqual({ ...record, name: 'bootstrap', scopes: [...scopes] });
  });

  it('replaces a key of the same id that has another secret part', async () => {
    const { key, record } = await issued();
    const newKey = key.slice(0, 21) + buildApiKey().key.slice(21);
    await ensureBootstrapKey(newKey, store, () => NOW);
    expect(await authenticate(`Bearer ${newKey}`)).toMatchObject({ id: record.id, name: 'bootstrap' });
    await expect(authenticate(`Bearer ${key}`)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('shows up once in the list, also when it was replaced or several processes start at the same time', async () => {
    await redis.client.flushdb();
    const { key, record } = await issued();
    const newKey = key.slice(0, 21) + buildApiKey().key.slice(21);
    const times = [NOW, NOW + 1, NOW + 2];
    await Promise.all(times.map((time) => ensureBootstrapKey(newKey, store, () => time)));
    const { apiKeys } = await store.list(DEFAULT_ACCOUNT, 10);
    expect(apiKeys.map(({ id }) => id)).toEqual([record.id]);
    expect((await store.list(record.accountId, 10)).apiKeys).toEqual([]);
  });

  it('does not repeat a key that has not the form of one', async () => {
    await expect(ensureBootstrapKey('whk_mine', store, () => NOW)).rejects.toThrow(
      /^BOOTSTRAP_API_KEY(?!.*mine)/,
    );
  });
});
