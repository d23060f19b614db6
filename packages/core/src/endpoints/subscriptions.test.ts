import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { buildEndpoint } from '../testing/build-endpoint';
import { fake } from '../testing/fake';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { EndpointStore } from './redis-endpoint-store';
import type { Subscriber } from './redis-subscriptions';
import { Subscriptions } from './subscriptions';

let redis: TestRedis;
let store: EndpointStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = new EndpointStore(redis.client, testSealer);
});
afterAll(() => redis.close());

async function saved(accountId: AccountId, ...events: string[]): Promise<EndpointId> {
  const endpoint = buildEndpoint({ accountId, events });
  await store.create(endpoint);
  return endpoint.id;
}

const idsOf = (subscribers: readonly Subscriber[]) => subscribers.map(({ id }) => id);

/** Asked for an account as it is at this moment. */
function asked(subscriptions: Subscriptions) {
  return {
    subscribersOf: async (accountId: AccountId, type: string) =>
      (await subscriptions.current(accountId)).subscribedTo(type).subscribers,
    presentOf: async (accountId: AccountId, ids: readonly EndpointId[]) =>
      (await subscriptions.current(accountId)).presentOf(ids),
  };
}

/** Subscriptions that tell for which accounts the endpoints were loaded. */
function buildSubscriptions() {
  const loads: AccountId[] = [];
  const subscriptions = new Subscriptions(
    fake<EndpointStore>({
      version: (account) => store.version(account),
      listSubscribers(accountId) {
        loads.push(accountId);
        return store.listSubscribers(accountId);
      },
    }),
  );
  return { ...asked(subscriptions), loads };
}

describe('subscribersOf', () => {
  it("gives the account's endpoints that asked for the type, by name, by prefix or for all", async () => {
    const accountId = uniqueAccountId();
    const byName = await saved(accountId, 'keyword.quick_win');
    const byPrefix = await saved(accountId, 'brief.*', 'keyword.*');
    const forAll = await saved(accountId, '*');
    await saved(accountId, 'brief.created');
    await saved(uniqueAccountId(), '*');
    const found = await buildSubscriptions().subscribersOf(accountId, 'keyword.quick_win');
    expect(idsOf(found).toSorted()).toEqual([byName, byPrefix, forAll].toSorted());
  });

  it('names an endpoint once, also when several of its filters match', async () => {
    const accountId = uniqueAccountId();
    const id = await saved(accountId, '*', 'keyword.*', 'keyword.quick_win');
    const found = await buildSubscriptions().subscribersOf(accountId, 'keyword.quick_win');
    expect(idsOf(found)).toEqual([id]);
  });

  it('gives none for an account without endpoints', async () => {
    expect(await buildSubscriptions().subscribersOf(uniqueAccountId(), 'keyword.quick_win')).toEqual([]);
  });

  it('tells which of them want their deliveries in order, as it is now', async () => {
    const accountId = uniqueAccountId();
    const id = await saved(accountId, '*');
    const { subscribersOf } = buildSubscriptions();
    expect(await subscribersOf(accountId, 'keyword.quick_win')).toMatchObject([{ id, ordering: 'none' }]);
    await store.update(accountId, id, (endpoint) => ({ ...endpoint, ordering: 'strict' }));
    expect(await subscribersOf(accountId, 'keyword.quick_win')).toMatchObject([{ id, ordering: 'strict' }]);
  });

  it('is up to date after each registration, change and removal', async () => {
    const accountId = uniqueAccountId();
    const { subscribersOf } = buildSubscriptions();
    const subscribers = async () => idsOf(await subscribersOf(accountId, 'keyword.quick_win'));
    expect(await subscribers()).toEqual([]);

    const id = await saved(accountId, '*');
    expect(await subscribers()).toEqual([id]);

    await store.update(accountId, id, (endpoint) => ({ ...endpoint, events: ['brief.*'] }));
    expect(await subscribers()).toEqual([]);

    await store.update(accountId, id, (endpoint) => ({ ...endpoint, events: ['keyword.*'] }));
    expect(await subscribers()).toEqual([id]);

    await store.remove(accountId, id);
    expect(await subscribers()).toEqual([]);
  });

  it('loads the endpoints again only when the account has changed', async () => {
    const accountId = uniqueAccountId();
    const { subscribersOf, loads } = buildSubscriptions();
    for (const type of ['keyword.quick_win', 'brief.created', 'keyword.quick_win']) {
      await subscribersOf(accountId, type);
    }
    await saved(uniqueAccountId(), '*');
    await subscribersOf(accountId, 'keyword.quick_win');
    expect(loads).toEqual([accountId]);

    await saved(accountId, '*');
    await subscribersOf(accountId, 'keyword.quick_win');
    expect(loads).toEqual([accountId, accountId]);
  });

  it('looks again after a change that came between the version and the endpoints', async () => {
    const accountId = uniqueAccountId();
    const first = await saved(accountId, '*');
    let second: EndpointId | undefined;
    const { subscribersOf } = asked(
      new Subscriptions(
        fake<EndpointStore>({
          version: (account) => store.version(account),
          async listSubscribers(account) {
            const endpoints = await store.listSubscribers(account);
            second ??= await saved(accountId, '*');
            return endpoints;
          },
        }),
      ),
    );
    expect(idsOf(await subscribersOf(accountId, 'keyword.quick_win'))).toEqual([first]);
    const found = await subscribersOf(accountId, 'keyword.quick_win');
    expect(idsOf(found).toSorted()).toEqual([first, second].toSorted());
  });

  it('loads them once for however many events come at the same time after a change', async () => {
    const accountId = uniqueAccountId();
    const id = await saved(accountId, '*');
    const { subscribersOf, presentOf, loads } = buildSubscriptions();
    await subscribersOf(accountId, 'keyword.quick_win');
    await store.update(accountId, id, (endpoint) => ({ ...endpoint, events: ['keyword.*'] }));
    const found = await Promise.all([
      ...Array.from({ length: 32 }, () => subscribersOf(accountId, 'keyword.quick_win')),
      ...Array.from({ length: 32 }, () => presentOf(accountId, [id])),
    ]);
    for (const subscribers of found) expect(idsOf(subscribers)).toEqual([id]);
    expect(loads).toEqual([accountId, accountId]);
  });
});

