import type { AccountId } from '@hookferry/core/domain/account';
import { deliveryIdOf } from '@hookferry/core/domain/delivery';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import type { AcceptedEvent } from '@hookferry/core/domain/event';
import { keywordQuickWin } from '@hookferry/core/event-types/built-in';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { buildAcceptedAttempt, buildAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { uniqueEndpointId, uniqueEventId } from '@hookferry/core/testing/unique-ids';
import request, { type Test } from 'supertest';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const ACCEPTED_AT = Date.parse('2026-11-21T12:00:00.000Z');
const NO_DELIVERIES = {
  total: 0,
  pending: 0,
  held: 0,
  delivered: 0,
  exhausted: 0,
  aborted: 0,
  cancelled: 0,
};

let api: TestApi;
let key: string;
let accountId: AccountId;
beforeAll(async () => {
  api = await startTestApi();
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
});
afterAll(() => api.close());

function get(path: string): Test {
  return request(api.url).get(path).set('authorization', `Bearer ${key}`);
}

const stores = () => ({
  events: new EventStore(api.redis.client, testRetention),
  deliveries: new DeliveryStore(api.redis.client, testRetention),
});

async function saved(change: Partial<AcceptedEvent> = {}): Promise<AcceptedEvent> {
  const event = buildEvent({ accountId, acceptedAt: ACCEPTED_AT, ...change });
  await stores().events.save(event);
  await stores().events.enlist(event);
  return event;
}

/** An event that went to five endpoints, and what became of that: from the one registered last to the first. */
async function sentToFive() {
  const event = await saved();
  const endpointIds = Array.from(
    { length: 5 },
    (_, i) => `${uniqueEndpointId().slice(0, -1)}${i}` as EndpointId,
  )
    .toSorted()
    .toReversed();
  const { events, deliveries } = stores();
  await events.addReceivers(accountId, event.id, endpointIds);
  await deliveries.enlist(event.id, endpointIds, event.acceptedAt);
  const [first, second, third] = endpointIds.map((endpointId) => ({ endpointId, eventId: event.id }));
  if (!first || !second || !third) throw new Error('arranged otherwise');
  const accepted = { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined } as const;
  await deliveries.append(first, accepted);
  await deliveries.append(second, accepted);
  await deliveries.append(third, { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined });
  return { event, ids: endpointIds.map((endpointId) => deliveryIdOf({ endpointId, eventId: event.id })) };
}

describe('GET /v1/events/:id', () => {
  it('gives the event with its data as it was sent, byte for byte', async () => {
    const data = '{ "price": 1.0, "huge": 12345678901234567890, "price": 1e2 }';
    const { id, type } = await saved({ body: `{"type":"keyword.quick_win","data":${data}}` });
    const response = await get(`/v1/events/${id}`);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.text.endsWith(`,"data":${data}}`)).toBe(true);
    expect(response.body).toMatchObject({
      id,
      type,
      created_at: '2026-11-21T12:00:00.000Z',
      deliveries: NO_DELIVERIES,
    });
  });

  it('counts its deliveries by status', async () => {
    const { event } = await sentToFive();
    const { body } = await get(`/v1/events/${event.id}`);
    expect(body.deliveries).toEqual({ ...NO_DELIVERIES, total: 5, pending: 2, delivered: 2, exhausted: 1 });
  });
});

