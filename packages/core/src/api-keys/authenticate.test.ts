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

describe('authenticate', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('knows a key by "%s <key>"', async (scheme) => {
    const { key, record } = await issued();
    expect(await createAuthenticate(store)(`${scheme} ${key}`)).toEqual(record);
  });

  it.each([
    ['no header', () => undefined],
    ['an empty header', () => ''],
    ['another scheme', (key: string) => `Basic ${key}`],
    ['no scheme', (key: string) => key],
    ['no key', () => 'Bearer '],
    ['two keys', (key: string) => `Bearer ${key} ${key}`],
  ])('asks for a key when there is %s', async (_what, headerOf) => {
    const { key } = await issued();
    await expect(createAuthenticate(store)(headerOf(key))).rejects.toMatchObject({
      code: 'unauthenticated',
      message: 'Send your API key as "Authorization: Bearer whk_…".',
    });
  });

  it.each([
    ['one without the form of a key', () => 'secret'],
    ['one that was never issued', () => buildApiKey().key],
    [
      'the id of an issued one with another secret part',
      (key: string) => `${key.slice(0, -1)}!`.replace('!', 'Z'),
    ],
    ['an issued one with more behind it', (key: string) => `${key}0`],
    [
      'the id of an issued one with the secret part of another',
      (key: string) => key.slice(0, 21) + buildApiKey().key.slice(21),
    ],
  ])('refuses %s, and tells no more than that', async (_what, sentFor) => {
    const { key } = await issued();
    await expect(createAuthenticate(store)(`Bearer ${sentFor(key)}`)).rejects.toMatchObject({
      code: 'unauthenticated',
      message: 'The API key is not valid.',
    });
  });
});

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
