import type { HeavyTurns } from '../accounts/heavy-turns';
import type { AccountId } from '../domain/account';
import { oneShard } from '../domain/queues';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { fake } from '../testing/fake';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import type { ListMark } from './history-source';
import { Recent } from './redis-recent';
import { type HistoryPage, WholeHistory } from './whole-history';

const NOW = 1_700_000_000_000;
const MEBIBYTE = 1024 * 1024;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/** Events with these data, each with a delivery, the oldest first. */
async function arrange(datas: readonly string[], receivers = 1) {
  const accountId = uniqueAccountId();
  const stores = {
    endpointStore: new EndpointStore(redis.client, testSealer),
    eventStore: new EventStore(redis.client, testRetention),
    deliveryStore: new DeliveryStore(redis.client, testRetention),
    heldDeliveries: new HeldDeliveries(redis.client, oneShard('bull')),
  };
  const ids: string[] = [];
  for (const [i, data] of datas.entries()) {
    const body = `{"type":"order.paid","data":${data}}`;
    const event = buildEvent({ accountId, type: 'order.paid', body, acceptedAt: NOW + i });
    const endpointIds = Array.from({ length: receivers }, uniqueEndpointId);
    await stores.eventStore.save(event, endpointIds)(redis.client);
    await stores.eventStore.enlistAll([{ event, deliveries: receivers }])(redis.client);
    await stores.deliveryStore.enlistAll(buildNewDeliveries(event.id, endpointIds, event.acceptedAt))(
      redis.client,
    );
    ids.push(event.id);
  }
  const find = jest.spyOn(stores.eventStore, 'find');
  const inTurn = jest.fn((_accountId: AccountId, work: () => Promise<unknown>) => work());
  const heavyTurns = fake<HeavyTurns>({ run: inTurn as HeavyTurns['run'] });
  const recent = new Recent({ ...stores, heavyTurns });
  return { accountId, ids, find, inTurn, history: new WholeHistory(recent) };
}

async function pagesOf<Row>(readPage: (before?: ListMark) => Promise<HistoryPage<Row>>) {
  const pages: (readonly Row[])[] = [];
  let before: ListMark | undefined;
  do {
    const { found, nextCursor } = await readPage(before);
    pages.push(found);
    before = nextCursor;
  } while (before !== undefined);
  return pages;
}

it('reads payloads only where data are asked for', async () => {
  const { accountId, find, history } = await arrange(['{"a":1}', '{"a":2}']);
  for (const data of [undefined, '{}', ' {\n} ']) {
    expect((await history.listEvents({ accountId, data }, 10)).found).toHaveLength(2);
    expect((await history.listDeliveries({ accountId, data }, 10)).found).toHaveLength(2);
  }
  expect(find).not.toHaveBeenCalled();
  expect((await history.listEvents({ accountId, data: '{"a":1}' }, 10)).found).toHaveLength(1);
  expect(find).toHaveBeenCalledTimes(2);
});

it('reads no payload of what does not match otherwise', async () => {
  const { accountId, find, history } = await arrange(['{"a":1}', '{"a":1}']);
  const data = '{"a":1}';
  expect((await history.listDeliveries({ accountId, data, status: 'delivered' }, 10)).found).toEqual([]);
  expect((await history.listEvents({ accountId, data, type: 'order.sent' }, 10)).found).toEqual([]);
  expect(find).not.toHaveBeenCalled();
});

it('reads the payload of an event once for all its deliveries', async () => {
  const { accountId, find, history } = await arrange(['{"a":1}', '{"a":2}'], 12);
  expect((await history.listDeliveries({ accountId, data: '{"a":1}' }, 50)).found).toHaveLength(12);
  expect(find).toHaveBeenCalledTimes(2);
});

it('ends a page behind as many as other filters look at, and the next one goes on there', async () => {
  const datas = Array.from({ length: 330 }, (_, i) => (i === 3 ? '{"a":{"b":[1.0]}}' : `{"a":${i}}`));
  const { accountId, ids, find, history } = await arrange(datas);
  const query = { accountId, data: '{"a":{"b":[1]}}' };
  const pages = await pagesOf((before) => history.listEvents(query, 10, before));
  expect(pages.map((page) => page.map(({ id }) => id))).toEqual([[], [], [ids[3]]]);
  find.mockClear();
  const first = await history.listDeliveries(query, 10);
  expect(first).toMatchObject({ found: [], nextCursor: expect.anything() });
  expect(find.mock.calls.length).toBeLessThanOrEqual(150);
});

it('ends a page behind some megabytes', async () => {
  const filler = 'x'.repeat(MEBIBYTE - 100);
  const datas = Array.from({ length: 12 }, (_, i) => `{"i":${i},"filler":"${filler}"}`);
  const { accountId, ids, find, history } = await arrange(datas);
  const pages = await pagesOf((before) => history.listEvents({ accountId, data: '{"i":0}' }, 50, before));
  expect(pages.map((page) => page.map(({ id }) => id))).toEqual([[], [], [ids[0]]]);
  // Some are read together.
  expect(find.mock.calls.length).toBeLessThan(16);
});

it('ends a page behind the event that is much work to compare, in turns of its account', async () => {
  const lists = '[],'.repeat(85_000);
  const { accountId, ids, inTurn, history } = await arrange(
    Array.from({ length: 4 }, (_, i) => `{"a":[${lists}[${i}]]}`),
  );
  const query = { accountId, data: '{"a":[[0],[0],[0],[0]]}' };
  const pages = await pagesOf((before) => history.listEvents(query, 50, before));
  expect(pages.map((page) => page.map(({ id }) => id))).toEqual([[], [ids[0]]]);
  expect(inTurn.mock.calls.map(([turnOf]) => turnOf)).toEqual(pages.map(() => accountId));
});

it('looks at nothing for what no data can contain', async () => {
  const { accountId, find, history } = await arrange(['{"a":"\\u0000"}']);
  expect(await history.listEvents({ accountId, data: '{"a":"\\u0000"}' }, 10)).toEqual({
    found: [],
    nextCursor: undefined,
  });
  expect(find).not.toHaveBeenCalled();
});
