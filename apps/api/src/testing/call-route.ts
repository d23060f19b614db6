import { strict as assert } from 'node:assert';
import request, { type Test } from 'supertest';
import { type Belongings, pathTo, type RouteCase } from './route-cases';
import type { TestApi } from './start-test-api';

type At = Pick<TestApi, 'url'>;

/** A request with a key or the token of a session, if one is given. */
export function callApi(api: At, method: RouteCase['method'], path: string, as?: string): Test {
  const test = request(api.url)[method](path);
  return as === undefined ? test : test.set('authorization', `Bearer ${as}`);
}

/** A request without a fault to the route. */
export function callRoute(api: At, route: RouteCase, as: string | undefined, ids: Belongings): Test {
  const test = callApi(api, route.method, pathTo(route, ids), as);
  return route.body === undefined ? test : test.send(route.body);
}

/** The token of a new session. */
export async function signIn(api: At, key: string, input: object = {}): Promise<string> {
  const made = await callApi(api, 'post', '/v1/portal-sessions', key).send(input);
  assert.equal(made.status, 201);
  const code = new URL(made.body.url).hash.replace('#code=', '');
  const { status, body } = await callApi(api, 'post', '/v1/portal-sessions/exchange').send({ code });
  assert.equal(status, 200);
  return body.token;
}
