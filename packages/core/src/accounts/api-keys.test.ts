import { type AccountId, DEFAULT_ACCOUNT, idOfKey, scopes } from '../domain/account';
import { validationErrorsOf } from '../platform/app-error';
import { createNewId, createSeededNewId, createSeededSecretBytes } from '../platform/ids';
import { buildApiKey } from '../testing/build-api-key';
import { openAuthentication } from '../testing/open-authentication';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId } from '../testing/unique-ids';
import { ApiKeys, type NewApiKey, newApiKey, newApiKeySchema, type Revocation } from './api-keys';
import { AccountStore } from './redis-account-store';
import { ApiKeyStore } from './redis-api-key-store';

describe('manage api keys', () => {
  const NOW = 1_700_000_000_000;
  const clock = () => NOW;
  const newId = createNewId(clock);

  let redis: TestRedis;
  let apiKeyStore: ApiKeyStore;
  let accountStore: AccountStore;
  beforeAll(async () => {
    redis = await openTestRedis();
    apiKeyStore = new ApiKeyStore(redis.client);
    accountStore = new AccountStore(redis.client);
  });
  afterAll(() => redis.close());

  const open = () => new ApiKeys({ apiKeyStore, accountStore, clock });
  const apiKeys = {
    issue: (accountId: AccountId, input: NewApiKey, issue = { key: newApiKey(newId), createdAt: NOW }) =>
      open().issue(accountId, input, issue),
    revoke: (accountId: AccountId, id: string, how?: Revocation) => open().revoke(accountId, id, how),
    list: (accountId: AccountId, limit: number, before?: string) => open().list(accountId, limit, before),
  };
  const authenticate = (key: string) =>
    openAuthentication(redis.client, { clock }).authenticateAgain(`Bearer ${key}`);

  async function createAccount() {
    const id = uniqueAccountId();
    await accountStore.create({ id, createdAt: NOW });
    return id;
  }

  describe('issue', () => {
    it('gives a key that is good for what it was issued for, and whose record does not hold it', async () => {
      const accountId = await createAccount();
      const { key, apiKey } = await apiKeys.issue(accountId, {
        name: 'ci',
        scopes: ['events:write'],
        expiresAt: NOW + 1,
      });
      expect(await authenticate(key)).toEqual(apiKey);
      expect(apiKey).toEqual({
        id: key.slice(4, 20),
        accountId,
        name: 'ci',
        scopes: ['events:write'],
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        createdAt: NOW,
        expiresAt: NOW + 1,
      });
    });
  });

  it('issues a key that acts for accounts to the operator alone', async () => {
    const acting: NewApiKey = { name: 'backend', scopes: ['accounts:act', 'events:write'] };
    await accountStore.create({ id: DEFAULT_ACCOUNT, createdAt: NOW });
    expect((await apiKeys.issue(DEFAULT_ACCOUNT, acting)).apiKey.scopes).toEqual(acting.scopes);
    await expect(apiKeys.issue(await createAccount(), acting)).rejects.toMatchObject({
      code: 'invalid_request',
      validationErrors: [{ pointer: '/scopes' }],
    });
  });

  describe('rotating', () => {
    const HOUR_MS = 3_600_000;
    const rotation = () => ({ key: newApiKey(newId), createdAt: NOW });

    async function issueOne(change: Partial<NewApiKey> = {}) {
      const accountId = await createAccount();
      const input: NewApiKey = { name: 'ci', scopes: ['events:write'], eventTypes: ['order.*'], ...change };
      return { accountId, ...(await apiKeys.issue(accountId, input)) };
    }

    it('gives a key that may do the same, and lets the former one end after the overlap', async () => {
      const { accountId, key, apiKey } = await issueOne();
      const made = await open().rotate(accountId, apiKey.id, rotation(), { overlapMs: HOUR_MS });
      expect(made.apiKey).toMatchObject({ name: 'ci', scopes: ['events:write'], eventTypes: ['order.*'] });
      expect(made.former).toMatchObject({ expiresAt: NOW + HOUR_MS, rotatedTo: made.apiKey.id });
      expect(await authenticate(made.key)).toEqual(made.apiKey);
      expect(await authenticate(key)).toEqual(made.former);
      const later = openAuthentication(redis.client, { clock: () => NOW + HOUR_MS });
      await expect(later.authenticateAgain(`Bearer ${key}`)).rejects.toMatchObject({
        code: 'unauthenticated',
      });
      expect(await later.authenticateAgain(`Bearer ${made.key}`)).toEqual(made.apiKey);
    });

    it('prolongs the life of no key', async () => {
      const { accountId, apiKey } = await issueOne({ expiresAt: NOW + 5 });
      const { former } = await open().rotate(accountId, apiKey.id, rotation(), { overlapMs: HOUR_MS });
      expect(former.expiresAt).toBe(NOW + 5);
    });

    it('gives the same key when it is repeated, and refuses to rotate a key twice', async () => {
      const { accountId, apiKey } = await issueOne();
      const issue = rotation();
      const made = await open().rotate(accountId, apiKey.id, issue, { overlapMs: HOUR_MS });
      expect(await open().rotate(accountId, apiKey.id, issue, { overlapMs: HOUR_MS })).toEqual(made);
      const again = open().rotate(accountId, apiKey.id, rotation(), { overlapMs: HOUR_MS });
      await expect(again).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining(made.apiKey.id),
      });
    });

    it('brings back no new key that was revoked, when it is repeated', async () => {
      const { accountId, apiKey } = await issueOne();
      const issue = rotation();
      const made = await open().rotate(accountId, apiKey.id, issue, { overlapMs: HOUR_MS });
      await apiKeys.revoke(accountId, made.apiKey.id);
      const repeated = open().rotate(accountId, apiKey.id, issue, { overlapMs: HOUR_MS });
      await expect(repeated).rejects.toMatchObject({ code: 'not_found' });
      await expect(authenticate(made.key)).rejects.toMatchObject({ code: 'unauthenticated' });
    });

    it('makes one key of two rotations at once', async () => {
      const { accountId, apiKey } = await issueOne();
      const both = await Promise.allSettled(
        [rotation(), rotation()].map((issue) =>
          open().rotate(accountId, apiKey.id, issue, { overlapMs: HOUR_MS }),
        ),
      );
      expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const { apiKeys: left } = await apiKeys.list(accountId, 10);
      expect(left).toHaveLength(2);
      const former = left.find(({ id }) => id === apiKey.id);
      expect(left.map(({ id }) => id)).toContain(former?.rotatedTo);
    });

    it('counts a key that was rotated as none that can issue others', async () => {
      const { accountId, apiKey } = await issueOne({ scopes: ['admin'] });
      const made = await open().rotate(accountId, apiKey.id, rotation(), { overlapMs: HOUR_MS });
      await expect(apiKeys.revoke(accountId, made.apiKey.id)).rejects.toMatchObject({
        code: 'last_admin_key',
      });
    });

    it('leaves no key in the place of one that is revoked meanwhile', async () => {
      const { accountId, apiKey } = await issueOne();
      class Revoking extends ApiKeyStore {
        override async save(saved: Parameters<ApiKeyStore['save']>[0]) {
          await super.save(saved);
          await apiKeyStore.remove(apiKey);
        }
      }
      const late = new ApiKeys({ apiKeyStore: new Revoking(redis.client), accountStore, clock });
      const rotated = late.rotate(accountId, apiKey.id, rotation(), { overlapMs: HOUR_MS });
      await expect(rotated).rejects.toMatchObject({ code: 'not_found' });
      expect((await apiKeys.list(accountId, 10)).apiKeys).toEqual([]);
    });

    it.each([
      [
        'of another account',
        async ({ apiKey }: { apiKey: { id: string } }) => [await createAccount(), apiKey.id],
      ],
      ['that is unknown', async ({ accountId }: { accountId: AccountId }) => [accountId, '0'.repeat(16)]],
    ] as const)('refuses a key %s', async (_which, choose) => {
      const [account, id] = await choose(await issueOne());
      const rotated = open().rotate(account as AccountId, id as string, rotation(), { overlapMs: 0 });
      await expect(rotated).rejects.toMatchObject({ code: 'not_found' });
    });

    it('refuses a key that has expired', async () => {
      const { accountId, apiKey } = await issueOne({ expiresAt: NOW });
      const rotated = open().rotate(accountId, apiKey.id, rotation(), { overlapMs: 0 });
      await expect(rotated).rejects.toMatchObject({ code: 'conflict' });
    });
  });

  describe('issuing from the same again', () => {
    it('gives the same key, which is listed once', async () => {
      const accountId = await createAccount();
      const input = { name: 'ci', scopes: ['admin' as const] };
      const issue = { key: newApiKey(newId), createdAt: NOW - 1 };
      const first = await apiKeys.issue(accountId, input, issue);
      expect(await apiKeys.issue(accountId, input, issue)).toEqual(first);
      expect((await apiKeys.list(accountId, 10)).apiKeys).toEqual([first.apiKey]);
    });

    it('leaves a key of the same id but another secret part without use', async () => {
      const accountId = await createAccount();
      const input = { name: 'ci', scopes: ['admin' as const] };
      const never = newApiKey(newId);
      await apiKeys.issue(accountId, input, { key: never, createdAt: NOW });
      const shown = `${never.slice(0, 21)}${newApiKey(newId).slice(21)}`;
      await apiKeys.issue(accountId, input, { key: shown, createdAt: NOW });
      await expect(authenticate(never)).rejects.toMatchObject({
        code: 'unauthenticated',
      });
      expect(await authenticate(shown)).toMatchObject({ accountId });
      expect((await apiKeys.list(accountId, 10)).apiKeys).toHaveLength(1);
    });
  });

  describe('revoke', () => {
    it("refuses what is not there, and another account's key, in the same way", async () => {
      const accountId = await createAccount();
      const { apiKey } = await apiKeys.issue(await createAccount(), { name: 'ci', scopes: ['admin'] });
      const notFound = { code: 'not_found', message: 'There is no API key with this id.' };
      await expect(apiKeys.revoke(accountId, apiKey.id)).rejects.toMatchObject(notFound);
      await expect(apiKeys.revoke(accountId, '0000000000000000')).rejects.toMatchObject(notFound);
      expect(await apiKeyStore.find(apiKey.id)).toEqual(apiKey);
    });

    it('revokes a key once, also when several ask for it at the same time', async () => {
      const accountId = await createAccount();
      const { apiKey } = await apiKeys.issue(accountId, { name: 'ci', scopes: ['admin'] });
      const answers = await Promise.allSettled(
        [1, 2, 3].map(() => apiKeys.revoke(accountId, apiKey.id, { mayBeLast: true })),
      );
      expect(answers.filter(({ status }) => status === 'fulfilled').length).toBe(1);
      expect((await apiKeys.list(accountId, 10)).apiKeys).toEqual([]);
    });
  });

  describe('revoking the last key that can issue others', () => {
    const LAST = { code: 'last_admin_key' };
    const issue = async (accountId: AccountId, input: Partial<NewApiKey> = {}) =>
      (await apiKeys.issue(accountId, { name: 'ci', scopes: ['admin'], ...input })).apiKey;

    it('is refused, unless it may be the last', async () => {
      const accountId = await createAccount();
      const { id } = await issue(accountId);
      await issue(accountId, { scopes: ['webhooks:read', 'webhooks:write'] });
      await issue(accountId, { expiresAt: NOW });
      await issue(await createAccount());
      await expect(apiKeys.revoke(accountId, id)).rejects.toMatchObject(LAST);
      expect(await apiKeyStore.find(id)).toMatchObject({ id });
      await apiKeys.revoke(accountId, id, { mayBeLast: true });
      expect(await apiKeyStore.find(id)).toBeUndefined();
    });

    it('leaves it alone when it is another key that goes: one of two, one that can not, one that has expired', async () => {
      const accountId = await createAccount();
      const last = await issue(accountId);
      const others = [{}, { scopes: ['webhooks:read' as const] }, { expiresAt: NOW }];
      for (const other of others) await apiKeys.revoke(accountId, (await issue(accountId, other)).id);
      await expect(apiKeys.revoke(accountId, last.id)).rejects.toMatchObject(LAST);
    });

    it('finds the other one among hundreds of keys', async () => {
      const accountId = await createAccount();
      const first = await issue(accountId);
      for (let i = 0; i < 120; i += 1) await issue(accountId, { scopes: ['webhooks:read'] });
      const { id } = await issue(accountId);
      await apiKeys.revoke(accountId, id);
      await expect(apiKeys.revoke(accountId, first.id)).rejects.toMatchObject(LAST);
    });

    it('leaves one when all are revoked at the same time', async () => {
      const accountId = await createAccount();
      const issued = [await issue(accountId), await issue(accountId), await issue(accountId)];
      const answers = await Promise.allSettled(issued.map(({ id }) => apiKeys.revoke(accountId, id)));
      expect(answers.filter(({ status }) => status === 'rejected')).toMatchObject([{ reason: LAST }]);
      expect((await apiKeys.list(accountId, 10)).apiKeys).toHaveLength(1);
    });
  });

  describe('for an account that is erased meanwhile', () => {
    const input = { name: 'ci', scopes: ['admin' as const] };
    const keysOf = (accountId: string) => redis.client.keys(`*${accountId}*`);

    it('issues none while that goes on, and leaves none behind', async () => {
      const accountId = await createAccount();
      await accountStore.markErasing(accountId, NOW);
      await expect(apiKeys.issue(accountId, input)).rejects.toMatchObject({ code: 'not_found' });
      expect(await keysOf(accountId)).toEqual([]);
    });

    it('issues none for a request that was slower than the erasure, and leaves none behind', async () => {
      const accountId = await createAccount();
      await accountStore.remove({ id: accountId, createdAt: NOW }, NOW, NOW + 1);
      const key = newApiKey(newId);
      const issued = apiKeys.issue(accountId, input, { key, createdAt: NOW });
      await expect(issued).rejects.toMatchObject({ code: 'not_found' });
      expect(await apiKeyStore.find(key.slice(4, 20))).toBeUndefined();
      expect(await keysOf(accountId)).toEqual([]);
    });
  });
});

