import { setImmediate } from 'node:timers/promises';
import {
  type AccountId,
  type ApiKey,
  DEFAULT_ACCOUNT,
  hashKey,
  type Principal,
  scopes,
} from '../domain/account';
import { AppError } from '../platform/app-error';
import { buildApiKey } from '../testing/build-api-key';
import { fake } from '../testing/fake';
import { openAuthentication } from '../testing/open-authentication';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { AuthFailures } from './auth-failures';
import type { AccountStore } from './redis-account-store';
import { ApiKeyStore } from './redis-api-key-store';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

describe('authenticate', () => {
  const NOW = 1_700_000_000_000;

  async function issued(change: Partial<ApiKey> = {}) {
    const apiKey = buildApiKey({ scopes: ['webhooks:read'], ...change });
    await new ApiKeyStore(redis.client).save(apiKey.record);
    return apiKey;
  }

  /** At the time NOW. `used` are the ids of the keys whose use was noted. */
  function create() {
    const used: string[] = [];
    const apiKeyStore = new ApiKeyStore(redis.client);
    jest.spyOn(apiKeyStore, 'noteUse').mockImplementation(async (id) => void used.push(id));
    const authentication = openAuthentication(redis.client, { apiKeyStore, clock: () => NOW });
    const authenticate = (authorization?: string) => authentication.authenticate(authorization, undefined);
    return { used, authenticate };
  }

  it('asks the copies about an unknown key once in ten seconds, and about no more than eight at once', async () => {
    let now = NOW;
    let answer: (isThere: boolean) => void = () => {};
    const has = jest.fn(() => Promise.resolve(false));
    const authentication = openAuthentication(redis.client, { configurationCopy: { has }, clock: () => now });
    const ask = async (key = buildApiKey().key) =>
      await authentication.authenticate(`Bearer ${key}`, undefined).then(
        () => 'let in',
        (error: AppError) => error.code,
      );
    const { key } = buildApiKey();
    expect([await ask(key), await ask(key)]).toEqual(['unauthenticated', 'unauthenticated']);
    expect(has).toHaveBeenCalledTimes(1);
    now += 11_000;
    await ask(key);
    expect(has).toHaveBeenCalledTimes(2);
    const answered = new Promise<boolean>((resolve) => (answer = resolve));
    has.mockImplementation(() => answered);
    const codes: string[] = [];
    const asked = Array.from({ length: 20 }, async () => codes.push(await ask()));
    while (codes.length < 12) await setImmediate();
    expect(new Set(codes)).toEqual(new Set(['storage_unavailable']));
    answer(false);
    await Promise.all(asked);
    expect(codes.slice(12)).toEqual(Array.from({ length: 8 }, () => 'unauthenticated'));
    expect(has).toHaveBeenCalledTimes(10);
    expect(await ask()).toBe('unauthenticated');
  });

  const INVALID = { code: 'unauthenticated', message: 'The API key is unknown or was revoked.' };

  describe('authenticate', () => {
    it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('knows a key by "%s <key>"', async (scheme) => {
      const { key, record } = await issued();
      const { authenticate, used } = create();
      expect(await authenticate(`${scheme} ${key}`)).toEqual(record);
      expect(used).toEqual([record.id]);
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
      expect(used).toEqual([living.record.id]);
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
    const apiKeyStore = fake<ApiKeyStore>({
      async noteUse(id, usedAt) {
        notes.push([id, usedAt]);
        if (fails) throw new Error('no luck');
      },
    });
    const authentication = openAuthentication(redis.client, { apiKeyStore, clock: () => clock.now });
    return { clock, notes, noteUse: (apiKey: ApiKey) => authentication.noteUse(apiKey) };
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

describe('limit auth failures', () => {
  const WINDOW_MS = 60_000;

  /** An authentication that knows one key, and counts how often it is asked. */
  function buildLimited(count: number) {
    let now = 0;
    let lookUps = 0;
    let isRevoked = false;
    let isAway = false;
    const { key, record } = buildApiKey();
    const wrong = buildApiKey().key;
    const clock = () => now;
    const apiKeyStore = fake<ApiKeyStore>({
      async find(id) {
        lookUps += 1;
        if (isAway) throw new AppError('storage_unavailable', 'no luck');
        return isRevoked || id !== record.id ? undefined : record;
      },
      noteUse: async () => {},
    });
    const authFailures = new AuthFailures({ allowance: { count, windowMs: WINDOW_MS }, clock });
    const authentication = openAuthentication(redis.client, { apiKeyStore, authFailures, clock });
    const ask = (authorization: string | undefined, address: string) =>
      authentication.authenticate(authorization, address).then(
        () => 'passed',
        ({ code, retryAfterMs }: AppError) => (retryAfterMs === undefined ? code : `${code} ${retryAfterMs}`),
      );
    return {
      good: (address: string) => ask(`Bearer ${key}`, address),
      bad: (address: string) => ask(`Bearer ${wrong}`, address),
      ask,
      key,
      revoke: () => void (isRevoked = true),
      goAway: () => void (isAway = true),
      comeBack: () => void (isAway = false),
      lookUps: () => lookUps,
      move: (ms: number) => void (now += ms),
    };
  }

  describe('limitAuthFailures', () => {
    it('refuses an address that failed too often before anything is looked up, and says for how long', async () => {
      const { bad, lookUps, move } = buildLimited(2);
      await bad('192.0.2.1');
      move(20_000);
      expect(await bad('192.0.2.1')).toBe('unauthenticated');
      expect(await bad('192.0.2.1')).toBe('rate_limited 40000');
      expect(lookUps()).toBe(2);
    });

    it('refuses a key from there that it does not know to be good, and lets those pass that it does', async () => {
      const known = buildLimited(1);
      await known.good('192.0.2.9');
      const unknown = buildLimited(1);
      for (const { bad } of [known, unknown]) await bad('192.0.2.1');
      expect(await known.good('192.0.2.1')).toBe('passed');
      expect(await unknown.good('192.0.2.1')).toMatch(/^rate_limited/);
    });

    it('looks again when the time is over', async () => {
      const { bad, good, move } = buildLimited(1);
      await bad('192.0.2.1');
      move(WINDOW_MS - 1);
      expect(await good('192.0.2.1')).toBe('rate_limited 1');
      move(1);
      expect(await good('192.0.2.1')).toBe('passed');
    });

    it('counts each IPv4 address apart, and all of an IPv6 network together', async () => {
      const { bad } = buildLimited(1);
      await bad('192.0.2.1');
      expect(await bad('192.0.2.2')).toBe('unauthenticated');
      await bad('2001:db8::1');
      expect(await bad('2001:db8::ffff:2')).toMatch(/^rate_limited/);
    });

    it.each([
      ['IPv4 /24', (i: number) => `192.0.2.${i}`, '192.0.3.1'],
      ['IPv6 /48', (i: number) => `2001:db8:1:${i}::1`, '2001:db8:2::1'],
    ])('gives all of one %s as much as sixteen addresses', async (_what, addressOf, neighbour) => {
      const { bad } = buildLimited(2);
      for (let i = 0; i < 32; i += 1) expect(await bad(addressOf(i))).toBe('unauthenticated');
      expect(await bad(addressOf(200))).toMatch(/^rate_limited/);
      expect(await bad(neighbour)).toBe('unauthenticated');
    });

    // The id is no secret: it stands in lists, logs and answers.
    it('keeps a blocked address blocked whatever key it names, also by the id of a good one', async () => {
      const { ask, good, bad, key, lookUps } = buildLimited(1);
      await good('192.0.2.9');
      await bad('192.0.2.1');
      const before = lookUps();
      const guesses = [`${key.slice(0, -1)}!`, `${key.slice(0, 21)}${'0'.repeat(52)}`, buildApiKey().key];
      for (const guess of guesses) expect(await ask(`Bearer ${guess}`, '192.0.2.1')).toMatch(/^rate_limited/);
      expect(lookUps()).toBe(before);
    });

    it('no longer lets a key pass that was good, once it is not', async () => {
      const { good, bad, revoke } = buildLimited(2);
      await good('192.0.2.9');
      await bad('192.0.2.1');
      revoke();
      expect(await good('192.0.2.1')).toBe('unauthenticated');
      expect(await good('192.0.2.1')).toMatch(/^rate_limited/);
    });

    it('keeps an address blocked that 12,000 others fail after', async () => {
      const { bad } = buildLimited(2);
      await bad('192.0.2.1');
      await bad('192.0.2.1');
      for (let i = 0; i < 12_000; i += 1) await bad(`10.${i >> 8}.${i & 255}.1`);
      expect(await bad('192.0.2.1')).toMatch(/^rate_limited/);
    });

    it('keeps blocked clients when there is no room for more, and has room again when their time is over', async () => {
      const { bad, move } = buildLimited(1);
      const addressOf = (i: number) => `10.${i >> 8}.${i & 255}.1`;
      for (let i = 0; i < 12_000; i += 1) await bad(addressOf(i));
      expect(await bad(addressOf(0))).toMatch(/^rate_limited/);
      expect(await bad(addressOf(9_999))).toMatch(/^rate_limited/);
      expect(await bad(addressOf(11_999))).toBe('unauthenticated');
      move(WINDOW_MS);
      expect(await bad(addressOf(11_999))).toBe('unauthenticated');
      expect(await bad(addressOf(11_999))).toMatch(/^rate_limited/);
    });

    it('counts only what failed for the key, not for want of Redis', async () => {
      const { good, goAway, comeBack } = buildLimited(1);
      goAway();
      expect(await good('192.0.2.1')).toBe('storage_unavailable');
      comeBack();
      expect(await good('192.0.2.1')).toBe('passed');
    });
  });
});

describe('resolve account', () => {
  const ACME = 'acme' as AccountId;
  const withoutAdmin = scopes.filter((scope) => scope !== 'admin' && scope !== 'accounts:act');

  const ERASING = 'erasing' as AccountId;

  /** Knows the account `acme`, and one that is being erased; `lookedUp` are the ids that were looked for. */
  function create() {
    const lookedUp: string[] = [];
    const accountStore = fake<AccountStore>({
      async find(id) {
        lookedUp.push(id);
        if (id === ERASING) return { id, createdAt: 0, erasingSince: 1 };
        return id === ACME ? { id, createdAt: 0 } : undefined;
      },
    });
    const authentication = openAuthentication(redis.client, { accountStore });
    const resolve = (principal: Principal, account: string | undefined) =>
      authentication.resolveAccount(principal, account);
    return { resolve, lookedUp };
  }

  describe('resolveAccount', () => {
    it("makes an operator's key one of the account that it names, with the scopes that it has", async () => {
      const { record } = buildApiKey({ accountId: DEFAULT_ACCOUNT, scopes: ['admin', 'webhooks:read'] });
      expect(await create().resolve(record, ACME)).toEqual({
        ...record,
        accountId: ACME,
        ownAccountId: DEFAULT_ACCOUNT,
      });
    });

    it.each([[undefined], ['own']])('leaves a key as it is when %s is asked for', async (account) => {
      const { resolve, lookedUp } = create();
      const { record } = buildApiKey({ accountId: 'own' as AccountId });
      expect(await resolve(record, account)).toBe(record);
      expect(lookedUp).toEqual([]);
    });

    it.each(['nobody', ERASING, '', 'acme,acme', '../acme', 'a'.repeat(65)])(
      'finds no account "%s" for an operator',
      async (account) => {
        const { record } = buildApiKey({ accountId: DEFAULT_ACCOUNT });
        await expect(create().resolve(record, account)).rejects.toMatchObject({ code: 'not_found' });
      },
    );

    it("gives a key of the operator's own that may act for accounts the other account, and its own scopes", async () => {
      const { record } = buildApiKey({
        accountId: DEFAULT_ACCOUNT,
        scopes: ['accounts:act', 'events:write'],
      });
      expect(await create().resolve(record, ACME)).toEqual({
        ...record,
        accountId: ACME,
        ownAccountId: DEFAULT_ACCOUNT,
      });
    });

    it.each([
      ['an admin of another account', buildApiKey().record],
      [
        "the operator's own, but no admin",
        buildApiKey({ accountId: DEFAULT_ACCOUNT, scopes: withoutAdmin }).record,
      ],
    ])(
      'refuses a key of %s, whether there is such an account or not, without looking',
      async (_what, record) => {
        const { resolve, lookedUp } = create();
        for (const account of [ACME, 'nobody', '']) {
          await expect(resolve(record, account)).rejects.toMatchObject({ code: 'operator_only' });
        }
        expect(lookedUp).toEqual([]);
      },
    );
  });
});

describe('known accounts', () => {
  const ID = '0123456789abcdef';
  const KEY = `whk_${ID}_${'0'.repeat(48)}`;

  /** Knows the key, as it was valid here before. */
  async function arrange() {
    const { record } = buildApiKey();
    const known = { ...record, id: ID, sha256: hashKey(KEY) };
    const apiKeyStore = fake<ApiKeyStore>({ find: async () => known, noteUse: async () => {} });
    const authentication = openAuthentication(redis.client, { apiKeyStore });
    return { authentication, accountId: known.accountId };
  }

  it('tells the account of a key that was good, by its id alone', async () => {
    const { authentication, accountId } = await arrange();
    expect(authentication.accountOf(`Bearer ${KEY}`)).toBeUndefined();
    await authentication.authenticate(`Bearer ${KEY}`, undefined);
    expect(authentication.accountOf(`Bearer ${KEY}`)).toBe(accountId);
    expect(authentication.accountOf(`Bearer ${KEY.replace(/.$/, '1')}`)).toBe(accountId);
  });

  it.each([undefined, '', 'Bearer', 'Bearer whk_', `Basic ${KEY}`, 'Bearer something-else'])(
    'knows of none by %p',
    async (authorization) => {
      const { authentication } = await arrange();
      await authentication.authenticate(`Bearer ${KEY}`, undefined);
      expect(authentication.accountOf(authorization)).toBeUndefined();
    },
  );
});
