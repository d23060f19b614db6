import { createRedisEndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { deliveryIdOf } from '@hookferry/core/model/delivery';
import type { Endpoint } from '@hookferry/core/model/endpoint';
import type { AccountId } from '@hookferry/core/model/event';
import { createBullmqHeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { createRedisDeliveryStore } from '@hookferry/core/record/redis-delivery-store';
import { createRedisEventStore } from '@hookferry/core/record/redis-event-store';
import { buildAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEventId } from '@hookferry/core/testing/unique-ids';
import request, { type Test } from 'supertest';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const ACCEPTED_AT = Date.parse('2026-11-21T12:00:00.000Z');

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

async function createEndpoint(change: Partial<Endpoint> = {}): Promise<Endpoint> {
  const endpoint = buildEndpoint({ accountId, ...change });
  await createRedisEndpointStore(api.redis.client, testSealer).create(endpoint);
  return endpoint;
}

async function published(endpoint: Endpoint, acceptedAt = ACCEPTED_AT) {
  const event = buildEvent({ id: uniqueEventId(), accountId, acceptedAt });
  const events = createRedisEventStore(api.redis.client, testRetention);
  const deliveries = createRedisDeliveryStore(api.redis.client, testRetention);
  await events.save(event, [endpoint.id]);
  await events.enlist(event, 1);
  await deliveries.enlist(event.id, [endpoint.id], acceptedAt);
  const parts = { eventId: event.id, endpointId: endpoint.id };
  return { event, parts, id: deliveryIdOf(parts), deliveries };
}

async function failed(endpoint: Endpoint, acceptedAt?: number): Promise<string> {
  const { parts, id, event, deliveries } = await published(endpoint, acceptedAt);
  const attempt = buildAttempt({ responseStatus: 503 });
  const fact = { kind: 'attempted', attempt, nextAttemptAt: undefined, eventType: event.type } as const;
  await deliveries.append(parts, fact);
  return id;
}

async function idsAt(path: string): Promise<readonly string[]> {
  const { body } = await get(path).expect(200);
  return body.data.map(({ id }: { id: string }) => id);
}

describe('GET /v1/deliveries', () => {
  it('lists those of all webhooks, with how they were answered and why they are held', async () => {
    const [one, disabled] = [await createEndpoint(), await createEndpoint({ status: 'disabled' })];
    const failedId = await failed(one);
    const { event, parts, id: heldId } = await published(disabled, ACCEPTED_AT + 1);
    const heldDeliveries = createBullmqHeldDeliveries({ redis: api.redis.client, prefix: 'bull' });
    const held = { eventId: event.id, acceptedAt: event.acceptedAt };
    const address = { accountId, endpointId: parts.endpointId };
    await heldDeliveries.enter(address, held, ACCEPTED_AT, 'disabled');

    const { body } = await get('/v1/deliveries').expect(200);
    expect(body).toMatchObject({ next_cursor: null, has_more: false });
    expect(body.data).toMatchObject([
      { id: heldId, status: 'held', last_response_status: null, hold: { reason: 'disabled', until: null } },
      { id: failedId, status: 'exhausted', last_response_status: 503, hold: null },
    ]);
    expect(await idsAt('/v1/deliveries?status=held')).toEqual([heldId]);
    expect(await idsAt(`/v1/webhooks/${one.id}/deliveries`)).toEqual([failedId]);
  });

  it('goes on where the page before ended', async () => {
    const endpoint = await createEndpoint();
    const ids = [await failed(endpoint, ACCEPTED_AT), await failed(endpoint, ACCEPTED_AT + 1)];
    const first = await get('/v1/deliveries?limit=1').expect(200);
    expect(first.body.data).toMatchObject([{ id: ids[1] }]);
    const cursor = encodeURIComponent(first.body.next_cursor);
    expect(await idsAt(`/v1/deliveries?limit=1&cursor=${cursor}`)).toEqual([ids[0]]);
  });

  it.each([
    'status=exhausted',
    'status_class=5xx',
    'response_status=503',
    'outcome=http_5xx',
    'event_type=keyword.quick_win',
    'since=2026-11-21T12:00:00Z&until=2026-11-21T12:00:01Z',
  ])('takes ?%s', async (query) => {
    const endpoint = await createEndpoint();
    const id = await failed(endpoint);
    expect(await idsAt(`/v1/deliveries?${query}`)).toEqual([id]);
    expect(await idsAt(`/v1/deliveries?${query}&webhook_id=${endpoint.id}`)).toEqual([id]);
    expect(await idsAt(`/v1/deliveries?${query}&event_id=${id.split('.')[0]}`)).toEqual([id]);
  });

  it.each([
    'status=delivered',
    'status_class=none',
    'response_status=500',
    'outcome=dns_error',
    'event_type=brief.created',
    'until=2026-11-21T12:00:00Z',
  ])('finds nothing for ?%s', async (query) => {
    await failed(await createEndpoint());
    expect(await idsAt(`/v1/deliveries?${query}`)).toEqual([]);
  });

  it.each(['response_status=42', 'response_status=5xx', 'outcome=bad', 'cursor=e30', 'webhook=1'])(
    'refuses ?%s',
    async (query) => {
      expect((await get(`/v1/deliveries?${query}`)).status).toBe(422);
    },
  );

  it("knows no webhook and no event of another account's", async () => {
    const id = await failed(await createEndpoint());
    const [eventId, webhookId] = id.split('.');
    ({ key } = await api.issueKey());
    await get(`/v1/deliveries?webhook_id=${webhookId}`).expect(404);
    await get(`/v1/deliveries?event_id=${eventId}`).expect(404);
    expect(await idsAt('/v1/deliveries')).toEqual([]);
  });

  it('shows deliveries of a webhook that was deleted, and of an event whose payload was erased', async () => {
    const endpoint = await createEndpoint();
    const id = await failed(endpoint);
    await request(api.url)
      .delete(`/v1/events/${id.split('.')[0]}/payload`)
      .set('authorization', `Bearer ${key}`)
      .expect(204);
    await request(api.url)
      .delete(`/v1/webhooks/${endpoint.id}`)
      .set('authorization', `Bearer ${key}`)
      .expect(204);
    expect(await idsAt('/v1/deliveries')).toEqual([id]);
  });
});
