import { type AccountId, DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { keywordQuickWin } from '@hookferry/core/event-types/built-in';
import request, { type Test } from 'supertest';
import { readAcceptedEvents } from '../testing/read-accepted-events';
import { readProblem } from '../testing/read-problem';
import { type Belongings, pathTo, type RouteCase, routeCases, saveBelongings } from '../testing/route-cases';
import { startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
let key: string;
let operatorKey: string;
let accountId: AccountId;
let own: Belongings;
beforeAll(async () => {
  api = await startTestApi();
  ({ key, accountId } = await api.issueKey());
  ({ key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT }));
  own = await saveBelongings(api.redis, accountId);
});
afterAll(() => api.close());

type Method = RouteCase['method'];

/** JSON as a text: an object of ours can't have such a member by being written down. */
function send(method: Method, path: string, json: string, as = key): Test {
  const agent = request(api.url);
  return agent[method](path)
    .set('authorization', `Bearer ${as}`)
    .set('content-type', 'application/json')
    .send({})
    .serialize(() => json);
}

const PROTO = '"__proto__":{"status":"disabled"}';
const { name: type, example } = keywordQuickWin;
const withBody = routeCases.filter(({ body }) => body !== undefined);

describe('a member named __proto__', () => {
  it.each(withBody.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const))(
    'is refused at %s as any unknown one is',
    async (_name, route) => {
      const json = `{${PROTO},${JSON.stringify(route.body).slice(1)}`;
      const response = await send(
        route.method,
        pathTo(route, own),
        json,
        route.operatorOnly ? operatorKey : key,
      );
      expect(readProblem(response)).toEqual({
        status: 422,
        code: 'invalid_request',
        pointers: ['/__proto__'],
      });
    },
  );

  const webhook = '"url":"https://receiver.example.com/hooks","events":["*"]';
  it.each<[string, Method, string, string, string]>([
    ['metadata', 'post', '/v1/webhooks', `{${webhook},"metadata":{"__proto__":"x"}}`, '/metadata/__proto__'],
    ['headers', 'post', '/v1/webhooks', `{${webhook},"headers":{"__proto__":"x"}}`, '/headers/__proto__'],
    ['TLS', 'post', '/v1/webhooks', `{${webhook},"tls":{${PROTO}}}`, '/tls/__proto__'],
    ['patched metadata', 'patch', ':webhook', '{"metadata":{"__proto__":"x"}}', '/metadata/__proto__'],
    [
      'patched metadata, by null',
      'patch',
      ':webhook',
      '{"metadata":{"__proto__":null}}',
      '/metadata/__proto__',
    ],
    ['patched headers', 'patch', ':webhook', '{"headers":{"__proto__":"x"}}', '/headers/__proto__'],
  ])('is refused in %s', async (_what, method, at, json, pointer) => {
    const path = at === ':webhook' ? `/v1/webhooks/${own.webhook}` : at;
    const response = await send(method, path, json);
    expect(readProblem(response)).toEqual({ status: 422, code: 'invalid_request', pointers: [pointer] });
  });

  it('is refused in the schema of an event type, and in its example', async () => {
    for (const member of [
      `"schema":{"properties":{${PROTO}}},"example":{}`,
      `"schema":{},"example":{${PROTO}}`,
    ]) {
      const json = `{"description":"Odd",${member}}`;
      const response = await send('put', '/v1/event-types/odd.thing', json, operatorKey);
      expect(readProblem(response).status).toBe(422);
      expect(readProblem(response).pointers).toEqual([expect.stringMatching(/__proto__$/)]);
    }
  });

  it('is refused of one event in a batch, and sinks no other', async () => {
    const event = JSON.stringify({ type, data: example });
    const { body } = await send(
      'post',
      '/v1/events/batch',
      `{"events":[${event},{${PROTO},${event.slice(1)}]}`,
    );
    expect(body.data).toMatchObject([
      { status: 202 },
      { status: 422, error: { errors: [{ pointer: '/events/1/__proto__' }] } },
    ]);
  });

  it('is refused in data whose type does not know it', async () => {
    const json = `{"type":"${type}","data":{${PROTO},${JSON.stringify(example).slice(1)}}`;
    expect(readProblem(await send('post', '/v1/events', json))).toMatchObject({
      pointers: ['/data/__proto__'],
    });
  });

  // Data are never copied member by member: their text is checked, stored, signed and sent.
  it('is delivered as it was written in data of a type that takes any members', async () => {
    const taken = JSON.stringify({ description: 'Any', schema: { type: 'object' }, example: {} });
    expect((await send('put', '/v1/event-types/any.thing', taken, operatorKey)).status).toBeLessThan(300);
    const json = `{"type":"any.thing","data":{${PROTO},"a":{"__proto__":null}}}`;
    expect((await send('post', '/v1/events', json)).status).toBe(202);
    const [event] = (await readAcceptedEvents(api, accountId)).slice(-1);
    expect(event?.body).toBe(json);
    expect({}).not.toHaveProperty('status');
  });
});
