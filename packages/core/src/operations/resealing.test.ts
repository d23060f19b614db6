import { randomBytes } from 'node:crypto';
import { AuditLog } from '../accounts/audit/redis-audit-log';
import { AccountStore } from '../accounts/redis-account-store';
import { AccessTokenStore } from '../deliver/redis-access-token-store';
import type { AccountId } from '../domain/account';
import type { Endpoint } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { type SealedStore, Sealer } from '../endpoints/seal';
import { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { findSigner } from '../endpoints/signing-keys/signing-keys';
import { ContactStore } from '../notifications/redis-contact-store';
import { sealingKeysSchema } from '../platform/sealing-key';
import { buildAct } from '../testing/build-act';
import { buildContact } from '../testing/build-contact';
import { buildEndpoint } from '../testing/build-endpoint';
import { clientCertificate, clientKey } from '../testing/certificates';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { WorkerReports } from './redis-worker-reports';
import { Resealing, type SealedCounts, type SealedKind } from './resealing';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
beforeEach(() => redis.client.flushdb());
afterAll(() => redis.close());

const [OLD, NEW, LOST] = [1, 2, 3].map(() => randomBytes(32).toString('base64'));
const sealerOf = (...texts: (string | undefined)[]) =>
  new Sealer(texts.length === 0 ? [] : sealingKeysSchema.parse(texts.join(',')));
const NOW = 1_700_000_000_000;
const HOUR = 3_600_000;

/** What a process with these keys works with. */
function openStores(sealer: Sealer) {
  const { client } = redis;
  return {
    webhooks: new EndpointStore(client, sealer),
    signing_keys: new SigningKeyStore(client, sealer),
    contacts: new ContactStore(client, sealer),
    access_tokens: new AccessTokenStore(client, sealer),
  };
}
type TestStores = ReturnType<typeof openStores>;

function resealingWith(stores: Partial<Record<SealedKind, SealedStore>> = {}, sealer = sealerOf(NEW, OLD)) {
  const [firstKey = { id: '' }] = sealingKeysSchema.parse(NEW);
  return new Resealing({
    redis: redis.client,
    stores: { ...openStores(sealer), ...stores },
    firstKey,
    auditLog: new AuditLog(redis.client),
    workerReports: new WorkerReports(redis.client),
  });
}

const ignore = () => {};
const reseal = (resealing = resealingWith()) =>
  resealing.reseal(buildAct({ action: 'encryption_key.reseal' }), ignore);
const leftOf = (counts: SealedCounts) =>
  Object.fromEntries(Object.entries(counts).map(([kind, { left }]) => [kind, left]));

const secretsOf = (accountId: AccountId): Partial<Endpoint> => ({
  accountId,
  headers: { 'x-token': 'header secret', 1: 'of a number' },
  tls: { certificate: clientCertificate, key: clientKey },
  auth: {
    type: 'oauth2',
    tokenUrl: 'https://id.example.com/token',
    clientId: 'me',
    clientSecret: 'client secret',
    changedAt: 1,
  },
});

/** An account with something in each store, as processes with this key have left it. */
async function arrange(sealer = sealerOf(OLD)) {
  const accountId = uniqueAccountId();
  await new AccountStore(redis.client).create({ id: accountId, createdAt: NOW });
  const stores = openStores(sealer);
  const endpoint = buildEndpoint(secretsOf(accountId));
  const contact = buildContact({ accountId });
  await stores.webhooks.create(endpoint);
  await stores.contacts.create(contact);
  const { kid } = await findSigner({ signingKeyStore: stores.signing_keys, clock: () => NOW }, accountId);
  const owner = { accountId, id: endpoint.id, auth: { changedAt: 1 } };
  await stores.access_tokens.ask(owner, { owner: 'me', ms: 5_000 }, NOW);
  const token = { version: '1', token: 'the token', refreshAt: NOW + HOUR, expiresAt: NOW + HOUR };
  await stores.access_tokens.keep(owner, 'me', token, NOW);
  return { accountId, endpoint, contact, kid, owner };
}

/** Every key with its value. */
async function dump(): Promise<Record<string, string>> {
  const names = (await redis.client.keys('*')).toSorted();
  const values = await Promise.all(names.map((name) => redis.client.dump(name)));
  return Object.fromEntries(names.map((name, i) => [name, String(values[i])]));
}

async function expectAll(stores: TestStores, { accountId, endpoint, contact, kid, owner }: Arranged) {
  expect(await stores.webhooks.find(accountId, endpoint.id)).toEqual(endpoint);
  expect(await stores.contacts.find(accountId, contact.id)).toEqual(contact);
  const signer = await findSigner({ signingKeyStore: stores.signing_keys, clock: () => NOW }, accountId);
  expect(signer).toMatchObject({ kid, privateKey: { type: 'private' } });
  expect(await stores.access_tokens.ask(owner, { owner: 'other', ms: 1 }, NOW + 1)).toMatchObject({
    kind: 'token',
    token: { token: 'the token' },
  });
}
type Arranged = Awaited<ReturnType<typeof arrange>>;

describe('reseal', () => {
  it('seals every secret of every account under the first key, so that the other one can go', async () => {
    const accounts = [await arrange(), await arrange()];
    const all = { webhooks: 2, signing_keys: 2, contacts: 2, access_tokens: 2 };
    expect(leftOf(await resealingWith().count(ignore))).toEqual(all);
    expect(await reseal()).toEqual(all);
    expect(leftOf(await resealingWith().count(ignore))).toEqual({
      webhooks: 0,
      signing_keys: 0,
      contacts: 0,
      access_tokens: 0,
    });
    for (const account of accounts) await expectAll(openStores(sealerOf(NEW)), account);
  });

  it('leaves nothing under the old key', async () => {
    const { accountId, endpoint } = await arrange();
    const oldId = sealingKeysSchema.parse(OLD)[0]?.id;
    const read = async () => [
      ...(await redis.client.hvals(keys.endpoints(accountId))),
      ...(await redis.client.hvals(keys.contacts(accountId))),
      await redis.client.get(keys.signingKeys(accountId)),
      await redis.client.hget(keys.accessToken(endpoint.id), 'sealed'),
    ];
    for (const value of await read()) expect(value).toContain(`sealed.v1.${oldId}.`);
    await reseal();
    for (const value of await read()) expect(value).not.toContain(`sealed.v1.${oldId}.`);
  });

  it('seals what was stored before there was a key', async () => {
    const account = await arrange(sealerOf());
    await reseal();
    await expectAll(openStores(sealerOf(NEW)), account);
    expect(await redis.client.hget(keys.endpoints(account.accountId), account.endpoint.id)).not.toContain(
      'client secret',
    );
  });

  it('changes nothing else: no time, no version, no end of a token, nothing of a later version', async () => {
    const { accountId, endpoint } = await arrange();
    const store = openStores(sealerOf(NEW, OLD)).webhooks;
    const key = keys.endpoints(accountId);
    const record = JSON.parse((await redis.client.hget(key, endpoint.id)) ?? '');
    const later = { member: 1 };
    const { tls, auth, secrets } = record;
    const laterRecord = {
      ...record,
      later,
      tls: { ...tls, later },
      auth: { ...auth, later },
      secrets: secrets.map((each: object) => ({ ...each, later })),
    };
    await redis.client.hset(key, endpoint.id, JSON.stringify(laterRecord));
    const version = await store.version(accountId);
    const endsAt = await redis.client.pexpiretime(keys.accessToken(endpoint.id));
    await reseal();
    expect(JSON.parse((await redis.client.hget(key, endpoint.id)) ?? '')).toMatchObject({
      later,
      tls: { later },
      auth: { later },
      secrets: [{ later }],
      updatedAt: endpoint.updatedAt,
    });
    expect(await store.version(accountId)).toBe(version);
    expect(await redis.client.pexpiretime(keys.accessToken(endpoint.id))).toBe(endsAt);
  });

  it('leaves a text alone that a later version has sealed in another form', async () => {
    const { accountId, endpoint } = await arrange();
    const key = keys.endpoints(accountId);
    const record = JSON.parse((await redis.client.hget(key, endpoint.id)) ?? '');
    const laterRecord = JSON.stringify({ ...record, headers: { 'x-token': 'sealed.v2.0123abcd.aGVhZGVy' } });
    await redis.client.hset(key, endpoint.id, laterRecord);
    expect(await reseal()).toMatchObject({ webhooks: 0, signing_keys: 1 });
    expect(await redis.client.hget(key, endpoint.id)).toBe(laterRecord);
    expect((await resealingWith().count(ignore)).webhooks).toEqual({ current: 0, left: 0, unreadable: 1 });
  });

  it('writes nothing the second time', async () => {
    await arrange();
    await reseal();
    const { 'audit-index:{all}': _index, 'audit-log:{default}': _log, ...before } = await dump();
    expect(await reseal()).toEqual({ webhooks: 0, signing_keys: 0, contacts: 0, access_tokens: 0 });
    const { 'audit-index:{all}': _index2, 'audit-log:{default}': _log2, ...after } = await dump();
    expect(after).toEqual(before);
  });

  it('goes on where it broke off', async () => {
    const accounts = [await arrange(), await arrange(), await arrange()];
    const breakOff = (count: number) => {
      if (count >= 5) throw new Error('killed');
    };
    await expect(resealingWith().reseal(buildAct(), breakOff)).rejects.toThrow('killed');
    const left = Object.values(leftOf(await resealingWith().count(ignore)));
    expect(left.reduce((sum, each) => sum + each, 0)).toBe(12 - 5);
    await reseal();
    for (const account of accounts) await expectAll(openStores(sealerOf(NEW)), account);
  });

  it('leaves a value alone that another process changes meanwhile, and counts it as left', async () => {
    const { accountId, endpoint } = await arrange();
    const old = openStores(sealerOf(OLD)).webhooks;
    const stores = {
      webhooks: interrupted(
        openStores(sealerOf(NEW, OLD)).webhooks,
        async () =>
          void (await old.update(accountId, endpoint.id, (before) => ({ ...before, description: 'newer' }))),
      ),
    };
    expect(await reseal(resealingWith(stores))).toMatchObject({ webhooks: 0, signing_keys: 1 });
    expect(await old.find(accountId, endpoint.id)).toMatchObject({ description: 'newer' });
    expect(leftOf(await resealingWith().count(ignore))).toMatchObject({ webhooks: 1 });
  });

  it('does not bring back what is deleted or expires meanwhile', async () => {
    const { accountId, endpoint } = await arrange();
    const { webhooks, access_tokens, signing_keys } = openStores(sealerOf(NEW, OLD));
    await reseal(
      resealingWith({
        webhooks: interrupted(webhooks, () => redis.client.del(keys.endpoints(accountId))),
        signing_keys: interrupted(signing_keys, () => redis.client.del(keys.signingKeys(accountId))),
        access_tokens: interrupted(access_tokens, () => redis.client.del(keys.accessToken(endpoint.id))),
      }),
    );
    const gone = [keys.endpoints(accountId), keys.signingKeys(accountId), keys.accessToken(endpoint.id)];
    expect(await redis.client.exists(gone)).toBe(0);
  });

  it('loses no change of processes that change the same webhooks at the same time', async () => {
    const { accountId } = await arrange();
    const ids = Array.from({ length: 50 }, uniqueEndpointId);
    const [before, after] = [openStores(sealerOf(OLD, NEW)), openStores(sealerOf(NEW, OLD))];
    for (const id of ids) await before.webhooks.create(buildEndpoint({ ...secretsOf(accountId), id }));
    const changes = ids.map((id, i) =>
      (i % 2 ? before : after).webhooks.update(accountId, id, (each) => ({ ...each, description: id })),
    );
    await Promise.all([reseal(), reseal(), ...changes]);
    await reseal();
    const found = await openStores(sealerOf(NEW)).webhooks.findAll(accountId, ids);
    expect(found.map(({ description }) => description)).toEqual(ids);
    expect(found.map(({ auth }) => auth)).toEqual(ids.map(() => secretsOf(accountId).auth));
  });

  it('counts what it cannot read, leaves it as it is, and seals the rest', async () => {
    const lost = await arrange(sealerOf(LOST));
    const { accountId } = await arrange();
    const damaged = uniqueEndpointId();
    await redis.client.hset(keys.endpoints(accountId), damaged, '{"id":');
    await redis.client.zadd(keys.endpointIds(accountId), 0, damaged);
    const before = await redis.client.hgetall(keys.endpoints(lost.accountId));
    expect(await reseal()).toEqual({ webhooks: 1, signing_keys: 1, contacts: 1, access_tokens: 1 });
    expect(await redis.client.hgetall(keys.endpoints(lost.accountId))).toEqual(before);
    expect(await resealingWith().count(ignore)).toEqual({
      webhooks: { current: 1, left: 0, unreadable: 2 },
      signing_keys: { current: 1, left: 0, unreadable: 1 },
      contacts: { current: 1, left: 0, unreadable: 1 },
      access_tokens: { current: 1, left: 0, unreadable: 1 },
    });
  });

  it('is in the audit log before its first step, with the id of the key', async () => {
    await arrange();
    const resealing = resealingWith({
      webhooks: {
        sealedValues: () => {
          throw new Error('broke off');
        },
      },
    });
    await expect(reseal(resealing)).rejects.toThrow('broke off');
    const { entries } = await new AuditLog(redis.client).listAllDone({}, 10);
    expect(entries).toMatchObject([
      { action: 'encryption_key.reseal', targetId: resealing.keyId, accountId: 'default' },
    ]);
  });
});

/** The same store, with something that happens between its reading and the next step. */
function interrupted(store: SealedStore, meanwhile: () => Promise<unknown>): SealedStore {
  return {
    async *sealedValues(accountId) {
      for await (const values of store.sealedValues(accountId)) {
        await meanwhile();
        yield values;
      }
    },
  };
}

it('counts without a change, and tells how far it is', async () => {
  await arrange();
  const before = await dump();
  const told: number[] = [];
  const counts = await resealingWith().count((count) => void told.push(count));
  expect(counts.webhooks).toEqual({ current: 0, left: 1, unreadable: 0 });
  expect(told).toEqual([1, 2, 3, 4]);
  expect(await dump()).toEqual(before);
});

it('names the workers that could not open what the first key seals', async () => {
  const reports = new WorkerReports(redis.client);
  const budget = { inUse: 0, allowed: 1 };
  const report = { host: 'h', pid: 1, version: '0', startedAt: NOW, slots: { quick: budget, slow: budget } };
  const { keyId } = resealingWith();
  const given = { lacking: ['other'], having: ['other', keyId], earlier: undefined };
  for (const [id, sealingKeys] of Object.entries(given)) {
    await reports.save({ ...report, id, attemptsPerSecond: 0, ...(sealingKeys && { sealingKeys }) });
  }
  expect(await resealingWith().workersWithoutKey()).toEqual(['lacking']);
});
