import { type AccountId, DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import request, { type Test } from 'supertest';
import { type Belongings, saveBelongings } from './belongings';
import { pathTo, type RouteCase } from './route-cases';
import { startTestApi, type TestApi } from './start-test-api';

/** Who sends requests, and what there is to name in them. */
export interface Caller {
  readonly key: string;
  readonly accountId: AccountId;
  readonly operatorKey: string;
  readonly own: Belongings;
}

export interface Sending {
  readonly ids?: Belongings;
  readonly query?: string;
  readonly authorization?: string | undefined;
}

/** A listener counts as connected for 15 seconds. */
const GOOD_FOR_MS = 5_000;

/** An API, and requests to each of its routes. */
export class EveryRoute {
  #caller: Caller | undefined;
  #mayBeChanged = true;
  #madeAt = 0;

  private constructor(readonly api: TestApi) {}

  static async start(): Promise<EveryRoute> {
    return new EveryRoute(await startTestApi());
  }

  /** New ones after each request that may have changed something: most tests are of requests that are refused. */
  async prepare(): Promise<Caller> {
    const isGood = !this.#mayBeChanged && Date.now() - this.#madeAt < GOOD_FOR_MS;
    if (this.#caller !== undefined && isGood) return this.#caller;
    const [{ key, accountId }, { key: operatorKey }] = await Promise.all([
      this.api.issueKey(),
      this.api.issueKey({ accountId: DEFAULT_ACCOUNT }),
    ]);
    const own = await saveBelongings(this.api.redis, accountId);
    [this.#mayBeChanged, this.#madeAt] = [false, Date.now()];
    this.#caller = { key, accountId, operatorKey, own };
    return this.#caller;
  }

  /** A request to a route that lacks nothing but a body, with the changes given. */
  open(route: RouteCase, { query = '', ...given }: Sending = {}): Test {
    if (this.#caller === undefined) throw new Error('Call prepare() first.');
    const { own, key, operatorKey } = this.#caller;
    const test = request(this.api.url)[route.method](withQuery(pathTo(route, given.ids ?? own), query));
    test.on('response', ({ ok }: { readonly ok: boolean }) => {
      // A stream of a listener takes it over.
      this.#mayBeChanged ||= ok && (route.method !== 'get' || route.path.endsWith('/stream'));
    });
    const ownKey = `Bearer ${route.operatorOnly ? operatorKey : key}`;
    const authorization = 'authorization' in given ? given.authorization : ownKey;
    return authorization === undefined ? test : test.set('authorization', authorization);
  }

  /** A request without a fault, but for the changes given. */
  send(route: RouteCase, sending: Sending = {}): Test {
    const test = this.open(route, sending);
    return route.body === undefined ? test : test.send(route.body);
  }

  close(): Promise<void> {
    return this.api.close();
  }
}

/** A path may have a query of its own. */
function withQuery(path: string, query: string): string {
  return path + (path.includes('?') ? query.replace('?', '&') : query);
}

/** For a table of tests. */
export function named(routes: readonly RouteCase[]) {
  return routes.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const);
}