describe('presentOf', () => {
  it("gives the account's own ones, each once", async () => {
    const accountId = uniqueAccountId();
    const [one, other] = [await saved(accountId, 'brief.created'), await saved(accountId, '*')];
    const foreign = await saved(uniqueAccountId(), '*');
    const found = await buildSubscriptions().presentOf(accountId, [one, foreign, other, one]);
    expect(idsOf(found)).toEqual([one, other]);
  });
});

describe('a version that was read already', () => {
  it('is not read again, and what has changed since is found by the next', async () => {
    const accountId = uniqueAccountId();
    const first = await saved(accountId, '*');
    let reads = 0;
    const subscriptions = new Subscriptions(
      fake<EndpointStore>({
        listSubscribers: (account) => store.listSubscribers(account),
        version: async (account) => {
          reads += 1;
          return await store.version(account);
        },
      }),
    );
    const known = await subscriptions.current(accountId, subscriptions.readVersion(accountId));
    expect(idsOf(known.subscribedTo('brief.created').subscribers)).toEqual([first]);
    expect(reads).toBe(1);

    const before = subscriptions.readVersion(accountId);
    await before;
    const second = await saved(accountId, '*');
    expect(idsOf((await subscriptions.current(accountId, before)).presentOf([first, second]))).toEqual([
      first,
    ]);
    const now = await subscriptions.current(accountId);
    expect(idsOf(now.presentOf([first, second]))).toEqual([first, second]);
  });

  it('fails what it was read for, when it could not be read', async () => {
    const subscriptions = new Subscriptions(store);
    const unread = Promise.reject(new Error('Redis is away.'));
    await expect(subscriptions.current(uniqueAccountId(), unread)).rejects.toThrow('Redis is away.');
  });
});
