import { deliveryIdOf } from '@webhooks/core/deliveries/delivery-id';
import type { DeliveryFact } from '@webhooks/core/deliveries/delivery-log';
import { createRedisDeliveryStore } from '@webhooks/core/deliveries/redis-delivery-store';
import type { Endpoint } from '@webhooks/core/endpoints/endpoint';
import { createRedisEndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import { createRedisEventStore } from '@webhooks/core/events/redis-event-store';
import { buildAcceptedAttempt, buildAttempt } from '@webhooks/core/testing/build-attempt';
import { buildEndpoint } from '@webhooks/core/testing/build-endpoint';
import { buildEvent } from '@webhooks/core/testing/build-event';
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
  await createRedisEndpointStore(api.redis.client).create(endpoint);
});
afterAll(() => api.close());

function get(path: string): Test {
  return request(api.url).get(path).set('authorization', `Bearer ${key}`);
}

/** A delivery to the endpoint, with what is on record of it. Gives its id. */
async function saved(log: readonly DeliveryFact[] = [], acceptedAt = ACCEPTED_AT) {
  const event = buildEvent({ accountId: endpoint.accountId, acceptedAt });
  const parts = { eventId: event.id, endpointId: endpoint.id };
  const deliveryStore = createRedisDeliveryStore(api.redis.client, { ageMs: 60_000, count: 1_000 });
  await createRedisEventStore(api.redis.client, 60_000).save(event);
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
  }),
  nextAttemptAt: ACCEPTED_AT + 6_000,
};
const unreachable: DeliveryFact = {
  kind: 'attempted',
  attempt: {
    number: 2,
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
      next_attempt_at: null,
      created_at: '2026-11-21T12:00:00.000Z',
      attempts: [
        {
          number: 1,
          started_at: '2026-11-21T12:00:01.000Z',
          duration_ms: 40,
          timings: { dns_ms: 3, connect_ms: 4, tls_ms: 9, first_byte_ms: 20, total_ms: 40 },
          outcome: 'http_5xx',
          response_status: 500,
          response_body: 'oh',
          error: null,
        },
        {
          number: 2,
          started_at: '2026-11-21T12:00:06.000Z',
          duration_ms: 5,
          timings: { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 5 },
          outcome: 'connect_refused',
          response_status: null,
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

  it('shows those of this webhook only', async () => {
    await saved();
    endpoint = buildEndpoint({ accountId: endpoint.accountId });
    await createRedisEndpointStore(api.redis.client).create(endpoint);
    expect((await get(path())).body.data).toEqual([]);
  });
});
