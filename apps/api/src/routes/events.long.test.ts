import { keywordQuickWin, publishableTypes } from '@hookferry/core/accounts/event-types/built-in';
import type { AccountId } from '@hookferry/core/domain/account';
import { deliveryIdOf } from '@hookferry/core/domain/delivery';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import type { AcceptedEvent } from '@hookferry/core/domain/event';
import { DELIVERIES_QUEUE } from '@hookferry/core/domain/queues';
import { endpointUidSchema } from '@hookferry/core/domain/setting-schemas';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { COUNTED_ON_A_PAGE } from '@hookferry/core/history/whole-history';
import { buildAcceptedAttempt, buildAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { buildNewDeliveries } from '@hookferry/core/testing/build-new-deliveries';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEndpointId, uniqueEventId } from '@hookferry/core/testing/unique-ids';
import { Queue } from 'bullmq';
import * as fc from 'fast-check';
import request, { type Test } from 'supertest';
import { readAcceptedEvents } from '../testing/read-accepted-events';
import { readProblem } from '../testing/read-problem';
import { MAX_EVENT_BYTES, startTestApi, type TestApi } from '../testing/start-test-api';

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

describe('publishing', () => {
  let jobs: Queue;
  beforeAll(() => {
    jobs = new Queue(DELIVERIES_QUEUE, { connection: api.redis.client });
  });
  afterAll(() => jobs.close());

  function publish(body: object): Test {
    return request(api.url).post('/v1/events').set('authorization', `Bearer ${key}`).send(body);
  }

  function publishText(text: string): Test {
    return publish({})
      .set('content-type', 'application/json')
      .serialize(() => text);
  }

  function nested(levels: number): unknown {
    return levels === 0 ? 1 : [nested(levels - 1)];
  }

  const acceptedEvents = () => readAcceptedEvents(api, accountId);

  const { name: type, example: data } = keywordQuickWin;

  describe('POST /v1/events', () => {
    it.each(publishableTypes.map(({ name, example }) => [name, example] as const))(
      'accepts a %s once it is stored, with the body that will be delivered',
      async (name, example) => {
        const { status, body, headers } = await publish({ type: name, data: example });
        expect(status).toBe(202);
        expect(body).toEqual({
          id: expect.stringMatching(/^evt_[0-9a-z]{22}$/),
          type: name,
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          status: 'accepted',
          deliver_at: null,
        });
        expect(await acceptedEvents()).toEqual([
          {
            id: body.id,
            accountId,
            type: name,
            body: JSON.stringify({ type: name, data: example }),
            acceptedAt: Date.parse(body.created_at),
            requestId: headers['x-request-id'],
          },
        ]);
      },
    );

    it('delivers data byte for byte as it was written', async () => {
      const text =
        '{ "keyword":"\\u006b\\/ \\ud83d 🚀",\n "position":9007199254740993 ,"volume":-0, "volume":1.0e2 }';
      const { status } = await publishText(`{"data": ${text} , "type":"keyword\\u002equick_win"}`);
      expect(status).toBe(202);
      expect((await acceptedEvents()).at(-1)?.body).toBe(`{"type":"${type}","data":${text}}`);
    });

    it('delivers any text and number byte for byte as it was written', async () => {
      const keyword = fc
        .string({ minLength: 1, maxLength: 50, unit: 'binary' })
        .map((text) => JSON.stringify(text));
      const digits = fc.stringMatching(/^[1-9][0-9]{0,40}(\.0{1,5})?([eE]\+?[0-9]{1,2})?$/);
      await fc.assert(
        fc.asyncProperty(keyword, digits, digits, async (text, position, volume) => {
          const exact = `{"volume":${volume},"position": ${position},"keyword":${text}}`;
          expect((await publishText(`{"type":"${type}","data":${exact}}`)).status).toBe(202);
          expect((await acceptedEvents()).at(-1)?.body).toBe(`{"type":"${type}","data":${exact}}`);
        }),
        { numRuns: 50 },
      );
    });

    it('makes an event of each request', async () => {
      const answers = [await publish({ type, data }), await publish({ type, data })];
      expect(answers[0]?.body.id).not.toBe(answers[1]?.body.id);
      expect(await acceptedEvents()).toHaveLength(2);
    });

    it('says what is wrong with data in words for who sent them', async () => {
      const { body } = await publish({ type, data: { keyword: '', position: 1.5 } });
      expect(body.errors).toEqual([
        { pointer: '/data/keyword', detail: 'must have at least 1 character' },
        { pointer: '/data/position', detail: 'must be a whole number of at least 1' },
        { pointer: '/data/volume', detail: 'is required, and must be a whole number of at least 0' },
      ]);
    });

    it.each<[string, object, string[]]>([
      ['no type', { data }, ['/type']],
      ['a type that is no text', { type: 1, data }, ['/type']],
      ['an unknown type', { type: 'keyword.lost', data }, ['/type']],
      ['a filter for a type', { type: 'keyword.*', data }, ['/type']],
      ['no data', { type }, ['/data']],
      ['a type that only the service raises', { type: 'webhook.disabled', data: {} }, ['/type']],
      ['null as data', { type, data: null }, ['/data']],
      ['no members in data', { type, data: {} }, ['/data/keyword', '/data/position', '/data/volume']],
      ['a wrong value in data', { type, data: { ...data, position: 'top' } }, ['/data/position']],
      ['an unknown member in data', { type, data: { ...data, colour: 'red' } }, ['/data/colour']],
      ['the data of another type', { type: 'brief.created', data: { brief_id: 'b' } }, ['/data/title']],
      ['data that is too deep', { type, data: nested(101) }, ['/data']],
      ['an invalid id', { type, data, id: 'a.b' }, ['/id']],
      ['an id that is too long', { type, data, id: 'x'.repeat(129) }, ['/id']],
      ['no webhook to aim at', { type, data, webhook_ids: [] }, ['/webhook_ids']],
      ['what is no webhook', { type, data, webhook_ids: ['x'] }, ['/webhook_ids/0']],
      [
        'too many webhooks',
        { type, data, webhook_ids: Array(101).fill(uniqueEndpointId()) },
        ['/webhook_ids'],
      ],
      ['an unknown member', { type, data, colour: 'red' }, ['/colour']],
      ['an account, which is that of the key', { type, data, account_id: 'default' }, ['/account_id']],
    ])('refuses %s, and queues nothing', async (_what, body, pointers) => {
      expect(readProblem(await publish(body))).toEqual({ status: 422, code: 'invalid_request', pointers });
      expect(await acceptedEvents()).toEqual([]);
    });

    it('lists the known types when another one is named', async () => {
      const { body } = await publish({ type: 'keyword.lost', data });
      expect(body.errors[0].detail).toContain(publishableTypes.map(({ name }) => name).join(', '));
    });

    it('takes an event up to the limit, and none that is a byte longer', async () => {
      const frame = JSON.stringify({ type, data: { ...data, keyword: '' } });
      const keyword = 'k'.repeat(MAX_EVENT_BYTES - frame.length);
      expect((await publish({ type, data: { ...data, keyword } })).status).toBe(202);
      expect(readProblem(await publish({ type, data: { ...data, keyword: `${keyword}k` } }))).toEqual({
        status: 413,
        code: 'payload_too_large',
      });
    });

    it('is one event however often it comes under the same id, and says so with 200 instead of 202', async () => {
      const first = await publish({ type, data, id: 'order-17_A' });
      expect(first.status).toBe(202);
      expect(first.body).toMatchObject({ id: 'order-17_A', type });
      const again = await publish({ type, data, id: 'order-17_A' });
      expect({ status: again.status, body: again.body }).toEqual({ status: 200, body: first.body });
      expect(await acceptedEvents()).toHaveLength(1);
    });

    it('takes any id of its form', async () => {
      await fc.assert(
        fc.asyncProperty(fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/), async (id) => {
          const { status, body } = await publish({ type, data, id });
          expect([200, 202]).toContain(status);
          expect(body.id).toBe(id);
        }),
        { numRuns: 30 },
      );
    });

    it('refuses an id that belongs to an event with other content with 409', async () => {
      await publish({ type, data, id: 'order-17' });
      const other = await publish({ type, data: { ...data, position: 12 }, id: 'order-17' });
      expect(readProblem(other)).toEqual({ status: 409, code: 'event_id_conflict' });
      expect(other.body).toMatchObject({
        detail: expect.stringMatching(/in which spaces and the order of members count.*Send the same bytes/),
      });
      expect(await acceptedEvents()).toHaveLength(1);
    });

    it('has its deliveries on their queue when it is accepted', async () => {
      const endpoint = buildEndpoint({ accountId });
      await new EndpointStore(api.redis.client, testSealer).create(endpoint);
      const { body } = await publish({ type, data });
      const job = await jobs.getJob(deliveryIdOf({ eventId: body.id, endpointId: endpoint.id }));
      expect(job?.data).toEqual({ account_id: accountId });
    });

    it('is accepted once of 100 equal requests at the same time', async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => publish({ type, data, id: 'order-18' })),
      );
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(99);
      expect(await acceptedEvents()).toHaveLength(1);
    });

    it('is aimed at the webhooks that are named, if the account has them', async () => {
      const endpoint = buildEndpoint({
        accountId,
        uid: endpointUidSchema.parse('main'),
        events: ['brief.created'],
      });
      const foreign = buildEndpoint();
      const store = new EndpointStore(api.redis.client, testSealer);
      await Promise.all([store.create(endpoint), store.create(foreign)]);
      expect((await publish({ type, data, webhook_ids: [endpoint.id] })).status).toBe(202);
      expect((await publish({ type, data, webhook_ids: ['main', endpoint.id] })).status).toBe(202);
      const eventStore = new EventStore(api.redis.client, testRetention);
      const receivers = (await acceptedEvents()).map(({ id }) => eventStore.listReceivers(accountId, id, 10));
      expect((await Promise.all(receivers)).map(({ members }) => members)).toEqual([
        [endpoint.id],
        [endpoint.id],
      ]);

      const refused = await publish({ type, data, webhook_ids: [endpoint.id, foreign.id] });
      expect(readProblem(refused)).toEqual({
        status: 422,
        code: 'invalid_request',
        pointers: ['/webhook_ids/1'],
      });
      expect(refused.body.errors[0].detail).toContain(foreign.id);
      expect(await acceptedEvents()).toHaveLength(2);
    });

    it('is announced, and counted by its type', async () => {
      const { body } = await publish({ type, data });
      expect(api.signals.named('event.accepted').at(-1)).toMatchObject({
        source: 'http',
        accountId,
        eventId: body.id,
        type,
      });
      const { text } = await request(api.url).get('/metrics');
      expect(text).toMatch(
        /^webhooks_events_accepted_total\{type="keyword\.quick_win",source="http"\} [1-9]/m,
      );
    });
  });
});

