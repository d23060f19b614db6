import { randomBytes } from 'node:crypto';
import { type Endpoint, type EndpointId, newestSecret } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { endpointUidSchema } from '../domain/setting-schemas';
import { createNewId } from '../platform/ids';
import { sealingKeysSchema } from '../platform/sealing-key';
import { buildEndpoint } from '../testing/build-endpoint';
import { clientCertificate, clientKey, otherCertificate } from '../testing/certificates';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { TEST_ENCRYPTION_KEY, testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { EndpointStore } from './redis-endpoint-store';
import { Sealer } from './seal';

let redis: TestRedis;
let store: EndpointStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = new EndpointStore(redis.client, testSealer);
});
afterAll(() => redis.close());

async function saved(change: Partial<Endpoint> = {}): Promise<Endpoint> {
  const endpoint = buildEndpoint(change);
  await store.create(endpoint);
  return endpoint;
}

const uidOf = (text: string) => endpointUidSchema.parse(text);

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

  it('knows of several which the account does not have', async () => {
    const { accountId, id } = await saved();
    const foreign = await saved();
    const unknown = uniqueEndpointId();
    const found = await store.findIds(accountId, [unknown, id, foreign.id]);
    expect(found).toEqual([undefined, id, undefined]);
  });

  it('asks for however many at once by one command', async () => {
    const { accountId, id } = await saved({ uid: uidOf('main') });
    const refs = [uidOf('main'), ...Array.from({ length: 998 }, uniqueEndpointId), id];
    await store.findIds(accountId, [id]);
    const send = jest.spyOn(redis.client, 'sendCommand');
    const found = await store.findIds(accountId, refs);
    expect(send).toHaveBeenCalledTimes(1);
    send.mockRestore();
    expect([found[0], found[998], found[999], found.length]).toEqual([id, undefined, id, 1_000]);
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
    const otherProcess = new EndpointStore(redis.client, testSealer);
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
    const { id, events, status, ordering } = endpoint;
    expect(await store.listSubscribers(endpoint.accountId)).toEqual([{ id, events, status, ordering }]);
    expect(await store.listSubscribers(uniqueAccountId())).toEqual([]);
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
    const [before, ...after] = versions;
    const first = Number(after[0]);
    expect(before).toBe('0');
    expect(after).toEqual([first, first + 1, first + 2, first + 2].map(String));
  });

  it('does not come back when the account is erased and made again', async () => {
    const accountId = uniqueAccountId();
    const versions = new Set<string>();
    for (let life = 1; life <= 2; life += 1) {
      const { id } = await saved({ accountId });
      versions.add(await store.version(accountId));
      await store.removeAll(accountId);
      expect(await store.find(accountId, id)).toBeUndefined();
      versions.add(await store.version(accountId));
    }
    expect(versions.size).toBe(4);
    expect(Number([...versions][0])).toBeGreaterThan(1_700_000_000);
  });
});