describe('api key input', () => {
  const NOW = Date.parse('2027-01-01T00:00:00Z');
  const schema = newApiKeySchema(() => NOW);
  const VALID = { name: 'ci', scopes: ['events:write', 'webhooks:read'] };

  function pointersOf(input: unknown): string[] {
    const { error } = schema.safeParse(input);
    return error === undefined ? [] : validationErrorsOf(error).map(({ pointer }) => pointer);
  }

  describe('newApiKeySchema', () => {
    it('takes a name and scopes', () => {
      expect(schema.parse(VALID)).toEqual(VALID);
      expect(schema.parse({ ...VALID, expires_at: null })).toEqual(VALID);
      expect(schema.parse({ ...VALID, name: ' ci ' })).toEqual(VALID);
    });

    it.each(['2027-01-01T00:00:00.001Z', '2027-01-01T01:00:00.001+01:00'])('takes %s as its end', (time) => {
      expect(schema.parse({ ...VALID, expires_at: time })).toEqual({ ...VALID, expiresAt: NOW + 1 });
    });

    it.each([
      ['a time that has come', '2027-01-01T00:00:00Z'],
      ['a time without a zone', '2028-01-01T00:00:00'],
      ['a day', '2028-01-01'],
      ['a day that there is not', '2028-02-30T00:00:00Z'],
      ['a number', 1_900_000_000],
      ['a duration', '90d'],
    ])('refuses %s as its end', (_what, time) => {
      expect(pointersOf({ ...VALID, expires_at: time })).toEqual(['/expires_at']);
    });

    it.each<[string, object, string]>([
      ['no scope', { scopes: [] }, '/scopes'],
      ['a scope that there is not', { scopes: ['admin', 'root'] }, '/scopes/1'],
      ['a scope twice', { scopes: ['admin', 'admin'] }, '/scopes'],
      ['no name', { name: ' ' }, '/name'],
      ['a long name', { name: 'n'.repeat(101) }, '/name'],
      ['a name that a terminal would obey', { name: 'a\u001b[2Jb' }, '/name'],
      ['an account', { account_id: 'other' }, '/account_id'],
    ])('refuses %s', (_what, change, pointer) => {
      expect(pointersOf({ ...VALID, ...change })).toEqual([pointer]);
    });
  });
});

