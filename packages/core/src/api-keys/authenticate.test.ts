import { buildApiKey } from '../testing/build-api-key';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { createAuthenticate } from './authenticate';
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
    ['the id of an issued one with another secret part', (key: string) => `${key.slice(0, -1)}Z`],
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