describe('what is secret', () => {
  const tls = { ca: otherCertificate, certificate: clientCertificate, key: clientKey };
  const headers = { authorization: 'Bearer receiver-token' };
  const newKey = randomBytes(32).toString('base64');
  const storeWith = (named: string) =>
    new EndpointStore(redis.client, new Sealer(sealingKeysSchema.parse(named)));
  const rawOf = async ({ accountId, id }: Endpoint) =>
    (await redis.client.hget(keys.endpoints(accountId), id)) ?? '';
  const UNREADABLE = { name: 'AppError', code: 'secret_unreadable' };

  it('is given back as it was, and is not to be found in the record', async () => {
    const endpoint = await saved({ tls, headers });
    expect(await store.find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
    const raw = await rawOf(endpoint);
    expect(raw).not.toContain(newestSecret(endpoint).secret.slice('whsec_'.length));
    expect(raw).not.toContain('-----BEGIN');
    expect(raw).not.toContain('receiver-token');
  });

  it('is stored as plain text without a key, and sealed by the first change after there is one', async () => {
    const endpoint = buildEndpoint({ tls, headers });
    await new EndpointStore(redis.client, new Sealer([])).create(endpoint);
    expect(JSON.parse(await rawOf(endpoint))).toEqual(endpoint);
    expect(await store.find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
    await store.update(endpoint.accountId, endpoint.id, (same) => same);
    expect(await rawOf(endpoint)).not.toContain(newestSecret(endpoint).secret);
    expect(await store.find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
  });

  it('outlives a change of the master key: the old one opens for as long as it is named, the new one seals', async () => {
    const endpoint = await saved({ tls, headers });
    const { accountId, id } = endpoint;
    const both = storeWith(`${newKey},${TEST_ENCRYPTION_KEY}`);
    expect(await both.find(accountId, id)).toEqual(endpoint);
    await expect(storeWith(newKey).find(accountId, id)).rejects.toMatchObject(UNREADABLE);

    await both.update(accountId, id, (same) => same);
    expect(await storeWith(newKey).find(accountId, id)).toEqual(endpoint);
    await expect(store.find(accountId, id)).rejects.toMatchObject(UNREADABLE);
  });

  it("can not be opened in another endpoint's record, nor in another place of its own", async () => {
    const { accountId, ...victim } = await saved({ tls, headers });
    const other = await saved({ accountId });
    const stored = JSON.parse(await rawOf({ accountId, ...victim }));
    const paste = async (change: object) => {
      const record = { ...JSON.parse(await rawOf(other)), ...change };
      await redis.client.hset(keys.endpoints(accountId), other.id, JSON.stringify(record));
      return store.find(accountId, other.id);
    };
    await expect(paste({ secrets: stored.secrets })).rejects.toMatchObject(UNREADABLE);
    await expect(paste({ ...stored, id: other.id })).rejects.toMatchObject(UNREADABLE);
    await expect(paste({ ...stored, tls: { ca: stored.tls.key } })).rejects.toMatchObject(UNREADABLE);
  });

  it('is not shown to another account that a record was copied to, in its name or not', async () => {
    const endpoint = await saved();
    const thief = uniqueAccountId();
    const raw = await rawOf(endpoint);
    for (const copy of [raw, raw.replace(endpoint.accountId, thief)]) {
      await redis.client.hset(keys.endpoints(thief), endpoint.id, copy);
      await redis.client.zadd(keys.endpointIds(thief), 0, endpoint.id);
      await expect(store.find(thief, endpoint.id)).rejects.toMatchObject(UNREADABLE);
      await expect(store.list(thief, 10)).rejects.toMatchObject(UNREADABLE);
      await expect(store.update(thief, endpoint.id, (same) => same)).rejects.toMatchObject(UNREADABLE);
    }
  });

  it('keeps nobody from being delivered to when it can not be read, nor from being removed', async () => {
    const { accountId, id, events, status, ordering } = await saved();
    const without = storeWith(newKey);
    expect(await without.listSubscribers(accountId)).toEqual([{ id, events, status, ordering }]);
    await redis.client.unlink(keys.subscriptions(accountId));
    expect(await without.listSubscribers(accountId)).toEqual([{ id, events, status, ordering }]);
    expect(await without.remove(accountId, id)).toBe(true);
  });
});

describe('a uid', () => {
  it('names the endpoint beside its id, and nobody else', async () => {
    const endpoint = await saved({ uid: uidOf('main') });
    const { accountId, id } = endpoint;
    const missing = uniqueEndpointId();
    expect(await store.findIds(accountId, [uidOf('main'), id, missing, uidOf('other')])).toEqual([
      id,
      id,
      undefined,
      undefined,
    ]);
    expect(await store.findIds(uniqueAccountId(), [uidOf('main'), id])).toEqual([undefined, undefined]);
  });

  it('goes to one of many endpoints that want it at the same time', async () => {
    const accountId = uniqueAccountId();
    const endpoints = Array.from({ length: 20 }, () => buildEndpoint({ accountId, uid: uidOf('main') }));
    const outcomes = await Promise.allSettled(endpoints.map((endpoint) => store.create(endpoint)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refusals = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(new Set(refusals.map(({ reason }) => reason.code))).toEqual(new Set(['conflict']));
  });

  it("is free again after its endpoint is gone, even one whose text Redis' own JSON parser can't read", async () => {
    const { accountId, id } = await saved({ uid: uidOf('main'), description: 'half a pair: \ud83d' });
    expect(await store.remove(accountId, id)).toBe(true);
    expect(await store.idOf(accountId, uidOf('main'))).toBeUndefined();
    await saved({ accountId, uid: uidOf('main') });
  });

  it('stays with its endpoint when another is removed that only speaks of it', async () => {
    const { accountId, id } = await saved({ uid: uidOf('main') });
    const other = await saved({ accountId, metadata: { uid: 'main' }, description: '"uid":"main"' });
    await store.remove(accountId, other.id);
    expect(await store.idOf(accountId, uidOf('main'))).toBe(id);
  });
});

describe('the most endpoints that an account may have', () => {
  it('is never exceeded, however many come at the same time', async () => {
    const accountId = uniqueAccountId();
    const endpoints = Array.from({ length: 20 }, () => buildEndpoint({ accountId }));
    const outcomes = await Promise.allSettled(endpoints.map((endpoint) => store.create(endpoint, 5)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    expect((await store.list(accountId, 20)).endpoints).toHaveLength(5);
  });

  it('does not keep one that is there from being created again, as the same', async () => {
    const endpoint = buildEndpoint({ uid: uidOf('main') });
    expect(await store.create(endpoint, 1)).toBe(true);
    expect(await store.create({ ...endpoint, description: 'other' }, 1)).toBe(false);
    expect(await store.find(endpoint.accountId, endpoint.id)).toEqual(endpoint);
  });
});

it('keeps all of an account under one hash tag, as a Cluster needs it', () => {
  const { accountId } = buildEndpoint();
  for (const key of [
    keys.endpoints(accountId),
    keys.endpointIds(accountId),
    keys.endpointsVersion(accountId),
    keys.endpointUids(accountId),
    keys.subscriptions(accountId),
  ])
    expect(key).toContain(`{${accountId}}`);
});
