import type { EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';
import { buildEndpoint } from '../testing/build-endpoint';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { createRedisEndpointStore, type EndpointStore } from './redis-endpoint-store';
import type { Subscriber } from './stored-endpoint';
import { createSubscriptions } from './subscriptions';

let redis: TestRedis;
let store: EndpointStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = createRedisEndpointStore(redis.client, testSealer);
});
afterAll(() => redis.close());

async function saved(accountId: AccountId, ...events: string[]): Promise<EndpointId> {
  const endpoint = buildEndpoint({ accountId, events });
  await store.create(endpoint);
  return endpoint.id;
}

const idsOf = (subscribers: readonly Subscriber[]) => subscribers.map(({ id }) => id);

/** Subscriptions that tell for which accounts the endpoints were loaded. */
function buildSubscriptions() {
  const loads: AccountId[] = [];
  const subscriptions = createSubscriptions({
    version: store.version,
    listSubscribers(accountId) {
      loads.push(accountId);
      return store.listSubscribers(accountId);
    },
  });
  return { ...subscriptions, loads };
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
    const { subscribersOf } = createSubscriptions({
      version: store.version,
      async listSubscribers(account) {
        const endpoints = await store.listSubscribers(account);
        second ??= await saved(accountId, '*');
        return endpoints;
      },
    });
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
  it('gives those that the account has, each once', async () => {
    const accountId = uniqueAccountId();
    const [one, other] = [await saved(accountId, 'brief.created'), await saved(accountId, '*')];
    const foreign = await saved(uniqueAccountId(), '*');
    const found = await buildSubscriptions().presentOf(accountId, [one, foreign, other, one]);
    expect(idsOf(found)).toEqual([one, other]);
  });
});
