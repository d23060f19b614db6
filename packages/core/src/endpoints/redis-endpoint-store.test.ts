import { keys } from '../redis/keys';
import { createNewId } from '../runtime/ids';
import { buildEndpoint } from '../testing/build-endpoint';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import type { Endpoint, EndpointId } from './endpoint';
import { createRedisEndpointStore, type EndpointStore } from './redis-endpoint-store';

let redis: TestRedis;
let store: EndpointStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = createRedisEndpointStore(redis.client);
});
afterAll(() => redis.close());

async function saved(change: Partial<Endpoint> = {}): Promise<Endpoint> {
  const endpoint = buildEndpoint(change);
  await store.create(endpoint);
  return endpoint;
}

/** A number of endpoints of one account, oldest first. */
async function savedInOrder(count: number): Promise<{ accountId: Endpoint['accountId']; ids: EndpointId[] }> {
  const accountId = uniqueAccountId();
  let now = 1_700_000_000_000;
  const newId = createNewId(() => (now += 1));
  const ids = Array.from({ length: count }, () => newId('wh') as EndpointId);
  await Promise.all(ids.map((id) => saved({ accountId, id })));
  return { accountId, ids };
}

describe('create and find', () => {
  it('leaves an endpoint that is there as it is, and says so', async () => {
    const endpoint = buildEndpoint();
    expect(await store.create(endpoint)).toBe(true);
    expect(await store.create({ ...endpoint, description: 'another' })).toBe(false);
    expect(await store.find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
  });

  it('tells which of several the account does not have', async () => {
    const { accountId, id } = await saved();
    const foreign = await saved();
    const unknown = uniqueEndpointId();
    expect(await store.findMissing(accountId, [unknown, id, foreign.id])).toEqual([unknown, foreign.id]);
  });

  it('gives an endpoint back as it was created, whatever its optional members', async () => {
    for (const endpoint of [await saved(), await saved({ description: 'Zoë 🚀 "quoted"' })]) {
      expect(await store.find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
    }
  });

  it("does not find what is not there, nor another account's", async () => {
    const endpoint = await saved();
    expect(await store.find(endpoint.accountId, uniqueEndpointId())).toBeUndefined();
    expect(await store.find(uniqueAccountId(), endpoint.id)).toBeUndefined();
  });

  it('finds the newest state, also after another process has changed or removed it', async () => {
    const { accountId, id } = await saved();
    await store.find(accountId, id);
    const otherProcess = createRedisEndpointStore(redis.client);
    await otherProcess.update(accountId, id, (endpoint) => ({
      ...endpoint,
      url: 'https://new.example.com/',
    }));
    expect(await store.find(accountId, id)).toMatchObject({ url: 'https://new.example.com/' });
    await otherProcess.remove(accountId, id);
    expect(await store.find(accountId, id)).toBeUndefined();
  });

  it('rejects a record that is not of its making', async () => {
    const { accountId, id } = await saved();
    await redis.client.hset(keys.endpoints(accountId), id, '{"id":1}');
    await expect(store.find(accountId, id)).rejects.toMatchObject({ name: 'ZodError' });
  });
});

describe('update', () => {
  it('stores and gives what became of the endpoint', async () => {
    const endpoint = await saved();
    const changed = { ...endpoint, url: 'https://new.example.com/' };
    expect(await store.update(endpoint.accountId, endpoint.id, () => changed)).toEqual(changed);
    expect(await store.find(endpoint.accountId, endpoint.id)).toEqual(changed);
  });

  it('loses none of many changes at the same time', async () => {
    const { accountId, id } = await saved({ events: [] });
    const names = Array.from({ length: 20 }, (_, i) => `type.${i}`);
    await Promise.all(
      names.map((name) =>
        store.update(accountId, id, (endpoint) => ({ ...endpoint, events: [...endpoint.events, name] })),
      ),
    );
    const { events = [] } = (await store.find(accountId, id)) ?? {};
    expect(events.toSorted()).toEqual(names.toSorted());
  });

  it('does not bring back what is removed at the same time', async () => {
    const { accountId, id } = await saved();
    let removal: Promise<boolean> | undefined;
    const updated = await store.update(accountId, id, (endpoint) => {
      removal ??= store.remove(accountId, id);
      return endpoint;
    });
    expect(await removal).toBe(true);
    expect(updated).toBeUndefined();
    expect(await store.find(accountId, id)).toBeUndefined();
    expect(await store.list(accountId, 10)).toEqual({ endpoints: [], nextCursor: undefined });
  });

  it("gives nothing for what is not there, nor for another account's, and changes nothing", async () => {
    const endpoint = await saved();
    const change = (known: Endpoint): Endpoint => ({ ...known, url: 'https://new.example.com/' });
    expect(await store.update(endpoint.accountId, uniqueEndpointId(), change)).toBeUndefined();
    expect(await store.update(uniqueAccountId(), endpoint.id, change)).toBeUndefined();
    expect(await store.find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
  });
});

describe('remove', () => {
  it('removes it once, from the list too', async () => {
    const { accountId, id } = await saved();
    expect([await store.remove(accountId, id), await store.remove(accountId, id)]).toEqual([true, false]);
    expect(await store.find(accountId, id)).toBeUndefined();
    expect(await store.list(accountId, 10)).toEqual({ endpoints: [], nextCursor: undefined });
  });

  it("leaves another account's alone", async () => {
    const endpoint = await saved();
    expect(await store.remove(uniqueAccountId(), endpoint.id)).toBe(false);
    expect(await store.find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
  });
});

describe('list', () => {
  it('gives the newest first, page by page, each once', async () => {
    const { accountId, ids } = await savedInOrder(5);
    const pages: EndpointId[][] = [];
    let before: EndpointId | undefined;
    do {
      const page = await store.list(accountId, 2, before);
      pages.push(page.endpoints.map(({ id }) => id));
      before = page.nextCursor;
    } while (before !== undefined);
    const newestFirst = ids.toReversed();
    expect(pages).toEqual([newestFirst.slice(0, 2), newestFirst.slice(2, 4), newestFirst.slice(4)]);
  });

  it('has no next page when the last one is just full', async () => {
    const { accountId } = await savedInOrder(2);
    const page = await store.list(accountId, 2);
    expect(page.endpoints).toHaveLength(2);
    expect(page.nextCursor).toBeUndefined();
  });

  it('fills a page with what is there, however much was removed', async () => {
    const { accountId, ids } = await savedInOrder(4);
    for (const id of ids.slice(2)) await store.remove(accountId, id);
    const page = await store.list(accountId, 2);
    expect(page.endpoints.map(({ id }) => id)).toEqual([ids[1], ids[0]]);
    expect(page.nextCursor).toBeUndefined();
  });

  it('goes on behind its cursor, also when the endpoint at the cursor is gone and new ones have come', async () => {
    const { accountId, ids } = await savedInOrder(4);
    const { nextCursor } = await store.list(accountId, 2);
    await store.remove(accountId, nextCursor ?? uniqueEndpointId());
    await saved({ accountId });
    const { endpoints } = await store.list(accountId, 2, nextCursor);
    expect(endpoints.map(({ id }) => id)).toEqual([ids[1], ids[0]]);
  });

  it("shows an account's own only", async () => {
    const endpoint = await saved();
    await saved();
    expect(await store.list(endpoint.accountId, 10)).toMatchObject({ endpoints: [endpoint] });
    expect(await store.listAll(endpoint.accountId)).toEqual([endpoint]);
    expect(await store.listAll(uniqueAccountId())).toEqual([]);
  });
});

describe('version', () => {
  it("grows with each change to the account's endpoints, and with nothing else", async () => {
    const accountId = uniqueAccountId();
    const versions = [await store.version(accountId)];
    const note = async () => versions.push(await store.version(accountId));

    const { id } = await saved({ accountId });
    await note();
    await store.update(accountId, id, (endpoint) => ({ ...endpoint, events: ['brief.*'] }));
    await note();
    await store.remove(accountId, id);
    await note();

    await saved();
    await store.remove(accountId, id);
    await store.update(accountId, id, (endpoint) => endpoint);
    await store.list(accountId, 10);
    await note();
    expect(versions).toEqual(['0', '1', '2', '3', '3']);
  });
});

it('keeps all of an account under one hash tag, as a Cluster needs it', () => {
  const { accountId } = buildEndpoint();
  for (const key of [
    keys.endpoints(accountId),
    keys.endpointIds(accountId),
    keys.endpointsVersion(accountId),
  ])
    expect(key).toContain(`{${accountId}}`);
});
