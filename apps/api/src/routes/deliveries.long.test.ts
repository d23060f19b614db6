import { keywordQuickWin } from '@hookferry/core/accounts/event-types/built-in';
import type { ApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import type { ApiKey } from '@hookferry/core/domain/account';
import type { Attempt } from '@hookferry/core/domain/attempt';
import {
  type DeliveryId,
  type DeliveryParts,
  deliveryIdOf,
  parseDeliveryId,
} from '@hookferry/core/domain/delivery';
import type { DeliveryFact } from '@hookferry/core/domain/delivery-fact';
import type { Endpoint } from '@hookferry/core/domain/endpoint';
import { keys } from '@hookferry/core/domain/keys';
import { oneShard } from '@hookferry/core/domain/queues';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { Exports } from '@hookferry/core/history/exports';
import { Recent } from '@hookferry/core/history/redis-recent';
import { WholeHistory } from '@hookferry/core/history/whole-history';
import { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { buildAcceptedAttempt, buildAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { buildNewDeliveries } from '@hookferry/core/testing/build-new-deliveries';
import { createClosables } from '@hookferry/core/testing/closables';
import { fake } from '@hookferry/core/testing/fake';
import { openAuthentication } from '@hookferry/core/testing/open-authentication';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEndpointId, uniqueEventId } from '@hookferry/core/testing/unique-ids';
import request, { type Test } from 'supertest';
import type { ApiContext } from '../context';
import { LongAnswers } from '../http/long-requests';
import { startApi, startTestApi, type TestApi, untilReady } from '../testing/start-test-api';
import { exportDeliveries } from './export';

/** Of a filtered list, at least so many entries are looked at for a page, however slow the machine is. */
const SURELY_LOOKED_AT = 150;
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

describe('reading', () => {
  function get(path: string): Test {
    return request(api.url).get(path).set('authorization', `Bearer ${key}`);
  }

  /** A delivery to the endpoint, with recorded facts. Gives its id. */
  async function saved(log: readonly DeliveryFact[] = [], acceptedAt = ACCEPTED_AT, data = '{}') {
    const body = `{"type":"${keywordQuickWin.name}","data":${data}}`;
    const event = buildEvent({ accountId: endpoint.accountId, acceptedAt, body });
    const parts = { eventId: event.id, endpointId: endpoint.id };
    const deliveryStore = new DeliveryStore(api.redis.client, testRetention);
    await new EventStore(api.redis.client, testRetention).save(event)(api.redis.client);
    await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpoint.id], acceptedAt))(api.redis.client);
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
      remoteAddress: '203.0.113.7',
      holds: [
        { reason: 'disabled', since: ACCEPTED_AT - 20_000 },
        { reason: 'busy', since: ACCEPTED_AT - 1_000 },
      ],
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
        event_type: 'keyword.quick_win',
        status: 'exhausted',
        attempt_count: 2,
        last_outcome: 'connect_refused',
        last_response_status: null,
        next_attempt_at: null,
        created_at: '2026-11-21T12:00:00.000Z',
        hold: null,
        superseded_by: null,
        cancel_reason: null,
        attempts: [
          {
            number: 1,
            trigger: 'schedule',
            worker: 'f00d42',
            remote_address: '203.0.113.7',
            holds: [
              { reason: 'disabled', since: '2026-11-21T11:59:40.000Z', until: '2026-11-21T11:59:59.000Z' },
              { reason: 'busy', since: '2026-11-21T11:59:59.000Z', until: '2026-11-21T12:00:01.000Z' },
            ],
            started_at: '2026-11-21T12:00:01.000Z',
            duration_ms: 40,
            timings: { dns_ms: 3, connect_ms: 4, tls_ms: 9, first_byte_ms: 20, total_ms: 40 },
            outcome: 'http_5xx',
            request_body: null,
            transformation_version: null,
            batch_id: null,
            token_error: null,
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
            remote_address: null,
            holds: [],
            started_at: '2026-11-21T12:00:06.000Z',
            duration_ms: 5,
            timings: { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 5 },
            outcome: 'connect_refused',
            request_body: null,
            transformation_version: null,
            batch_id: null,
            token_error: null,
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

    it('shows the names of the headers that code made, and the type', async () => {
      const headers = { 'x-kind': 'a', 'content-type': 'text/csv' };
      const transformed = { version: 1, body: 'id', headers };
      const attempt = buildAttempt({ transformed, contentHeaders: { 'content-type': '***' } });
      const { id } = await saved([
        { kind: 'transformed', transformed },
        { kind: 'attempted', attempt, nextAttemptAt: undefined },
      ]);
      const { body } = await get(`/v1/deliveries/${id}`);
      expect(body.attempts[0].request_headers).toMatchObject({ 'x-kind': '***', 'content-type': 'text/csv' });
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
        [
          failed,
          { kind: 'attempted', attempt: buildAcceptedAttempt({ number: 2 }), nextAttemptAt: undefined },
        ],
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
      const {
        attempts: _attempts,
        superseded_by: _by,
        cancel_reason: _reason,
        ...listed
      } = (await get(`/v1/deliveries/${id}`)).body;
      expect((await get(path())).body).toEqual({
        data: [{ ...listed, matching_attempts: null }],
        next_cursor: null,
        has_more: false,
        oldest_searched_at: null,
        history: null,
      });
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
      [`data=${encodeURIComponent('{"order":{"id":2.0}}')}`, ['failing', 'delivered']],
      [`data=${encodeURIComponent('{"order":{"id":2}}')}&status=delivered`, ['delivered']],
      [`data=${encodeURIComponent('{"order":{"id":"2"}}')}`, []],
    ])('shows with ?%s the matching ones', async (query, expected) => {
      const accepted = buildAcceptedAttempt();
      const deliveries = {
        delivered: await saved(
          [{ kind: 'attempted', attempt: accepted, nextAttemptAt: undefined }],
          ACCEPTED_AT,
          '{"order":{"id":2}}',
        ),
        failing: await saved([failed], ACCEPTED_AT + 1, '{"order":{"id":2,"of":"a"}}'),
        waiting: await saved([], ACCEPTED_AT + 2),
      };
      const names = new Map(Object.entries(deliveries).map(([name, { id }]) => [String(id), name]));
      const { body } = await get(`${path()}?${query}`);
      expect(body.data.map(({ id }: { id: string }) => names.get(id))).toEqual(expected);
    });

    it.each([
      ['attempt_outcome=http_5xx', { failing: 1, retried: 2 }],
      ['attempt_outcome=delivered', { retried: 1, delivered: 1 }],
      ['attempt_outcome=failed', { failing: 1, retried: 2 }],
      ['attempt_outcome=dns_error,tls_error', {}],
      ['attempt_outcome=http_4xx,delivered', { retried: 1, delivered: 1 }],
      ['attempted_since=2026-11-21T12:00:20Z', { retried: 2 }],
      ['attempted_since=2026-11-21T12:00:10Z&attempted_until=2026-11-21T12:00:20Z', { retried: 1 }],
      ['attempted_until=2026-11-21T12:00:10Z', { failing: 1, delivered: 1 }],
      ['attempted_since=2026-11-21T12:00:20Z&attempt_outcome=http_5xx', { retried: 1 }],
      ['attempt_outcome=http_5xx&status=delivered', { retried: 2 }],
      ['attempt_outcome=http_5xx&until=2026-11-21T12:00:00.002Z', { failing: 1 }],
      [`attempt_outcome=failed&data=${encodeURIComponent('{"order":{"id":2}}')}`, { retried: 2 }],
    ])('counts with ?%s all attempts that match, not only the last one', async (query, expected) => {
      const at = (startedAt: number, number: number, change: Partial<Attempt> = {}): DeliveryFact => ({
        kind: 'attempted',
        attempt: buildAttempt({ startedAt, number, ...change }),
        nextAttemptAt: change.outcome === 'delivered' ? undefined : startedAt + 10_000,
      });
      const accepted = { outcome: 'delivered', responseStatus: 204 } as const;
      const deliveries = {
        delivered: await saved([at(ACCEPTED_AT, 1, accepted)], ACCEPTED_AT),
        failing: await saved([at(ACCEPTED_AT + 1, 1)], ACCEPTED_AT + 1),
        retried: await saved(
          [
            at(ACCEPTED_AT + 10_000, 1),
            at(ACCEPTED_AT + 20_000, 2, { trigger: 'manual' }),
            at(ACCEPTED_AT + 30_000, 3, accepted),
          ],
          ACCEPTED_AT + 2,
          '{"order":{"id":2}}',
        ),
        waiting: await saved([], ACCEPTED_AT + 3),
      };
      const names = new Map(Object.entries(deliveries).map(([name, { id }]) => [String(id), name]));
      for (const list of [`${path()}?`, `/v1/deliveries?webhook_id=${endpoint.id}&`]) {
        const { body } = await get(`${list}${query}`);
        const counts = body.data.map((row: { id: string; matching_attempts: number }) => [
          names.get(row.id),
          row.matching_attempts,
        ]);
        expect(Object.fromEntries(counts)).toEqual(expected);
      }
    });

    it('begins with the events that were accepted before the attempts it looks for', async () => {
      const client = api.redis.client.pipeline();
      for (let i = 0; i < 2_500; i += 1) {
        client.zadd(keys.deliveries(endpoint.id), ACCEPTED_AT + 3_600_000 + i, `evt_of_others_${i}`);
      }
      await client.exec();
      const { id } = await saved([failed]);
      const time = (at: number) => new Date(at).toISOString();
      const range = `attempted_since=${time(ACCEPTED_AT)}&attempted_until=${time(ACCEPTED_AT + 60_000)}`;
      expect((await get(`${path()}?${range}`)).body).toMatchObject({ data: [{ id }], has_more: false });
    });

    it('looks at more than a page in one request, and goes on from there in the next one', async () => {
      const client = api.redis.client.pipeline();
      const count = 2_500;
      for (let i = 0; i < count; i += 1) {
        client.zadd(keys.deliveries(endpoint.id), ACCEPTED_AT + 1 + i, `evt_of_others_${i}`);
      }
      await client.exec();
      const { id } = await saved([failed]);
      const first = await get(`${path()}?status_class=5xx`);
      expect(first.body).toMatchObject({ data: [], has_more: true });
      const searchedTo = [Date.parse(first.body.oldest_searched_at)];
      expect(searchedTo[0]).toBeLessThanOrEqual(ACCEPTED_AT + count - SURELY_LOOKED_AT);
      let { body } = first;
      while (body.has_more) {
        ({ body } = await get(`${path()}?status_class=5xx&cursor=${body.next_cursor}`));
        if (body.has_more) searchedTo.push(Date.parse(body.oldest_searched_at));
      }
      expect(body).toMatchObject({ data: [{ id }], oldest_searched_at: null });
      expect(searchedTo).toEqual(searchedTo.toSorted((a, b) => b - a));
    });

    it.each([
      'status=gone',
      'status_class=600',
      'since=yesterday',
      'until=2026-11-21',
      'data=[]',
      'attempt_outcome=',
      'attempt_outcome=late',
      'attempt_outcome=delivered,,failed',
      'attempted_since=2026-11-21T12:00:01Z&attempted_until=2026-11-21T12:00:00Z',
    ])('refuses ?%s', async (query) => {
      expect((await get(`${path()}?${query}`)).status).toBe(422);
    });

    it('shows those of this webhook only', async () => {
      await saved();
      endpoint = buildEndpoint({ accountId: endpoint.accountId });
      await new EndpointStore(api.redis.client, testSealer).create(endpoint);
      expect((await get(path())).body.data).toEqual([]);
    });
  });
});

