import { AuthFailures } from '../accounts/auth-failures';
import { Authentication, type AuthenticationParts } from '../accounts/authentication';
import { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import { AccountStore } from '../accounts/redis-account-store';
import { ApiKeyStore } from '../accounts/redis-api-key-store';
import { PauseStore } from '../accounts/redis-pause-store';
import { keepCopies } from '../accounts/redis-record-copies';
import type { Act } from '../domain/audit';
import { keys } from '../domain/keys';
import { oneShard } from '../domain/queues';
import type { EndpointUid } from '../domain/setting-schemas';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { TransformationStore } from '../endpoints/redis-transformation-store';
import { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { VerificationStore } from '../endpoints/verification/redis-verification-store';
import { PgRecordCopies } from '../history/database/pg-record-copies';
import { ContactStore } from '../notifications/redis-contact-store';
import { PausedQueues } from '../queue/bullmq-paused-queues';
import { QueueStandings } from '../queue/bullmq-queue-standings';
import { buildAct } from '../testing/build-act';
import { buildApiKey } from '../testing/build-api-key';
import { buildContact } from '../testing/build-contact';
import { buildEndpoint } from '../testing/build-endpoint';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { hasPostgres, NO_POSTGRES } from '../testing/postgres-server';
import { recordSignals } from '../testing/record-signals';
import { openTestHistory, type TestHistory } from '../testing/test-history';
import { openTestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { Queues } from './queues';
import { ConfigurationCopy, type ConfigurationCopyParts } from './redis-configuration-copy';
import { Rebuild, type RebuildParts } from './redis-rebuild';

if (!hasPostgres) console.warn(`SKIPPED: copies of what is configured, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const NOW = Date.now();

describePostgres('copies of what is configured', () => {
  let history: TestHistory;
  const { willClose, closeAll } = createClosables();
  beforeAll(async () => {
    history = await openTestHistory();
  });
  beforeEach(async () => {
    await history.server.start();
    await history.database.connected((client) => client.query('TRUNCATE webhook_records'));
  });
  afterEach(closeAll);
  afterAll(() => history.close());

  async function arrange(given: Partial<ConfigurationCopyParts> = {}) {
    const { client } = willClose(await openTestRedis());
    const { listen, named } = recordSignals();
    const pgRecordCopies = new PgRecordCopies(history.database);
    const parts = { redis: client, pgRecordCopies, whenAway: 'refused', emit: listen, ...given } as const;
    const copy = new ConfigurationCopy(parts);
    willClose({ close: () => copy.stop() });
    keepCopies(client, copy);
    const endpointStore = new EndpointStore(client, testSealer);
    const erased: string[] = [];
    const rebuild = new Rebuild({
      ...parts,
      endpointStore,
      verificationStore: new VerificationStore(client),
      transformationStore: new TransformationStore(client),
      erasureQueue: fake<RebuildParts['erasureQueue']>({ add: async (id) => void erased.push(id) }),
      pausedQueues: new PausedQueues(client, oneShard('bull')),
      clock: Date.now,
    });
    const stores = {
      accounts: new AccountStore(client),
      apiKeys: new ApiKeyStore(client),
      endpoints: endpointStore,
      signingKeys: new SigningKeyStore(client, testSealer),
      contacts: new ContactStore(client, testSealer),
      eventTypes: new EventTypeStore(client),
      transformations: new TransformationStore(client),
      pauses: new PauseStore(client),
    };
    /** An account with one of everything. */
    async function configure() {
      const endpoint = buildEndpoint({ uid: 'crm' as EndpointUid });
      const { accountId, id } = endpoint;
      await stores.accounts.create({
        id: accountId,
        createdAt: NOW,
        name: 'Acme',
        weight: 3,
        quotaBytes: 5_000,
      });
      await stores.endpoints.create(endpoint);
      const apiKey = buildApiKey({ accountId });
      await stores.apiKeys.save(apiKey.record);
      const sealed = stores.signingKeys.seal(accountId, 'kid_1', 'private');
      const signing = { kid: 'kid_1', publicKey: 'public', privateKey: sealed, createdAt: NOW };
      await stores.signingKeys.update(accountId, () => ({ keys: [signing] }) as never);
      await stores.contacts.create(buildContact({ accountId }));
      await stores.eventTypes.replace({
        name: 'order.paid',
        description: 'Paid',
        schema: {},
        example: {},
        deprecated: false,
        updatedAt: NOW,
      });
      await stores.transformations.save(
        id,
        { code: 'export default 1', savedAt: NOW, savedBy: 'key' },
        accountId,
      );
      return { accountId, id, endpoint, apiKey };
    }
    /** All that is in Redis but what is made anew, or is not copied. */
    async function read() {
      const found: Record<string, unknown> = {};
      for (const key of (await client.keys('*')).toSorted()) {
        if (/^(subscriptions|endpoints-version|contact-accounts|epoch)/.test(key)) continue;
        const type = await client.type(key);
        if (type === 'string') found[key] = await client.get(key);
        if (type === 'hash') found[key] = await client.hgetall(key);
        if (type === 'zset') found[key] = await client.zrange(key, '0', '-1', 'WITHSCORES');
      }
      return found;
    }
    return { client, copy, pgRecordCopies, rebuild, stores, configure, read, erased, named };
  }

  it('fill an empty Redis with the same as before, byte for byte', async () => {
    const { client, rebuild, stores, configure, read } = await arrange();
    const { accountId, id, endpoint } = await configure();
    const before = await read();
    await client.flushdb();
    expect(await rebuild.run()).toEqual({
      pauses: 0,
      accounts: 1,
      event_types: 1,
      signing_keys: 1,
      transformations: 1,
      webhooks: 1,
      contacts: 1,
      api_keys: 1,
      failed: 0,
    });
    expect(await read()).toEqual(before);
    expect(await stores.endpoints.find(accountId, id)).toEqual(endpoint);
    expect(await stores.endpoints.listSubscribers(accountId)).toMatchObject([{ id }]);
    expect(Object.values(await rebuild.run())).toEqual(Array.from({ length: 9 }, () => 0));
  });

  it('go on with the numbers of saved code, and keep no more versions than Redis', async () => {
    const { client, rebuild, stores, configure } = await arrange();
    const { accountId, id } = await configure();
    const save = async () =>
      await stores.transformations.save(
        id,
        { code: 'export default 2', savedAt: NOW, savedBy: 'key' },
        accountId,
      );
    for (let version = 2; version <= 22; version += 1) expect(await save()).toBe(version);
    const before = await stores.transformations.list(id);
    await client.flushdb();
    expect(await rebuild.run()).toMatchObject({ transformations: 20 });
    expect(await stores.transformations.list(id)).toEqual(before);
    expect(await save()).toBe(23);
  });

  it('have what was paused paused again, and nothing that was resumed', async () => {
    const { client, copy, rebuild, stores, configure } = await arrange();
    const { accountId } = await configure();
    const queues = new Queues({
      redis: client,
      shards: oneShard('bull'),
      standings: new QueueStandings(client, oneShard('bull')),
      pauseStore: stores.pauses,
      clock: Date.now,
    });
    const act = (action: Act['action']) => buildAct({ action });
    await stores.pauses.pause({ kind: 'account', id: accountId }, 'unpaid', act('account.pause'));
    await queues.pause('deliveries', 'an incident', act('queue.pause'));
    await queues.pause('events', undefined, act('queue.pause'));
    await queues.resume('events', act('queue.resume'));
    const before = await client.hgetall(keys.pauses);
    await client.flushdb();
    expect(await rebuild.run()).toMatchObject({ pauses: 2 });
    expect(await client.hgetall(keys.pauses)).toEqual(before);
    expect((await queues.list()).map(({ name, pausedShards }) => [name, pausedShards])).toEqual(
      expect.arrayContaining([
        ['deliveries', 1],
        ['events', 0],
      ]),
    );
    await copy.eraseAccount(accountId);
    await client.flushdb();
    expect(await rebuild.run()).toMatchObject({ pauses: 1 });

    // As in a Cluster, where the queue is on another node than the record.
    expect(await client.del('bull:deliveries:meta')).toBe(1);
    expect(await rebuild.run()).toMatchObject({ pauses: 0 });
    expect(await queues.list()).toContainEqual(
      expect.objectContaining({ name: 'deliveries', pausedShards: 1 }),
    );
  });

  it('never bring back what was removed', async () => {
    const { client, rebuild, stores, configure } = await arrange();
    const { accountId, id, apiKey } = await configure();
    await stores.apiKeys.remove(apiKey.record);
    await stores.transformations.remove(accountId, id);
    await stores.endpoints.remove(accountId, id);
    await stores.eventTypes.remove('order.paid');
    await client.flushdb();
    expect(await rebuild.run()).toMatchObject({
      accounts: 1,
      webhooks: 0,
      api_keys: 0,
      transformations: 0,
      event_types: 0,
    });
    expect(await stores.apiKeys.find(apiKey.record.id)).toBeUndefined();
  });

  it('know a key as revoked from before it is removed: a process may end in between', async () => {
    const { client, rebuild, stores, configure, pgRecordCopies } = await arrange();
    const { apiKey } = await configure();
    const { id } = apiKey.record;
    const locked = jest.spyOn(pgRecordCopies, 'locked').mockRejectedValueOnce(new Error('It ended.'));
    await expect(stores.apiKeys.remove(apiKey.record)).rejects.toMatchObject({ code: 'storage_unavailable' });
    expect(locked).toHaveBeenCalled();
    expect(await stores.apiKeys.find(id)).toBeDefined();
    await client.flushdb();
    expect(await rebuild.run()).toMatchObject({ api_keys: 0 });
  });

  it('are made again by a repetition, if a process ended between Redis and the copy', async () => {
    const { client, rebuild, stores, configure, pgRecordCopies } = await arrange();
    const { accountId, id } = await configure();
    const locked = pgRecordCopies.locked.bind(pgRecordCopies);
    jest.spyOn(pgRecordCopies, 'locked').mockImplementationOnce((name, work) =>
      locked(name, async (found) => {
        await work(found);
        throw new Error('It ended.');
      }),
    );
    const rename = () => stores.endpoints.update(accountId, id, (one) => ({ ...one, description: 'new' }));
    await expect(rename()).rejects.toMatchObject({ code: 'storage_unavailable' });
    await rename();
    await client.flushdb();
    await rebuild.run();
    expect(await stores.endpoints.find(accountId, id)).toMatchObject({ description: 'new' });
  });

  it('bring a Redis that went back up to date: changes, removals, and an erased account', async () => {
    const { client, copy, rebuild, stores, configure, erased } = await arrange();
    const one = await configure();
    const other = await configure();
    const dumps = await Promise.all(
      (await client.keys('*')).map(async (key) => [key, await client.dumpBuffer(key)] as const),
    );
    const since = Date.now();
    await stores.endpoints.update(one.accountId, one.id, (each) => ({ ...each, description: 'new' }));
    const added = buildEndpoint({ accountId: one.accountId });
    await stores.endpoints.create(added);
    await stores.apiKeys.remove(one.apiKey.record);
    await copy.eraseAccount(other.accountId);
    await stores.accounts.remove({ id: other.accountId, createdAt: NOW }, NOW, NOW);
    await client.flushdb();
    for (const [key, dump] of dumps) await client.restore(key, 0, dump);
    await rebuild.run(since);
    expect(await stores.endpoints.find(one.accountId, one.id)).toMatchObject({ description: 'new' });
    expect(await stores.endpoints.find(one.accountId, added.id)).toEqual(added);
    expect(await stores.apiKeys.find(one.apiKey.record.id)).toBeUndefined();
    expect(erased).toEqual([other.accountId]);
    expect(await stores.accounts.find(other.accountId)).toMatchObject({ erasingSince: expect.any(Number) });
    expect(await stores.apiKeys.find(other.apiKey.record.id)).toBeUndefined();
  });

  it('are made of what is there from before', async () => {
    const { client, copy, rebuild, configure, read } = await arrange();
    await configure();
    const before = await read();
    await history.database.connected((pg) => pg.query('TRUNCATE webhook_records'));
    expect(await copy.fill()).toBe(7);
    expect(await copy.fill()).toBe(0);
    await client.flushdb();
    await rebuild.run();
    expect(await read()).toEqual(before);
  });

  it('keep a change from being made over what Redis has lost', async () => {
    const { client, rebuild, stores, configure } = await arrange();
    const { accountId } = await configure();
    await client.flushdb();
    const again = () => stores.accounts.create({ id: accountId, createdAt: NOW + 1 });
    await expect(again()).rejects.toMatchObject({ code: 'storage_unavailable' });
    await rebuild.run();
    expect(await again()).toBe(false);
    expect(await stores.accounts.find(accountId)).toMatchObject({ name: 'Acme', weight: 3 });
  });

  it('let a key that Redis has lost be told from one that is unknown, and nobody be locked out for it', async () => {
    const { client, copy, stores, configure } = await arrange();
    const { apiKey } = await configure();
    const authFailures = new AuthFailures({ allowance: { count: 1, windowMs: 60_000 }, clock: Date.now });
    const authentication = new Authentication(
      fake<AuthenticationParts>({
        apiKeyStore: stores.apiKeys,
        accountStore: stores.accounts,
        configurationCopy: copy,
        authFailures,
        clock: Date.now,
      }),
    );
    const ask = (key: string) => authentication.authenticate(`Bearer ${key}`, '203.0.113.1');
    await client.flushdb();
    for (let i = 0; i < 3; i += 1)
      await expect(ask(apiKey.key)).rejects.toMatchObject({ code: 'storage_unavailable' });
    await expect(ask(buildApiKey().key)).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(ask(buildApiKey().key)).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('are waited for: without PostgreSQL a change is refused, and not made', async () => {
    const { stores, configure, client } = await arrange();
    const { accountId } = await configure();
    await history.server.stop();
    const added = buildEndpoint({ accountId });
    await expect(stores.endpoints.create(added)).rejects.toMatchObject({ code: 'storage_unavailable' });
    expect(await client.hexists(keys.endpoints(accountId), added.id)).toBe(0);
  });

  it('are made later where nobody waits for them', async () => {
    const { stores, configure, client, rebuild, copy } = await arrange({ whenAway: 'later' });
    const { accountId, apiKey } = await configure();
    await history.server.stop();
    const added = buildEndpoint({ accountId });
    expect(await stores.endpoints.create(added)).toBe(true);
    expect(await stores.apiKeys.remove(apiKey.record)).toBe(true);
    await history.server.start();
    while (!(await copy.has({ key: keys.endpoints(accountId), field: added.id }).catch(() => false)));
    while (await copy.has({ key: keys.apiKey(apiKey.record.id) }));
    await client.flushdb();
    expect(await rebuild.run()).toMatchObject({ webhooks: 2, api_keys: 0 });
  });
});
