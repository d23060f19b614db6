import { catalogue, operationalTypes } from '@hookferry/core/accounts/event-types/built-in';
import { EventTypeStore } from '@hookferry/core/accounts/event-types/redis-event-type-store';
import { type AccountId, DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import request, { type Response } from 'supertest';
import { callApi } from '../testing/call-route';
import { readAcceptedEvents } from '../testing/read-accepted-events';
import { readProblem } from '../testing/read-problem';
import { startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
let operatorKey: string;
let key: string;
let accountId: AccountId;
beforeAll(async () => {
  api = await startTestApi();
  ({ key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT, scopes: ['admin'] }));
  ({ key, accountId } = await api.issueKey());
});
afterEach(async () => {
  await api.redis.client.del('{event-types}');
});
afterAll(() => api.close());

const paid = {
  description: 'An invoice was paid.',
  schema: {
    type: 'object',
    properties: { id: { type: 'string' }, amount: { type: 'number' } },
    required: ['id'],
    additionalProperties: false,
  },
  example: { id: 'inv_1', amount: 10 },
};

function call(method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string, body?: object, as = key) {
  const test = request(api.url)[method](path).set('authorization', `Bearer ${as}`);
  return body === undefined ? test : test.send(body);
}

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

async function put(name: string, change: object = {}): Promise<Response> {
  return await call('put', `/v1/event-types/${name}`, { ...paid, ...change }, operatorKey);
}

describe('PUT /v1/event-types/{name}', () => {
  it('adds a type, and counts what replaces it', async () => {
    const first = await put('invoice.paid');
    expect(first.status).toBe(201);
    const view = { name: 'invoice.paid', ...paid, deprecated: false, origin: 'custom', version: 1 };
    expect(first.body).toEqual(view);
    const second = await put('invoice.paid', { deprecated: true });
    expect(second.body).toEqual({ ...view, deprecated: true, version: 2 });
    expect((await call('get', '/v1/event-types/invoice.paid')).body).toEqual(second.body);
  });

  it.each(catalogue.map(({ name }) => name))('replaces no %s: it is built in', async (name) => {
    expect(readProblem(await put(name))).toEqual({ status: 409, code: 'conflict' });
  });

  it.each<[string, string, object, string[]]>([
    ['a name of one word', 'invoice', {}, ['{name}']],
    ['a name in upper case', 'Invoice.paid', {}, ['{name}']],
    ['an invalid schema', 'invoice.paid', { schema: { type: 'text' } }, ['/schema/type']],
    ['a schema that is a list', 'invoice.paid', { schema: [] }, ['/schema']],
    ['a schema that is too long', 'invoice.paid', { schema: { title: 't'.repeat(40_000) } }, ['/schema']],
    ['an example that does not fit', 'invoice.paid', { example: { amount: 1 } }, ['/example/id']],
    ['no example', 'invoice.paid', { example: undefined }, ['/example']],
    ['an example that is too deep', 'invoice.paid', { example: deep(110) }, ['/example']],
    ['a schema that is too deep', 'invoice.paid', { schema: { default: deep(110) } }, ['/schema']],
    ['no description', 'invoice.paid', { description: undefined }, ['/description']],
  ])('refuses %s, and points there', async (_what, name, change, pointers) => {
    expect(readProblem(await put(name, change))).toEqual({ status: 422, code: 'invalid_request', pointers });
    expect(await api.redis.client.exists('{event-types}')).toBe(0);
  });

  it('takes no more than a thousand types, and still replaces existing ones', async () => {
    const { client } = api.redis;
    const names = Array.from({ length: 999 }, (_, i) => `type.n${i}`);
    await client.hset('{event-types}', ...names.flatMap((name) => [name, '{}']));
    expect((await put('invoice.paid')).status).toBe(201);
    expect(readProblem(await put('invoice.lost'))).toEqual({ status: 409, code: 'limit_reached' });
    const changed = { description: 'An invoice was paid in full.' };
    expect((await put('invoice.paid', changed)).body).toMatchObject({ version: 2 });
  });
});

describe('GET /v1/event-types', () => {
  it('lists what is built in, what this service itself raises, and what operators added', async () => {
    await put('invoice.paid', { deprecated: true });
    const { body } = await call('get', '/v1/event-types');
    const originOf = ({ isOperational }: (typeof catalogue)[number] & { isOperational?: true }) =>
      isOperational ? 'operational' : 'built_in';
    expect(body.data).toEqual([
      expect.objectContaining({ name: 'invoice.paid', deprecated: true, origin: 'custom', version: 1 }),
      ...catalogue.map((type) => ({
        name: type.name,
        description: type.description,
        schema: expect.objectContaining({ type: 'object', additionalProperties: false }),
        example: type.example,
        deprecated: false,
        origin: originOf(type),
        version: null,
      })),
    ]);
  });

  it.each(['no.such', 'Invoice', 'x', '__proto__', 'constructor'])('finds no %s', async (name) => {
    const response = await call('get', `/v1/event-types/${name}`);
    expect(readProblem(response)).toEqual({ status: 404, code: 'not_found' });
  });

  it.each(operationalTypes.map(({ name }) => name))('shows %s', async (name) => {
    const { body } = await call('get', `/v1/event-types/${name}`);
    expect(body).toMatchObject({ name, origin: 'operational' });
  });
});

describe('DELETE /v1/event-types/{name}', () => {
  const remove = (name: string) => call('delete', `/v1/event-types/${name}`, undefined, operatorKey);
  const webhook = (events: readonly string[]) => ({ url: 'https://receiver.example.com/', events });

  it('takes a type away that was added: nobody can read, publish or ask for it, until it is added again', async () => {
    await put('invoice.paid');
    await put('invoice.paid');
    expect((await remove('invoice.paid')).status).toBe(204);
    expect((await call('get', '/v1/event-types/invoice.paid')).status).toBe(404);
    const event = { type: 'invoice.paid', data: paid.example };
    expect(readProblem(await call('post', '/v1/events', event))).toMatchObject({ pointers: ['/type'] });
    const asking = await call('post', '/v1/webhooks', webhook(['invoice.paid']));
    expect(readProblem(asking)).toMatchObject({ status: 422, pointers: ['/events/0'] });
    expect((await put('invoice.paid', { schema: true })).body).toMatchObject({ version: 1 });
    expect((await call('post', '/v1/events', { ...event, data: 1 })).status).toBe(202);
  });

  it('leaves its events: they can be read and listed', async () => {
    await put('invoice.paid');
    const own = (await api.issueKey()).key;
    const { body } = await call('post', '/v1/events', { type: 'invoice.paid', data: paid.example }, own);
    expect((await remove('invoice.paid')).status).toBe(204);
    const read = await call('get', `/v1/events/${body.id}`, undefined, own);
    expect(read.body).toMatchObject({ type: 'invoice.paid' });
    const listed = await call('get', '/v1/events?type=invoice.paid', undefined, own);
    expect(listed.body.data).toMatchObject([{ id: body.id }]);
  });

  it.each(catalogue.map(({ name }) => name))('leaves %s: it is built in', async (name) => {
    expect(readProblem(await remove(name))).toEqual({ status: 409, code: 'conflict' });
  });

  it.each(['no.such', 'Invoice', '__proto__'])('finds no %s', async (name) => {
    expect(readProblem(await remove(name))).toEqual({ status: 404, code: 'not_found' });
  });

  it('says how many webhooks ask for it, of which accounts, and leaves it to them', async () => {
    await put('invoice.paid');
    const [one, other] = [await api.issueKey(), await api.issueKey()];
    const created = [
      await call('post', '/v1/webhooks', webhook(['*', 'invoice.paid']), one.key),
      await call('post', '/v1/webhooks', webhook(['invoice.*']), one.key),
      await call('post', '/v1/webhooks', webhook(['invoice.paid']), other.key),
    ];
    const refused = await remove('invoice.paid');
    expect(readProblem(refused)).toEqual({ status: 409, code: 'conflict' });
    expect(refused.body.detail).toMatch(/^3 webhooks get "invoice\.paid", of the accounts /);
    for (const each of [one, other]) expect(refused.body.detail).toContain(each.accountId);
    expect((await call('get', '/v1/event-types/invoice.paid')).status).toBe(200);

    const [first, , third] = created.map(({ body }) => `/v1/webhooks/${body.id}`);
    expect((await call('patch', String(first), { events: ['*'] }, one.key)).status).toBe(200);
    expect((await call('delete', String(third), undefined, other.key)).status).toBe(204);
    expect((await remove('invoice.paid')).body.detail).toMatch(
      `1 webhook gets "invoice.paid", of the account ${one.accountId}. `,
    );
    // The prefix has another type now, and does not stand for this one alone.
    await put('invoice.lost');
    expect((await remove('invoice.paid')).status).toBe(204);
  });

  it('finds the one webhook that asks for it among many of many accounts', async () => {
    await put('refund.paid');
    const accounts = await Promise.all(Array.from({ length: 60 }, () => api.issueKey()));
    const [first] = accounts;
    await Promise.all(accounts.map((each) => call('post', '/v1/webhooks', webhook(['*']), each.key)));
    const asking = (await call('post', '/v1/webhooks', webhook(['refund.*']), first?.key)).body;
    await Promise.all(
      Array.from({ length: 260 }, () => call('post', '/v1/webhooks', webhook(['*']), first?.key)),
    );
    expect((await remove('refund.paid')).body.detail).toMatch(/^1 webhook gets/);
    await call('delete', `/v1/webhooks/${asking.id}`, undefined, first?.key);
    expect((await remove('refund.paid')).status).toBe(204);
  });
});

describe('a type that an operator added', () => {
  const publish = (data: object) => call('post', '/v1/events', { type: 'invoice.paid', data });

  it('can be published at once, alone and in a batch, and its data are checked', async () => {
    const invoice = { type: 'invoice.paid', data: paid.example };
    expect(readProblem(await publish(paid.example))).toMatchObject({ status: 422, pointers: ['/type'] });
    await put('invoice.paid');
    expect((await publish(paid.example)).status).toBe(202);
    expect(readProblem(await publish({ id: 1 }))).toMatchObject({ status: 422, pointers: ['/data/id'] });
    const { body } = await call('post', '/v1/events/batch', {
      events: [invoice, { ...invoice, data: {} }, invoice],
    });
    expect(body.data).toMatchObject([
      { status_code: 202 },
      { status_code: 422, error: { errors: [{ pointer: '/events/1/data/id' }] } },
      { status_code: 202 },
    ]);
  });

  it('is checked by its newest schema at once', async () => {
    await put('invoice.paid');
    expect((await publish(paid.example)).status).toBe(202);
    await put('invoice.paid', { schema: { ...paid.schema, required: ['amount'] }, example: { amount: 1 } });
    expect((await publish({ id: 'inv_1' })).status).toBe(422);
    expect((await publish({ amount: 2 })).status).toBe(202);
  });

  it('is still taken when it is deprecated', async () => {
    await put('invoice.paid', { deprecated: true });
    expect((await publish(paid.example)).status).toBe(202);
  });

  it('keeps its data byte for byte', async () => {
    await put('invoice.paid');
    const data = '{ "amount":10.00, "id":"\\u0069" ,"amount":9007199254740993}';
    const { status } = await call('post', '/v1/events', {})
      .set('content-type', 'application/json')
      .serialize(() => `{"type":"invoice.paid","data":${data}}`);
    expect(status).toBe(202);
    const [event] = (await readAcceptedEvents(api, accountId)).slice(-1);
    expect(event?.body).toBe(`{"type":"invoice.paid","data":${data}}`);
  });

  it('can be asked for, by its name and by a prefix', async () => {
    const webhook = { url: 'https://receiver.example.com/', events: ['*', 'invoice.paid', 'invoice.*'] };
    expect(readProblem(await call('post', '/v1/webhooks', webhook))).toMatchObject({
      status: 422,
      pointers: ['/events/1', '/events/2'],
    });
    await put('invoice.paid');
    const { status, body } = await call('post', '/v1/webhooks', webhook);
    expect(status).toBe(201);
    expect((await call('patch', `/v1/webhooks/${body.id}`, { events: ['invoice.paid'] })).status).toBe(200);
    const unknown = await call('patch', `/v1/webhooks/${body.id}`, { events: ['*', 'invoice.lost'] });
    expect(readProblem(unknown)).toMatchObject({ status: 422, pointers: ['/events/1'] });
  });

  it('stands back behind one of the same name that a later version of the service has built in', async () => {
    const store = new EventTypeStore(api.redis.client);
    await store.replace({ ...paid, name: 'keyword.quick_win', deprecated: true, updatedAt: 0 });
    expect((await call('get', '/v1/event-types/keyword.quick_win')).body.origin).toBe('built_in');
  });
});

describe('without the built-in types', () => {
  it('has operational types and those of the operator, who may use the names of built-in ones', async () => {
    const own = await startTestApi({ BUILT_IN_EVENT_TYPES: 'false' });
    try {
      const { key: ownKey } = await own.issueKey({ accountId: DEFAULT_ACCOUNT });
      const list = async () => {
        const { body } = await callApi(own, 'get', '/v1/event-types', ownKey);
        return body.data as { name: string; origin: string }[];
      };
      expect(new Set((await list()).map(({ origin }) => origin))).toEqual(new Set(['operational']));
      const event = { type: 'brief.created', data: { brief_id: 'brf_1', title: 'Red shoes' } };
      const refused = await callApi(own, 'post', '/v1/events', ownKey).send(event);
      expect(refused).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: '/type', detail: expect.not.stringContaining('keyword.quick_win') }] },
      });
      const webhook = { url: 'https://receiver.example.com/hooks', events: ['keyword.*'] };
      expect((await callApi(own, 'post', '/v1/webhooks', ownKey).send(webhook)).status).toBe(422);
      const all = await callApi(own, 'post', '/v1/webhooks', ownKey).send({ ...webhook, events: ['*'] });
      expect(all.status).toBe(201);
      const test = () => callApi(own, 'post', `/v1/webhooks/${all.body.id}/test`, ownKey);
      expect(await test()).toMatchObject({ status: 422, body: { errors: [{ pointer: '/event_type' }] } });

      const type = { description: 'Ours.', schema: { type: 'object' }, example: { ours: true } };
      const replaced = await callApi(own, 'put', '/v1/event-types/brief.created', ownKey).send(type);
      expect(replaced).toMatchObject({ status: 201, body: { origin: 'custom' } });
      expect((await list())[0]).toMatchObject({ name: 'brief.created', origin: 'custom' });
      expect((await callApi(own, 'post', '/v1/events', ownKey).send({ ...event, data: {} })).status).toBe(
        202,
      );
      expect((await test()).status).toBe(202);
    } finally {
      await own.close();
    }
  });
});
