import { createNewId } from '../kernel/ids';
import type { AccountId } from '../model/event';
import { noSessions } from '../testing/no-sessions';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId } from '../testing/unique-ids';
import type { NewApiKey } from './api-key-input';
import { createAuthenticate } from './authenticate';
import { createManageApiKeys, type ManageApiKeys } from './manage-api-keys';
import { newApiKey } from './new-credential';
import { type AccountStore, createRedisAccountStore } from './redis-account-store';
import { type ApiKeyStore, createRedisApiKeyStore } from './redis-api-key-store';

const NOW = 1_700_000_000_000;
const clock = () => NOW;
const newId = createNewId(clock);

let redis: TestRedis;
let apiKeyStore: ApiKeyStore;
let accountStore: AccountStore;
let apiKeys: ManageApiKeys;
beforeAll(async () => {
  redis = await openTestRedis();
  apiKeyStore = createRedisApiKeyStore(redis.client);
  accountStore = createRedisAccountStore(redis.client);
  apiKeys = createManageApiKeys({
    apiKeyStore,
    accountStore,
    newKey: () => newApiKey(newId),
    clock,
  });
});
afterAll(() => redis.close());

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
    const authenticate = createAuthenticate({
      authenticateSession: noSessions,
      apiKeyStore,
      noteUse: () => {},
      clock,
    });
    expect(await authenticate(`Bearer ${key}`)).toEqual(apiKey);
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
    const authenticate = createAuthenticate({
      authenticateSession: noSessions,
      apiKeyStore,
      noteUse: () => {},
      clock,
    });
    await expect(authenticate(`Bearer ${never}`)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await authenticate(`Bearer ${shown}`)).toMatchObject({ accountId });
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
