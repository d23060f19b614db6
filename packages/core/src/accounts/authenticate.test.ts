import type { ApiKey } from '../domain/account';
import { buildApiKey } from '../testing/build-api-key';
import { noSessions } from '../testing/no-sessions';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { authenticate as authenticateBy, KeyUses } from './authenticate';
import { ApiKeyStore } from './redis-api-key-store';

describe('authenticate', () => {
  const NOW = 1_700_000_000_000;

  let redis: TestRedis;
  let store: ApiKeyStore;
  beforeAll(async () => {
    redis = await openTestRedis();
    store = new ApiKeyStore(redis.client);
  });
  afterAll(() => redis.close());

  async function issued(change: Partial<ApiKey> = {}) {
    const apiKey = buildApiKey({ scopes: ['webhooks:read'], ...change });
    await store.save(apiKey.record);
    return apiKey;
  }

  /** At the time NOW. `used` are the keys whose use was noted. */
  function create() {
    const used: ApiKey[] = [];
    const keyUses = { note: (apiKey: ApiKey) => void used.push(apiKey) };
    const context = { ...noSessions, keyUses, apiKeyStore: store, clock: () => NOW };
    return { used, authenticate: (authorization?: string) => authenticateBy(context, authorization) };
  }

  const INVALID = { code: 'unauthenticated', message: 'The API key is unknown or was revoked.' };

  describe('authenticate', () => {
    it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('knows a key by "%s <key>"', async (scheme) => {
      const { key, record } = await issued();
      const { authenticate, used } = create();
      expect(await authenticate(`${scheme} ${key}`)).toEqual(record);
      expect(used).toEqual([record]);
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
      await expect(create().authenticate(headerOf(key))).rejects.toMatchObject({
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
      const { authenticate, used } = create();
      await expect(authenticate(`Bearer ${sentFor(key)}`)).rejects.toMatchObject(INVALID);
      expect(used).toEqual([]);
    });

    it('knows a key until the moment at which it expires, and then says so', async () => {
      const { authenticate, used } = create();
      const living = await issued({ expiresAt: NOW + 1 });
      expect(await authenticate(`Bearer ${living.key}`)).toEqual(living.record);
      const { key } = await issued({ expiresAt: NOW });
      await expect(authenticate(`Bearer ${key}`)).rejects.toMatchObject({
        code: 'unauthenticated',
        message: 'The API key expired at 2023-11-14T22:13:20.000Z. Use another one.',
      });
      expect(used).toEqual([living.record]);
    });

    it('tells those without the secret part of an expired key no more than anybody', async () => {
      const { key } = await issued({ expiresAt: NOW });
      await expect(create().authenticate(`Bearer ${key}0`)).rejects.toMatchObject(INVALID);
    });

    it('refuses a key that was revoked after it was used', async () => {
      const { authenticate } = create();
      const { key, record } = await issued();
      await authenticate(`Bearer ${key}`);
      await new ApiKeyStore(redis.client).remove(record);
      await expect(authenticate(`Bearer ${key}`)).rejects.toMatchObject(INVALID);
    });
  });
});

describe('note use', () => {
  const NOW = 1_700_000_000_000;

  /** Notes uses at the time of `clock.now`; `notes` are the written ones. */
  function create({ fails = false } = {}) {
    const clock = { now: NOW };
    const notes: (readonly [string, number])[] = [];
    const store = {
      async noteUse(id: string, usedAt: number) {
        notes.push([id, usedAt]);
        if (fails) throw new Error('no luck');
      },
    };
    const keyUses = new KeyUses(store, () => clock.now);
    return { clock, notes, noteUse: (apiKey: ApiKey) => keyUses.note(apiKey) };
  }

  describe('noteUse', () => {
    it('notes a use at most once a minute', () => {
      const { clock, notes, noteUse } = create();
      const { record } = buildApiKey();
      for (const at of [0, 1, 59_999, 60_000, 119_999]) {
        clock.now = NOW + at;
        noteUse(record);
      }
      expect(notes).toEqual([
        [record.id, NOW],
        [record.id, NOW + 60_000],
      ]);
    });

    it('notes the use of each key', () => {
      const { notes, noteUse } = create();
      const records = [buildApiKey().record, buildApiKey().record];
      records.forEach(noteUse);
      expect(notes.map(([id]) => id)).toEqual(records.map(({ id }) => id));
    });

    it('does not disturb anybody when it fails', async () => {
      const { notes, noteUse } = create({ fails: true });
      noteUse(buildApiKey().record);
      await Promise.resolve();
      expect(notes.length).toBe(1);
    });
  });
});
