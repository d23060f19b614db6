import { deliveryIdOf } from '@hookferry/core/domain/delivery';
import type { DeliveryFact } from '@hookferry/core/domain/delivery-log';
import type { Endpoint } from '@hookferry/core/domain/endpoint';
import { keys } from '@hookferry/core/domain/keys';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { buildAcceptedAttempt, buildAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import request, { type Test } from 'supertest';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const ACCEPTED_AT = Date.parse('2026-11-21T12:00:00.000Z');

let api: TestApi;
let key: string;
let endpoint: Endpoint;
beforeAll(async () => {
  api = await startTestApi();
});
beforeEach(async () => {
  const issued = await api.issueKey();
  key = issued.key;
  endpoint = buildEndpoint({ accountId: issued.accountId });
  await new EndpointStore(api.redis.client, testSealer).create(endpoint);
});
afterAll(() => api.close());

function get(path: string): Test {
  return request(api.url).get(path).set('authorization', `Bearer ${key}`);
}

/** A delivery to the endpoint, with what is on record of it. Gives its id. */
async function saved(log: readonly DeliveryFact[] = [], acceptedAt = ACCEPTED_AT) {
  const event = buildEvent({ accountId: endpoint.accountId, acceptedAt });
  const parts = { eventId: event.id, endpointId: endpoint.id };
  const deliveryStore = new DeliveryStore(api.redis.client, testRetention);
  await new EventStore(api.redis.client, testRetention).save(event);
  await deliveryStore.enlist(event.id, [endpoint.id], acceptedAt);
  for (const fact of log) await deliveryStore.append(parts, fact);
  return { id: deliveryIdOf(parts), eventId: event.id };
}

const failed: DeliveryFact = {
  kind: 'attempted',
  attempt: buildAttempt({
    startedAt: ACCEPTED_AT + 1_000,
    durationMs: 40,
    timings: { dnsMs: 3, connectMs: 4, tlsMs: 9, firstByteMs: 20 },
    responseBody: 'oh',
    responseHeaders: { server: 'nginx' },
    addedHeaders: ['x-tenant'],
    worker: 'f00d42',
  }),
  nextAttemptAt: ACCEPTED_AT + 6_000,
};
const unreachable: DeliveryFact = {
  kind: 'attempted',
  attempt: {
    number: 2,
    trigger: 'manual',
    startedAt: ACCEPTED_AT + 6_000,
    durationMs: 5,
    outcome: 'connect_refused',
    error: 'connect ECONNREFUSED',
  },
  nextAttemptAt: undefined,
};

describe('GET /v1/deliveries/:id', () => {
  it('shows what happened, attempt by attempt', async () => {
    const { id, eventId } = await saved([failed, unreachable]);
    const { status, body } = await get(`/v1/deliveries/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id,
      event_id: eventId,
      webhook_id: endpoint.id,
      type: 'keyword.quick_win',
      status: 'exhausted',
      attempt_count: 2,
      last_outcome: 'connect_refused',
      last_response_status: null,
      next_attempt_at: null,
      created_at: '2026-11-21T12:00:00.000Z',
      hold: null,
      attempts: [
        {
          number: 1,
          trigger: 'schedule',
          worker: 'f00d42',
          started_at: '2026-11-21T12:00:01.000Z',
          duration_ms: 40,
          timings: { dns_ms: 3, connect_ms: 4, tls_ms: 9, first_byte_ms: 20, total_ms: 40 },
          outcome: 'http_5xx',
          request_headers: {
            'x-tenant': '***',
            'content-type': 'application/json',
            'webhook-id': eventId,
            'webhook-timestamp': '1795262401',
            'webhook-signature': '***',
            'x-service-attempt': '1',
          },
          response_status: 500,
          response_headers: { server: 'nginx' },
          response_body: 'oh',
          error: null,
        },
        {
          number: 2,
          trigger: 'manual',
          worker: null,
          started_at: '2026-11-21T12:00:06.000Z',
          duration_ms: 5,
          timings: { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 5 },
          outcome: 'connect_refused',
          request_headers: {
            'content-type': 'application/json',
            'webhook-id': eventId,
            'webhook-timestamp': '1795262406',
            'webhook-signature': '***',
            'x-service-attempt': '2',
          },
          response_status: null,
          response_headers: null,
          response_body: null,
          error: 'connect ECONNREFUSED',
        },
      ],
    });
  });

  it.each<[string, DeliveryFact[], object]>([
    [
      'one that waits for its first attempt',
      [],
      { status: 'pending', attempt_count: 0, next_attempt_at: null },
    ],
    [
      'one that waits for the next attempt',
      [failed],
      { status: 'pending', attempt_count: 1, next_attempt_at: '2026-11-21T12:00:06.000Z' },
    ],
    [
      'one that has arrived',
      [failed, { kind: 'attempted', attempt: buildAcceptedAttempt({ number: 2 }), nextAttemptAt: undefined }],
      { status: 'delivered', attempt_count: 2, next_attempt_at: null },
    ],
    [
      'one that its receiver aborted',
      [{ kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined, isAborted: true }],
      { status: 'aborted', attempt_count: 1, next_attempt_at: null },
    ],
    [
      'one that was cancelled',
      [failed, { kind: 'cancelled', reason: 'endpoint_deleted' }],
      { status: 'cancelled', attempt_count: 1, next_attempt_at: null },
    ],
  ])('shows %s', async (_what, log, expected) => {
    const { id } = await saved(log);
    expect((await get(`/v1/deliveries/${id}`)).body).toMatchObject(expected);
  });
});

describe('GET /v1/webhooks/:id/deliveries', () => {
  const path = () => `/v1/webhooks/${endpoint.id}/deliveries`;

  it('gives deliveries as they are read alone, but for their attempts', async () => {
    const { id } = await saved([failed]);
    const { attempts: _attempts, ...listed } = (await get(`/v1/deliveries/${id}`)).body;
    expect((await get(path())).body).toEqual({ data: [listed], next_cursor: null, has_more: false });
  });

  it('gives the newest first, page by page, each once, also those of one millisecond', async () => {
    const first = await saved();
    const together = [
      await saved([], ACCEPTED_AT + 1),
      await saved([], ACCEPTED_AT + 1),
      await saved([], ACCEPTED_AT + 1),
    ];
    const last = await saved([], ACCEPTED_AT + 2);

    const ids: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body } = await get(`${path()}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      expect(body.has_more).toBe(body.next_cursor !== null);
      ids.push(...body.data.map((delivery: { id: string }) => delivery.id));
      cursor = body.next_cursor;
    }
    const sorted = together
      .map(({ id }) => id as string)
      .toSorted()
      .toReversed();
    expect(ids).toEqual([last.id, ...sorted, first.id]);
  });

  it('gives 50 at most when it is not asked for another number', async () => {
    for (let i = 0; i < 51; i += 1) await saved([], ACCEPTED_AT + i);
    const { body } = await get(path());
    expect(body.data).toHaveLength(50);
    expect(body.has_more).toBe(true);
  });

  it.each([
    ['status=delivered', ['delivered']],
    ['status=pending', ['waiting', 'failing']],
    ['status=exhausted', []],
    ['status_class=2xx', ['delivered']],
    ['status_class=5xx', ['failing']],
    ['status_class=none', ['waiting']],
    ['event_type=keyword.quick_win', ['waiting', 'failing', 'delivered']],
    ['event_type=brief.created', []],
    ['since=2026-11-21T12:00:00.001Z', ['waiting', 'failing']],
    ['until=2026-11-21T12:00:00.001Z', ['delivered']],
    ['since=2026-11-21T14:00:00.001%2B02:00&until=2026-11-21T12:00:00.002Z', ['failing']],
    ['status=pending&status_class=5xx', ['failing']],
  ])('shows with ?%s those that are asked for', async (query, expected) => {
    const accepted = buildAcceptedAttempt();
    const deliveries = {
      delivered: await saved([{ kind: 'attempted', attempt: accepted, nextAttemptAt: undefined }]),
      failing: await saved([failed], ACCEPTED_AT + 1),
      waiting: await saved([], ACCEPTED_AT + 2),
    };
    const names = new Map(Object.entries(deliveries).map(([name, { id }]) => [String(id), name]));
    const { body } = await get(`${path()}?${query}`);
    expect(body.data.map(({ id }: { id: string }) => names.get(id))).toEqual(expected);
  });

  it('looks at more than a page in one request, and goes on from there in the next one', async () => {
    const client = api.redis.client.pipeline();
    const count = 200;
    for (let i = 0; i < count; i += 1) {
      client.zadd(keys.deliveries(endpoint.id), ACCEPTED_AT + 1 + i, `evt_of_others_${i}`);
    }
    await client.exec();
    const { id } = await saved([failed]);
    const first = await get(`${path()}?status_class=5xx`);
    expect(first.body).toMatchObject({ data: [], has_more: true });
    const second = await get(`${path()}?status_class=5xx&cursor=${first.body.next_cursor}`);
    expect(second.body).toMatchObject({ data: [{ id }], has_more: false });
  });

  it.each(['status=gone', 'status_class=600', 'since=yesterday', 'until=2026-11-21'])(
    'refuses ?%s',
    async (query) => {
      expect((await get(`${path()}?${query}`)).status).toBe(422);
    },
  );

  it('shows those of this webhook only', async () => {
    await saved();
    endpoint = buildEndpoint({ accountId: endpoint.accountId });
    await new EndpointStore(api.redis.client, testSealer).create(endpoint);
    expect((await get(path())).body.data).toEqual([]);
  });
});
