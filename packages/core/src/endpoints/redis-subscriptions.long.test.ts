import type { AccountId } from '../domain/account';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEndpoints } from '../testing/build-endpoints';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import type { Endpoints } from './endpoints';
import { EndpointStore } from './redis-endpoint-store';
import { encodeEndpoint } from './seal';

let redis: TestRedis;
let store: EndpointStore;
let endpoints: Endpoints;
beforeAll(async () => {
  redis = await openTestRedis();
  store = new EndpointStore(redis.client, testSealer);
  endpoints = buildEndpoints(redis.client, { endpointStore: store, clock: () => 0 });
});
afterAll(() => redis.close());

async function saved(change: Partial<Endpoint> = {}): Promise<Endpoint> {
  const endpoint = buildEndpoint(change);
  await store.create(endpoint);
  return endpoint;
}

/** What the version before did to change an endpoint: it knew of no subscriptions. */
const former = {
  async save(endpoint: Endpoint): Promise<void> {
    const { accountId, id } = endpoint;
    await redis.client
      .multi()
      .hset(keys.endpoints(accountId), id, encodeEndpoint(endpoint, testSealer))
      .zadd(keys.endpointIds(accountId), 0, id)
      .incr(keys.endpointsVersion(accountId))
      .exec();
  },
  async remove({ accountId, id }: Endpoint): Promise<void> {
    await redis.client
      .multi()
      .hdel(keys.endpoints(accountId), id)
      .zrem(keys.endpointIds(accountId), id)
      .incr(keys.endpointsVersion(accountId))
      .exec();
  },
};

/** Nobody who reads a record finds anything in it any more. */
async function spoilRecords(accountId: AccountId): Promise<void> {
  const ids = await redis.client.hkeys(keys.endpoints(accountId));
  for (const id of ids) await redis.client.hset(keys.endpoints(accountId), id, 'spoilt');
}

/** Its endpoints and what they ask for, as a fan-out finds them. */
async function asked(accountId: AccountId): Promise<Record<EndpointId, string>> {
  const subscribers = await store.listSubscribers(accountId);
  return Object.fromEntries(subscribers.map(({ id, events }) => [id, events.join()]));
}