describe('GET /v1/events/:id/deliveries', () => {
  it('gives one for each webhook that it went to, page by page', async () => {
    const { event, ids } = await sentToFive();
    const first = await get(`/v1/events/${event.id}/deliveries?limit=3`);
    const rest = await get(`/v1/events/${event.id}/deliveries?limit=3&cursor=${first.body.next_cursor}`);
    expect([...first.body.data, ...rest.body.data].map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(rest.body).toMatchObject({ has_more: false, next_cursor: null });
    expect(first.body.data[0]).toMatchObject({
      event_id: event.id,
      type: event.type,
      status: 'delivered',
      attempt_count: 1,
      created_at: '2026-11-21T12:00:00.000Z',
    });
  });

  it.each([
    ['status=delivered', 2],
    ['status=pending', 2],
    ['status_class=5xx', 1],
    ['status=delivered&status_class=5xx', 0],
  ])('shows with ?%s those that are asked for', async (query, expected) => {
    const { event } = await sentToFive();
    expect((await get(`/v1/events/${event.id}/deliveries?${query}`)).body.data).toHaveLength(expected);
  });
});

describe('GET /v1/events', () => {
  it("gives the account's events, the newest first, without their data", async () => {
    const { id } = await saved();
    const { id: younger } = await saved({ acceptedAt: ACCEPTED_AT + 1, type: 'brief.created' });
    expect((await get('/v1/events')).body).toEqual({
      data: [
        {
          id: younger,
          type: 'brief.created',
          created_at: '2026-11-21T12:00:00.001Z',
          payload_erased_at: null,
          delivery_count: 0,
        },
        {
          id,
          type: 'keyword.quick_win',
          created_at: '2026-11-21T12:00:00.000Z',
          payload_erased_at: null,
          delivery_count: 0,
        },
      ],
      next_cursor: null,
      has_more: false,
    });
  });

  it('shows each once when others are published between two pages', async () => {
    const first = await saved();
    const second = await saved();
    const third = await saved({ acceptedAt: ACCEPTED_AT + 1 });
    const page = await get('/v1/events?limit=2');
    await saved({ acceptedAt: ACCEPTED_AT + 2 });
    const rest = await get(`/v1/events?limit=2&cursor=${page.body.next_cursor}`);
    const ids = [...page.body.data, ...rest.body.data].map(({ id }: { id: string }) => id);
    expect(ids).toEqual([third.id, ...[first.id, second.id].toSorted().toReversed()]);
  });

  it.each([
    ['type=brief.created', [1]],
    ['type=import.completed', []],
    ['since=2026-11-21T12:00:00.001Z', [1]],
    ['until=2026-11-21T12:00:00.001Z', [0]],
  ])('shows with ?%s those that are asked for', async (query, expected) => {
    const events = [await saved(), await saved({ acceptedAt: ACCEPTED_AT + 1, type: 'brief.created' })];
    const { body } = await get(`/v1/events?${query}`);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(expected.map((i) => events[i]?.id));
  });
});

describe('DELETE /v1/events/{id}/payload', () => {
  const erase = (id: string) =>
    request(api.url).delete(`/v1/events/${id}/payload`).set('authorization', `Bearer ${key}`);

  it('leaves the event and what became of it on record, without its data', async () => {
    const { id } = (await sentToFive()).event;
    const before = await get(`/v1/events/${id}`);
    expect((await erase(id)).status).toBe(204);
    const { body } = await get(`/v1/events/${id}`);
    const { payload_erased_at } = body;
    expect(Date.parse(payload_erased_at)).toBeGreaterThan(ACCEPTED_AT);
    expect(body).toEqual({ ...before.body, data: null, payload_erased_at });
    expect((await get('/v1/events')).body.data).toMatchObject([{ id, payload_erased_at }]);
    expect((await get(`/v1/events/${id}/deliveries`)).body.data).toHaveLength(5);
  });

  it('can be repeated', async () => {
    const { id } = await saved();
    expect((await erase(id)).status).toBe(204);
    const { body } = await get(`/v1/events/${id}`);
    expect((await erase(id)).status).toBe(204);
    expect((await get(`/v1/events/${id}`)).body).toEqual(body);
  });

  it('is 409 for what comes under its id afterwards, the same content too', async () => {
    const event = { id: uniqueEventId(), type: keywordQuickWin.name, data: keywordQuickWin.example };
    const publish = () =>
      request(api.url).post('/v1/events').set('authorization', `Bearer ${key}`).send(event);
    expect((await publish()).status).toBe(202);
    expect((await erase(event.id)).status).toBe(204);
    expect(await publish()).toMatchObject({ status: 409, body: { code: 'event_id_conflict' } });
  });
});