describe('the export', () => {
  const DAY_MS = 86_400_000;

  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  interface Line {
    readonly delivery_id: string;
    readonly attempt: { readonly number: number };
    readonly cursor: string;
  }

  async function ask(query = '', url = api.url): Promise<Response> {
    return await fetch(`${url}/v1/deliveries/export${query}`, {
      headers: { authorization: `Bearer ${key}` },
    });
  }

  async function lines(query = ''): Promise<readonly Line[]> {
    const text = await (await ask(query)).text();
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  }

  /** A delivery with so many failed attempts. Gives its id. */
  async function saved(acceptedAt = ACCEPTED_AT, attempts = 1) {
    const { accountId, id: endpointId } = endpoint;
    const event = buildEvent({ accountId, acceptedAt });
    const deliveryStore = new DeliveryStore(api.redis.client, testRetention);
    const eventStore = new EventStore(api.redis.client, testRetention);
    const parts = { eventId: event.id, endpointId };
    await eventStore.save(event)(api.redis.client);
    await eventStore.enlistAll([{ event, deliveries: 0 }])(api.redis.client);
    await eventStore.addReceivers(accountId, event.id, [endpointId])(api.redis.client);
    await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpointId], acceptedAt))(api.redis.client);
    for (let number = 1; number <= attempts; number += 1) {
      const attempt = buildAttempt({ number, startedAt: acceptedAt + number });
      await deliveryStore.append(parts, { kind: 'attempted', attempt, nextAttemptAt: acceptedAt + 60_000 });
    }
    return deliveryIdOf(parts);
  }

  it('gives a line for each attempt, as it is in the delivery when that is read alone', async () => {
    const id = await saved(ACCEPTED_AT, 2);
    const headers = { authorization: `Bearer ${key}` };
    const { body } = await request(api.url).get(`/v1/deliveries/${id}`).set(headers);
    const { event_id, webhook_id, event_type, status, created_at, attempts } = body;
    const response = await ask();
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const own = { delivery_id: id, event_id, webhook_id, event_type, status, created_at };
    expect(
      (await response.text())
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    ).toEqual(attempts.map((attempt: object) => ({ ...own, attempt, cursor: expect.any(String) })));
  });

  it('goes on after any line by its cursor', async () => {
    for (let i = 0; i < 3; i += 1) await saved(ACCEPTED_AT, 2);
    const all = await lines();
    expect(all).toHaveLength(6);
    for (const [index, { cursor }] of all.entries()) {
      expect(await lines(`?cursor=${cursor}`)).toEqual(all.slice(index + 1));
    }
  });

  it.each([
    ['', ['first', 'second', 'now']],
    ['?since=2026-11-21T12:00:00.001Z', ['second', 'now']],
    ['?until=2026-11-21T12:00:00.001Z', ['first']],
    ['?limit=2', ['first', 'second']],
    ['?webhook_id=crm', ['first', 'second', 'now']],
  ])('gives with %j what is asked for', async (query, expected) => {
    endpoint = { ...endpoint, id: uniqueEndpointId(), uid: 'crm' as never };
    await new EndpointStore(api.redis.client, testSealer).create(endpoint);
    const names = new Map<string, string>([
      [await saved(), 'first'],
      [await saved(ACCEPTED_AT + 1), 'second'],
      [await saved(Date.now()), 'now'],
    ]);
    expect((await lines(query)).map((line) => names.get(line.delivery_id))).toEqual(expected);
  });

  it('leaves out what is accepted after it was asked for, so that it has an end', async () => {
    await saved(Date.now() + DAY_MS);
    expect(await lines()).toEqual([]);
  });

  it.each([
    ['since=yesterday', '?/since'],
    ['limit=0', '?/limit'],
    ['limit=1000001', '?/limit'],
    ['limit=', '?/limit'],
    ['cursor=x', '?/cursor'],
    ['cursor=e30', '?/cursor'],
    ['webhook_id=no%20id', '?/webhook_id'],
  ])('refuses ?%s with 422', async (query, pointer) => {
    const response = await ask(`?${query}`);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ errors: [{ pointer }] });
  });

  it("refuses a webhook that is not the account's with 404", async () => {
    const foreign = buildEndpoint();
    await new EndpointStore(api.redis.client, testSealer).create(foreign);
    for (const id of [foreign.id, uniqueEndpointId()]) {
      expect((await ask(`?webhook_id=${id}`)).status).toBe(404);
    }
  });

  it('breaks off when Redis falls silent in the middle, and goes on later from the last line that came', async () => {
    const ids: DeliveryId[] = [];
    for (let i = 0; i < 120; i += 1) ids.push(await saved(ACCEPTED_AT + i, 2));
    const proxy = willClose(await startRedisProxy(api.redis.url));
    const own = willClose(await startApi({ REDIS_URL: proxy.url }));
    await untilReady(own.url);
    const { eventId, endpointId } = parseDeliveryId(ids[70] ?? '') as DeliveryParts;
    const held = proxy.hold(keys.delivery(endpointId, eventId));

    const came: Line[] = [];
    await expect(readLines(await ask('', own.url), came)).rejects.toThrow();
    await held;
    expect(own.signals.named('request.failed')).toMatchObject([{ error: { code: 'storage_unavailable' } }]);

    expect(came).toHaveLength(140);
    const rest = await lines(`?cursor=${came.at(-1)?.cursor}`);
    const places = [...came, ...rest].map((line) => `${line.delivery_id} ${line.attempt.number}`);
    expect(places).toEqual(ids.flatMap((id) => [`${id} 1`, `${id} 2`]));
  });

  /**
   * What an export works with; `findKey` looks for its key each time that it is asked whether the key is
   * still good.
   */
  function contextOf(usedKey: string, findKey: () => Promise<ApiKey | undefined>) {
    const { client } = api.redis;
    const stores = {
      endpointStore: new EndpointStore(client, testSealer),
      eventStore: new EventStore(client, testRetention),
      deliveryStore: new DeliveryStore(client, testRetention),
      heldDeliveries: new HeldDeliveries(client, oneShard('bull')),
    };
    return {
      ...stores,
      exports: new Exports({ ...stores, history: new WholeHistory(new Recent(stores)) }),
      longAnswers: new LongAnswers(),
      authentication: openAuthentication(client, {
        apiKeyStore: fake<ApiKeyStore>({ find: findKey, noteUse: async () => {} }),
      }),
      key: usedKey,
      clock: Date.now,
    };
  }

  /** The parts of an export, as the route gives them. */
  async function partsOf(context: ReturnType<typeof contextOf>, end = new AbortController()) {
    const { accountId } = endpoint;
    const input = {
      apiKey: { accountId },
      query: {},
      receivedAt: Date.now(),
      header: () => `Bearer ${context.key}`,
    };
    const reply = await exportDeliveries.handle(input as never, context as unknown as ApiContext);
    const connection = { signal: end.signal, close: () => end.abort() };
    return reply.lines?.(connection)[Symbol.asyncIterator]();
  }

  it('turns few attempts into text at a time, and keeps an account to two exports at once', async () => {
    const { key: usedKey, record } = buildApiKey();
    const context = contextOf(usedKey, async () => record);
    const parts = {
      eventId: parseDeliveryId(await saved(ACCEPTED_AT, 0))?.eventId ?? uniqueEventId(),
      endpointId: endpoint.id,
    };
    const attempt = buildAttempt({ responseBody: 'x'.repeat(30_000) });
    for (let i = 0; i < 10; i += 1) {
      await context.deliveryStore.append(parts, { kind: 'attempted', attempt, nextAttemptAt: ACCEPTED_AT });
    }
    const [first, second, third] = [await partsOf(context), await partsOf(context), await partsOf(context)];
    const part = await first?.next();
    expect(String(part?.value).split('\n')).toHaveLength(4);
    await second?.next();
    await expect(third?.next()).rejects.toMatchObject({ code: 'rate_limited' });
    await Promise.all([first?.return?.(), second?.return?.()]);
  });

  it('breaks off within seconds when its key is refused, however slowly it is read', async () => {
    const end = new AbortController();
    const context = contextOf(buildApiKey().key, async () => undefined);
    // Events without end, of which nothing is kept any more.
    jest
      .spyOn(context.eventStore, 'listFrom')
      .mockImplementation(async () => Array.from({ length: 100 }, () => ({ id: uniqueEventId(), at: 0 })));
    const parts = await partsOf(context, end);
    // It has an end by the refusal alone.
    await expect(parts?.next()).rejects.toMatchObject({ name: 'AbortError' });
    expect(end.signal.aborted).toBe(true);
  });

  /** Puts the whole lines of an answer into `into` as they come. */
  async function readLines(response: Response, into: Line[]): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const whole = text.split('\n');
      text = whole.pop() ?? '';
      into.push(...whole.map((line) => JSON.parse(line) as Line));
    }
  }
});