describe('the subscriptions of an account', () => {
  it('are kept with every change of its endpoints, and read without their records', async () => {
    const one = await saved({ events: ['brief.created'], ordering: 'strict' });
    const { accountId } = one;
    const two = await saved({ accountId, events: ['keyword.*'] });
    const three = await saved({ accountId });
    await store.update(accountId, two.id, (endpoint) => ({
      ...endpoint,
      events: ['*'],
      status: 'disabled',
    }));
    await store.remove(accountId, three.id);
    await spoilRecords(accountId);
    const found = await store.listSubscribers(accountId);
    expect(found).toHaveLength(2);
    expect(found).toContainEqual({
      id: one.id,
      events: ['brief.created'],
      status: 'enabled',
      ordering: 'strict',
      isInLane: true,
    });
    expect(found).toContainEqual({ id: two.id, events: ['*'], status: 'disabled', ordering: 'none' });
  });

  it('are read in chunks, each once, newest first', async () => {
    const accountId = uniqueAccountId();
    for (let i = 0; i < 6; i += 1) {
      await Promise.all(Array.from({ length: 100 }, () => saved({ accountId })));
    }
    const ids = await redis.client.zrange(keys.endpointIds(accountId), '0', '-1');
    expect((await store.listSubscribers(accountId)).map(({ id }) => id)).toEqual(ids.toReversed());
    await redis.client.unlink(keys.subscriptions(accountId));
    expect((await store.listSubscribers(accountId)).map(({ id }) => id)).toEqual(ids.toReversed());
    await spoilRecords(accountId);
    expect((await store.listSubscribers(accountId)).map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it('are gone with the endpoints of an account that is erased', async () => {
    const { accountId } = await saved();
    await store.removeAll(accountId);
    expect(await redis.client.exists(keys.subscriptions(accountId))).toBe(0);
    expect(await asked(accountId)).toEqual({});
    expect(await redis.client.exists(keys.subscriptions(accountId))).toBe(0);
  });
});

describe('what the version before filters has made of the records', () => {
  /** It noted elsewhere that the subscriptions are current, and knew of no filter in them. */
  async function makeAsFormer({ accountId, id }: Endpoint): Promise<void> {
    const version = await store.version(accountId);
    const subscription = JSON.stringify({ events: ['*'], status: 'enabled', ordering: 'none' });
    await redis.client.del(keys.subscriptions(accountId));
    await redis.client.hset(keys.subscriptions(accountId), id, subscription, 'version', version);
  }
  const filtersOf = async (accountId: AccountId) =>
    (await store.listSubscribers(accountId)).map(({ filter }) => filter);

  it('is rebuilt, with the filters', async () => {
    const endpoint = await saved({ filter: '{"a":1}' });
    await makeAsFormer(endpoint);
    expect(await filtersOf(endpoint.accountId)).toEqual(['{"a":1}']);
    await spoilRecords(endpoint.accountId);
    expect(await filtersOf(endpoint.accountId)).toEqual(['{"a":1}']);
  });

  it('has no filter where a record has none', async () => {
    const endpoint = await saved();
    await makeAsFormer(endpoint);
    expect(await filtersOf(endpoint.accountId)).toEqual([undefined]);
  });
});

describe('the subscriptions of records that the version before has written', () => {
  it('are made of the records once, and written', async () => {
    const one = buildEndpoint({ events: ['brief.created'] });
    const { accountId } = one;
    const two = buildEndpoint({ accountId });
    for (const endpoint of [one, two]) await former.save(endpoint);
    const expected = { [one.id]: 'brief.created', [two.id]: '*' };
    expect(await asked(accountId)).toEqual(expected);
    await spoilRecords(accountId);
    expect(await asked(accountId)).toEqual(expected);
  });

  it.each<[string, (known: Endpoint) => Promise<Record<string, string>>]>([
    [
      'creates one',
      async ({ accountId }) => {
        const added = buildEndpoint({ accountId, events: ['brief.*'] });
        await former.save(added);
        return { [added.id]: 'brief.*' };
      },
    ],
    [
      'changes one',
      async (known) => {
        await former.save({ ...known, events: ['brief.*'] });
        return { [known.id]: 'brief.*' };
      },
    ],
  ])('are those of the records again after it %s', async (_what, act) => {
    const known = await saved({ events: ['keyword.*'] });
    const { accountId } = known;
    const before = await asked(accountId);
    const expected = { ...before, ...(await act(known)) };
    expect(await asked(accountId)).toEqual(expected);
    await spoilRecords(accountId);
    expect(await asked(accountId)).toEqual(expected);
  });

  it('are those of the records again after it removes one', async () => {
    const known = await saved();
    const { accountId } = known;
    const other = await saved({ accountId });
    await former.remove(known);
    expect(await asked(accountId)).toEqual({ [other.id]: '*' });
    expect(await redis.client.hexists(keys.subscriptions(accountId), known.id)).toBe(0);
  });

  it('are not taken for current because this version changes another endpoint in between', async () => {
    const known = await saved({ events: ['keyword.*'] });
    const { accountId } = known;
    const other = await saved({ accountId });
    await former.save({ ...known, events: ['brief.*'] });
    await store.update(accountId, other.id, (endpoint) => ({ ...endpoint, events: ['import.*'] }));
    expect(await asked(accountId)).toEqual({ [known.id]: 'brief.*', [other.id]: 'import.*' });
  });

  it('begin again with an account of the same name, whatever its erasure by that version left', async () => {
    const { accountId, id } = await saved();
    await redis.client.unlink(
      keys.endpoints(accountId),
      keys.endpointIds(accountId),
      keys.endpointsVersion(accountId),
    );
    const first = await saved({ accountId, events: ['brief.*'] });
    expect(await redis.client.hexists(keys.subscriptions(accountId), id)).toBe(0);
    await spoilRecords(accountId);
    expect(await asked(accountId)).toEqual({ [first.id]: 'brief.*' });
  });

  it('are never those of before, however many of both versions write and read at the same time', async () => {
    const accountId = uniqueAccountId();
    const all = await Promise.all(Array.from({ length: 300 }, () => saved({ accountId })));
    const stores = Array.from({ length: 4 }, () => new EndpointStore(redis.client, testSealer));
    const work = all.slice(0, 60).map(async (endpoint, index) => {
      const reader = stores[index % 4]?.listSubscribers(accountId);
      const events = [`type.${index}`];
      if (index % 2 === 0) await former.save({ ...endpoint, events });
      else await store.update(accountId, endpoint.id, (same) => ({ ...same, events }));
      await reader;
      const found = (await stores[(index + 1) % 4]?.listSubscribers(accountId)) ?? [];
      expect(found).toHaveLength(300);
      expect(found.find(({ id }) => id === endpoint.id)?.events).toEqual(events);
    });
    await Promise.all(work);
    const expected = await asked(accountId);
    await spoilRecords(accountId);
    expect(await asked(accountId)).toEqual(expected);
  });
});

describe('a list of the matching ones', () => {
  it('reads no record of another one', async () => {
    const wanted = await saved({ events: ['brief.created'] });
    const { accountId } = wanted;
    const others = [
      await saved({ accountId, events: ['keyword.*'] }),
      await saved({ accountId, status: 'disabled' }),
    ];
    for (const { id } of others) await redis.client.hset(keys.endpoints(accountId), id, 'spoilt');
    const filter = { status: 'enabled', eventType: 'brief.created' } as const;
    expect(await endpoints.list(accountId, filter, 10)).toEqual({
      endpoints: [wanted],
      nextCursor: undefined,
    });
  });

  it('writes down what it had to make of records, so that the next one need not', async () => {
    const wanted = buildEndpoint({ events: ['brief.created'] });
    const { accountId } = wanted;
    const other = buildEndpoint({ accountId, events: ['keyword.*'] });
    for (const endpoint of [wanted, other]) await former.save(endpoint);
    const list = () => endpoints.list(accountId, { eventType: 'brief.created' }, 10);
    expect(await list()).toMatchObject({ endpoints: [wanted] });
    await redis.client.hset(keys.endpoints(accountId), other.id, 'spoilt');
    expect(await list()).toMatchObject({ endpoints: [wanted] });
  });

  it('goes on where the page before ended, across chunks', async () => {
    const accountId = uniqueAccountId();
    for (let i = 0; i < 300; i += 1)
      await saved({ accountId, status: i % 100 === 0 ? 'disabled' : 'enabled' });
    const all = await endpoints.list(accountId, { status: 'disabled' }, 10);
    expect(all.endpoints).toHaveLength(3);
    const pages: EndpointId[] = [];
    let before: EndpointId | undefined;
    do {
      const page = await endpoints.list(accountId, { status: 'disabled' }, 1, before);
      pages.push(...page.endpoints.map(({ id }) => id));
      before = page.nextCursor;
    } while (before !== undefined);
    expect(pages).toEqual(all.endpoints.map(({ id }) => id));
  });
});