describe('reading', () => {
  const ACCEPTED_AT = Date.parse('2026-11-21T12:00:00.000Z');
  const NO_DELIVERIES = {
    total: 0,
    pending: 0,
    held: 0,
    delivered: 0,
    exhausted: 0,
    aborted: 0,
    cancelled: 0,
    superseded: 0,
  };

  function get(path: string): Test {
    return request(api.url).get(path).set('authorization', `Bearer ${key}`);
  }

  const stores = () => ({
    events: new EventStore(api.redis.client, testRetention),
    deliveries: new DeliveryStore(api.redis.client, testRetention),
  });

  async function saved(change: Partial<AcceptedEvent> = {}): Promise<AcceptedEvent> {
    const event = buildEvent({ accountId, acceptedAt: ACCEPTED_AT, ...change });
    await stores().events.save(event)(api.redis.client);
    await stores().events.enlistAll([{ event, deliveries: 0 }])(api.redis.client);
    return event;
  }

  /**
   * An event that went to five endpoints, and what became of that: from the one registered last to the first.
   */
  async function sentToFive() {
    const event = await saved();
    const endpointIds = Array.from(
      { length: 5 },
      (_, i) => `${uniqueEndpointId().slice(0, -1)}${i}` as EndpointId,
    )
      .toSorted()
      .toReversed();
    const { events, deliveries } = stores();
    await events.addReceivers(accountId, event.id, endpointIds)(api.redis.client);
    await deliveries.enlistAll(buildNewDeliveries(event.id, endpointIds, event.acceptedAt))(api.redis.client);
    const [first, second, third] = endpointIds.map((endpointId) => ({ endpointId, eventId: event.id }));
    if (!first || !second || !third) throw new Error('arranged otherwise');
    const accepted = {
      kind: 'attempted',
      attempt: buildAcceptedAttempt(),
      nextAttemptAt: undefined,
    } as const;
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
        event_type: event.type,
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
    ])('shows with ?%s the matching ones', async (query, expected) => {
      const { event } = await sentToFive();
      expect((await get(`/v1/events/${event.id}/deliveries?${query}`)).body.data).toHaveLength(expected);
    });
  });

  describe('GET /v1/events', () => {
    it("gives the account's events, the newest first, without their data", async () => {
      const { id } = await saved({ requestId: 'req_1' });
      const { id: younger } = await saved({ acceptedAt: ACCEPTED_AT + 1, type: 'brief.created' });
      expect((await get('/v1/events')).body).toEqual({
        data: [
          {
            id: younger,
            type: 'brief.created',
            created_at: '2026-11-21T12:00:00.001Z',
            status: 'accepted',
            deliver_at: null,
            payload_erased_at: null,
            request_id: null,
            delivery_count: 0,
          },
          {
            id,
            type: 'keyword.quick_win',
            created_at: '2026-11-21T12:00:00.000Z',
            status: 'accepted',
            deliver_at: null,
            payload_erased_at: null,
            request_id: 'req_1',
            delivery_count: 0,
          },
        ],
        next_cursor: null,
        has_more: false,
        oldest_searched_at: null,
        history: null,
      });
    });

    it('counts the deliveries of each by status when asked, as far as a page has not too many', async () => {
      const { event } = await sentToFive();
      const listed = async () => (await get('/v1/events?include=deliveries')).body.data;
      const { deliveries } = (await get(`/v1/events/${event.id}`)).body;
      expect(await listed()).toEqual([expect.objectContaining({ delivery_count: 5, deliveries })]);
      const many = Array.from({ length: COUNTED_ON_A_PAGE - 4 }, () => uniqueEndpointId());
      const older = await saved({ acceptedAt: ACCEPTED_AT - 1 });
      await stores().events.addReceivers(accountId, older.id, many)(api.redis.client);
      expect((await listed()).map((each: { deliveries: unknown }) => each.deliveries)).toEqual([
        deliveries,
        null,
      ]);
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
    ])('shows with ?%s the matching ones', async (query, expected) => {
      const events = [await saved(), await saved({ acceptedAt: ACCEPTED_AT + 1, type: 'brief.created' })];
      const { body } = await get(`/v1/events?${query}`);
      expect(body.data.map(({ id }: { id: string }) => id)).toEqual(expected.map((i) => events[i]?.id));
    });

    it.each([
      ['{"order":{"id":4711}}', [0]],
      ['{"order":{"id":4711.0,"tags":["b"]}}', [0]],
      ['{"order":{"id":9007199254740993}}', [1]],
      ['{"order":{"id":9007199254740992}}', []],
      ['{"id":4711}', []],
      [' { } ', [1, 0]],
      ['{"order":{"id":"\\u0000"}}', []],
      ['4711', [0]],
      ['"b"', [0]],
      ['"4711"', []],
      ['"order.paid"', []],
      [`{"order":${'{"a":'.repeat(6)}{}${'}'.repeat(6)}}`, []],
    ])('shows with data %s the events whose data contain it', async (data, expected) => {
      const type = 'order.paid';
      const bodyOf = (order: string) => `{"type":"${type}","data":{"order":${order}}}`;
      const events = [
        await saved({ type, body: bodyOf('{"id":4711,"tags":["a","b"]}') }),
        await saved({ type, body: bodyOf('{"id":9007199254740993}'), acceptedAt: ACCEPTED_AT + 1 }),
      ];
      const { status, body } = await get(`/v1/events?data=${encodeURIComponent(data)}`);
      expect([status, body.next_cursor]).toEqual([200, null]);
      expect(body.data.map(({ id }: { id: string }) => id)).toEqual(expected.map((i) => events[i]?.id));
    });

    const EXAMPLE =
      'must be a JSON object, such as {"order":{"id":4711}}, a number or a text in double quotes';
    const IN_LISTS = 'must have at most 16 values in its lists, at most 4 of them lists or objects';

    it.each([
      ['no JSON', '{order:1}', EXAMPLE],
      ['nothing', '', EXAMPLE],
      ['an array', '[{"order":1}]', EXAMPLE],
      ['a text without quotes', 'order', EXAMPLE],
      ['true', 'true', EXAMPLE],
      ['null', 'null', EXAMPLE],
      ['a long object', `{"a":"${'é'.repeat(509)}"}`, 'must be at most 1024 bytes long'],
      ['a deep object', `${'{"a":'.repeat(8)}[]${'}'.repeat(8)}`, 'must be at most 8 levels deep'],
      ['much in its lists', `{"a":[${'1,'.repeat(10)}1],"b":{"c":[${'"x",'.repeat(5)}""]}}`, IN_LISTS],
      ['five lists in lists', '{"a":[[1],[2],{}],"b":[[[]]]}', IN_LISTS],
    ])('says what is wrong with data that are %s', async (_what, data, detail) => {
      for (const path of ['events', 'deliveries']) {
        const { status, body } = await get(`/v1/${path}?data=${encodeURIComponent(data)}`);
        expect([status, body.code, body.errors]).toEqual([
          422,
          'invalid_request',
          [{ pointer: '?/data', detail }],
        ]);
      }
    });

    it('takes data of 1,024 bytes', async () => {
      const data = `{"a":"${'é'.repeat(508)}"}`;
      expect((await get(`/v1/events?data=${encodeURIComponent(data)}`)).status).toBe(200);
    });
  });

  describe('DELETE /v1/events/{id}/payload', () => {
    const erase = (id: string) =>
      request(api.url).delete(`/v1/events/${id}/payload`).set('authorization', `Bearer ${key}`);

    it('keeps the event and its deliveries recorded, without its data', async () => {
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
});