describe('new credential', () => {
  describe('newApiKey', () => {
    it('has the form that secret scanners look for', () => {
      expect(newApiKey(createNewId(Date.now))).toMatch(/^whk_[0-9a-z]{16}_[0-9A-Za-z]{52}$/);
    });

    it('is never the same twice, in either part', () => {
      const newId = createNewId(() => 0);
      const keys = Array.from({ length: 1_000 }, () => newApiKey(newId));
      expect(new Set(keys.map(idOfKey)).size).toBe(keys.length);
      expect(new Set(keys.map((key) => key.slice(-52))).size).toBe(keys.length);
    });

    it('is the same of the same ids and bytes, and has another secret part for who has other bytes', () => {
      const keyOf = (secret: string) =>
        newApiKey(createSeededNewId(0, 'seed'), createSeededSecretBytes(secret, 'seed'));
      expect(keyOf('mine')).toBe(keyOf('mine'));
      expect(idOfKey(keyOf('mine'))).toBe(idOfKey(keyOf('other')));
      expect(keyOf('mine').slice(-52)).not.toBe(keyOf('other').slice(-52));
    });
  });
});

describe('bootstrap', () => {
  const NOW = 1_700_000_000_000;

  let redis: TestRedis;
  let store: ApiKeyStore;
  beforeAll(async () => {
    redis = await openTestRedis();
    store = new ApiKeyStore(redis.client);
  });
  afterAll(() => redis.close());

  async function issued() {
    const apiKey = buildApiKey({ scopes: ['webhooks:read'] });
    await store.save(apiKey.record);
    return apiKey;
  }

  function authenticateNow(authorization: string) {
    return openAuthentication(redis.client, { clock: () => NOW }).authenticateAgain(authorization);
  }

  function ensureBootstrapKey(key: string, clock = () => NOW) {
    const accountStore = new AccountStore(redis.client);
    return new ApiKeys({ apiKeyStore: store, accountStore, clock }).ensureBootstrapKey(key);
  }

  describe('ensureBootstrapKey', () => {
    it('creates the key, with every scope, for the default account', async () => {
      const { key, record } = buildApiKey();
      await ensureBootstrapKey(key);
      expect(await authenticateNow(`Bearer ${key}`)).toEqual({
        id: record.id,
        accountId: DEFAULT_ACCOUNT,
        sha256: record.sha256,
        scopes: known,
        name: 'bootstrap',
        createdAt: NOW,
      });
    });

    // The version before can't read another one, and `admin` implies it.
    const known = scopes.filter((scope) => scope !== 'accounts:act');

    it('leaves the key as it is when it is there already', async () => {
      const { key, record } = await issued();
      await ensureBootstrapKey(key, () => NOW + 1);
      expect(await store.find(record.id)).toEqual(record);
    });

    it('gives the key the scopes that have come since an earlier version made it', async () => {
      const { key, record } = buildApiKey({ accountId: DEFAULT_ACCOUNT, scopes: ['admin'] });
      await store.save({ ...record, name: 'bootstrap' });
      await ensureBootstrapKey(key);
      expect(await store.find(record.id)).toEqual({ ...record, name: 'bootstrap', scopes: known });
    });

    it('replaces a key of the same id that has another secret part', async () => {
      const { key, record } = await issued();
      const newKey = key.slice(0, 21) + buildApiKey().key.slice(21);
      await ensureBootstrapKey(newKey);
      expect(await authenticateNow(`Bearer ${newKey}`)).toMatchObject({ id: record.id, name: 'bootstrap' });
      await expect(authenticateNow(`Bearer ${key}`)).rejects.toMatchObject({ code: 'unauthenticated' });
    });

    it('shows up once in the list, also when it was replaced or several processes start at the same time', async () => {
      await redis.client.flushdb();
      const { key, record } = await issued();
      const newKey = key.slice(0, 21) + buildApiKey().key.slice(21);
      const times = [NOW, NOW + 1, NOW + 2];
      await Promise.all(times.map((time) => ensureBootstrapKey(newKey, () => time)));
      const { apiKeys } = await store.list(DEFAULT_ACCOUNT, 10);
      expect(apiKeys.map(({ id }) => id)).toEqual([record.id]);
      expect((await store.list(record.accountId, 10)).apiKeys).toEqual([]);
    });

    it('does not repeat a key that has not the form of one', async () => {
      await expect(ensureBootstrapKey('whk_mine')).rejects.toThrow(/^BOOTSTRAP_API_KEY(?!.*mine)/);
    });
  });
});
