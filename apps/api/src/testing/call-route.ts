import request, { type Test } from 'supertest';
import { type Belongings } from './belongings';
import { pathTo, type RouteCase } from './route-cases';
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
  const link = await callApi(api, 'post', '/v1/portal-sessions', key).send(input).ok(isSuccess);
  const code = new URL(link.body.url).hash.replace('#code=', '');
  const session = await callApi(api, 'post', '/v1/portal-sessions/exchange').send({ code }).ok(isSuccess);
  return session.body.token;
}

const isSuccess = ({ status }: { readonly status: number }) => status < 300;
