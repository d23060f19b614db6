import { keys } from '../domain/keys';
import { buildEvent } from '../testing/build-event';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { EventStore } from './redis-event-store';

const RETENTION_MS = 60_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const openStore = () => new EventStore(redis.client, { ageMs: RETENTION_MS, count: 100 });

describe('EventStore', () => {
  it.each([
    ['plain', '{"type":"keyword.quick_win","data":{}}'],
    ['beyond ASCII', '{"data":"Zoë 🚀 \\n"}'],
    ['with line feeds and spaces', '{ "data":\n\n 1 }\n'],
    ['long', `{"data":"${'x'.repeat(100_000)}"}`],
  ])('gives a body that is %s back byte for byte, to every process', async (_what, body) => {
    const event = buildEvent({ body });
    const store = openStore();
    await store.save(event)(redis.client);
    expect(await store.find(event.accountId, event.id)).toEqual(event);
    expect(await openStore().find(event.accountId, event.id)).toEqual(event);
  });

  it.each([
    ['is aimed', { endpointIds: [uniqueEndpointId()] }],
    ['is not aimed', {}],
  ])('keeps the place in a trace of an event that %s, its payload erased or not', async (_what, change) => {
    const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
    const event = buildEvent({ trace, ...change });
    await openStore().save(event)(redis.client);
    expect(await openStore().find(event.accountId, event.id)).toMatchObject({ body: event.body, trace });
    await openStore().erasePayload(event.accountId, event.id, 7);
    expect(await openStore().find(event.accountId, event.id)).toMatchObject({ erasedAt: 7, trace });
  });

  it('gives the head alone, whatever the body', async () => {
    const event = buildEvent({ body: `{"data":"${'🚀'.repeat(1_000)}"}` });
    await openStore().save(event)(redis.client);
    expect(await openStore().findHead(event.accountId, event.id)).toEqual({
      type: event.type,
      acceptedAt: event.acceptedAt,
      isAimed: false,
    });
  });

  it("finds neither what is not there nor another account's event", async () => {
    const { accountId, id } = buildEvent();
    const store = openStore();
    await store.save(buildEvent({ accountId, id }))(redis.client);
    for (const [account, event] of [
      [accountId, uniqueEventId()],
      [uniqueAccountId(), id],
    ] as const) {
      expect(await store.find(account, event)).toBeUndefined();
      expect(await store.findHead(account, event)).toBeUndefined();
    }
  });

  it('keeps an event for the retention, and as long as it takes to end its deliveries, from the first time it was saved', async () => {
    const event = buildEvent();
    const key = keys.event(event.accountId, event.id);
    await openStore().save(event)(redis.client);
    const remainingMs = await redis.client.pttl(key);
    expect(remainingMs).toBeGreaterThan(RETENTION_MS);
    expect(remainingMs).toBeLessThanOrEqual(2 * RETENTION_MS);

    await redis.client.pexpire(key, 1_000);
    await openStore().save(event)(redis.client);
    expect(await redis.client.pttl(key)).toBeLessThanOrEqual(1_000);
  });

  it('keeps the first body under an id, so that every attempt of every worker sends the same bytes', async () => {
    const event = buildEvent();
    const store = openStore();
    await store.save(event)(redis.client);
    for (const worker of [store, openStore()]) {
      await worker.save({ ...event, body: '{"other":true}' })(redis.client);
      expect(await worker.find(event.accountId, event.id)).toEqual(event);
    }
  });

  it('lets accounts use the same event id', async () => {
    const first = buildEvent({ body: '{"of":"first"}' });
    const second = buildEvent({ id: first.id, body: '{"of":"second"}' });
    const store = openStore();
    await store.save(first)(redis.client);
    await store.save(second)(redis.client);
    expect(await store.find(first.accountId, first.id)).toEqual(first);
    expect(await store.find(second.accountId, second.id)).toEqual(second);
  });
});

describe('the index of an account', () => {
  const SPAN = { since: 0, until: Number.MAX_SAFE_INTEGER };
  const idsOf = (members: readonly { readonly id: string }[]) => members.map(({ id }) => id);

  it('gives its events of a span of time page by page, oldest first, those of one millisecond each once', async () => {
    const store = openStore();
    const accountId = uniqueAccountId();
    const events = [5, 1, 3, 3, 3, 9].map((ms) => buildEvent({ accountId, acceptedAt: 1_000 + ms }));
    for (const event of [...events, buildEvent({ acceptedAt: 1_003 })]) {
      await store.enlistAll([{ event, deliveries: 0 }])(redis.client);
    }
    const sorted = events.toSorted((a, b) => a.acceptedAt - b.acceptedAt || (a.id < b.id ? -1 : 1));

    const pages: string[][] = [];
    let page = await store.listFrom(accountId, SPAN, 2);
    while (page.length > 0) {
      pages.push(idsOf(page));
      page = await store.listFrom(accountId, SPAN, 2, page.at(-1));
    }
    expect(pages.flat()).toEqual(sorted.map(({ id }) => id));
    const inside = await store.listFrom(accountId, { since: 1_003, until: 1_006 }, 10);
    expect(idsOf(inside)).toEqual(sorted.slice(1, 5).map(({ id }) => id));
  });

  it('has each of them once, however often it is told', async () => {
    const store = openStore();
    const event = buildEvent();
    await store.enlistAll([{ event, deliveries: 0 }])(redis.client);
    await store.enlistAll([{ event: { ...event, acceptedAt: event.acceptedAt + 1 }, deliveries: 0 }])(
      redis.client,
    );
    expect(await store.listFrom(event.accountId, SPAN, 10)).toEqual([{ id: event.id, at: event.acceptedAt }]);
  });

  it('forgets a few events whose retention is over, with each new one', async () => {
    const store = openStore();
    const accountId = uniqueAccountId();
    const enlist = async (acceptedAt: number) =>
      await store.enlistAll([{ event: buildEvent({ accountId, acceptedAt }), deliveries: 0 }])(redis.client);
    for (let i = 0; i < 15; i += 1) await enlist(i);
    const count = async () => (await store.listFrom(accountId, SPAN, 100)).length;
    await enlist(RETENTION_MS + 100);
    expect(await count()).toBe(6);
    await enlist(RETENTION_MS + 100);
    expect(await count()).toBe(2);
  });

  it('says which events were aimed at certain endpoints', async () => {
    const aimed = buildEvent({ endpointIds: [uniqueEndpointId()] });
    await openStore().save(aimed)(redis.client);
    expect(await openStore().findHead(aimed.accountId, aimed.id)).toMatchObject({
      type: aimed.type,
      isAimed: true,
    });
    expect(await openStore().find(aimed.accountId, aimed.id)).toMatchObject({
      type: aimed.type,
      body: aimed.body,
    });
  });
});
