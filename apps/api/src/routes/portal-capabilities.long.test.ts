import {
  type AccountId,
  type Capability,
  capabilities,
  DEFAULT_ACCOUNT,
  type Scope,
} from '@hookferry/core/domain/account';
import { newestSecret } from '@hookferry/core/domain/endpoint';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import { type Belongings, saveBelongings, unknownIds } from '../testing/belongings';
import { callApi, callRoute, signIn } from '../testing/call-route';
import { type RouteCase, routeCases } from '../testing/route-cases';
import { startTestApi, type TestApi } from '../testing/start-test-api';
import { routes } from './index';

let api: TestApi;
let key: string;
let operatorKey: string;
beforeAll(async () => {
  api = await startTestApi({ PUBLIC_URL: '' });
  ({ key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT }));
});
beforeEach(async () => {
  ({ key } = await api.issueKey());
});
afterAll(() => api.close());

describe("another account's belongings", () => {
  const named = (cases: readonly RouteCase[]) =>
    cases.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const);
  const ofAnAccount = routeCases.filter(({ operatorOnly, scope }) => !operatorOnly && scope !== 'none');
  let token: string;
  let foreign: Belongings;
  let unknownEndpoint: AccountId;
  beforeEach(async () => {
    token = await signIn(api, key, { capabilities: ['webhooks', 'redeliver', 'secrets'] });
    unknownEndpoint = uniqueAccountId();
    foreign = await saveBelongings(api.redis, unknownEndpoint);
  });

  it.each(named(ofAnAccount.filter(({ of }) => of !== undefined)))(
    'are to a session as if they were not there: %s',
    async (_name, route) => {
      const answers = [
        await callRoute(api, route, token, foreign),
        await callRoute(api, route, token, unknownIds()),
      ];
      const [found, unknown] = answers.map(({ status, body }) => ({ status, detail: body.detail }));
      expect([403, 404]).toContain(found?.status);
      expect(found).toEqual(unknown);
    },
  );

  it.each(named(ofAnAccount))('are not reached by naming the account: %s', async (_name, route) => {
    const response = await callRoute(api, route, token, foreign).set('x-account-id', unknownEndpoint);
    expect(response.status).toBe(403);
    expect(['operator_only', 'insufficient_scope']).toContain(response.body.code);
  });

  it.each(named(ofAnAccount.filter(({ isList, of }) => isList && of === undefined)))(
    'are in no list: %s',
    async (_name, route) => {
      const { text } = await callRoute(api, route, token, foreign);
      for (const id of [...Object.values(foreign), unknownEndpoint]) expect(text).not.toContain(id);
    },
  );
});

describe('what a session may do', () => {
  /** What each scope takes; undefined: no session has it. A new scope has to be decided on here. */
  const NEEDED: Readonly<Record<Scope, Capability | undefined>> = {
    'webhooks:read': 'read',
    'deliveries:read': 'read',
    'webhooks:write': 'webhooks',
    'deliveries:write': 'redeliver',
    admin: 'operate',
    'accounts:act': 'operate',
    'audit:read': 'audit',
    'events:write': undefined,
    'portal:write': undefined,
  };
  const SECRETIVE = [
    'createListener',
    'streamListener',
    'readWebhookSecret',
    'rotateWebhookSecret',
    'rotateSigningKey',
  ];
  const SCHEDULING = ['rescheduleEvent', 'cancelEvent'];
  const PUBLISHING = ['publishEvent'];
  const TRANSFORMING = ['putTransformation', 'deleteTransformation', 'restoreTransformationVersion'];
  const optional = capabilities.filter((one) => one !== 'read');
  const isWhole = (set: readonly Capability[]) => !set.includes('secrets') || set.includes('webhooks');
  // A route needs one of them, or `secrets` beside `webhooks`. Each alone shows that no other is needed, and all without
  // it that no other will do. All sets, which double with each new one, would take minutes.
  const sets = [
    [],
    ...optional.map((one) => [one]),
    ['webhooks', 'secrets'] as const,
    ...optional.map((left) => optional.filter((one) => one !== left)),
    optional,
  ].filter(isWhole);

  function isAllowed(index: number, set: readonly Capability[]): boolean {
    const { scope, operationId, operatorOnly } = routes[index] as (typeof routes)[number];
    if (scope === 'none') return true;
    if (operatorOnly && !set.includes('operate')) return false;
    if (SECRETIVE.includes(operationId) && !set.includes('secrets')) return false;
    if (SCHEDULING.includes(operationId)) return set.includes('schedule');
    if (PUBLISHING.includes(operationId)) return set.includes('publish');
    if (TRANSFORMING.includes(operationId)) return set.includes('transform');
    if (scope === 'any') return true;
    const needed = NEEDED[scope];
    return needed === 'read' || (needed !== undefined && set.includes(needed));
  }

  it.each(sets.map((set) => [['read', ...set].join(' '), set] as const))(
    'with %s: each route of the table, or 403',
    async (_name, set) => {
      const token = await signIn(api, operatorKey, { capabilities: set });
      const answers = await Promise.all(
        routeCases.map((route) => callRoute(api, route, token, unknownIds())),
      );
      const seen = answers.map(({ status }, index) => [routes[index]?.operationId, status !== 403]);
      expect(seen).toEqual(routes.map(({ operationId }, index) => [operationId, isAllowed(index, set)]));
      // Only for want of a good code, and with that alone.
      const unauthenticated = answers.flatMap(({ status }, i) => (status === 401 ? [routes[i]?.scope] : []));
      expect(unauthenticated).toEqual(['none']);
    },
  );

  it('never shows a secret that was there before to a session without the capability for it', async () => {
    const operate = optional.filter((one) => one !== 'secrets');
    const token = await signIn(api, operatorKey, { capabilities: operate });
    const own = await saveBelongings(api.redis, DEFAULT_ACCOUNT);
    const listener = await callApi(api, 'post', '/v1/listeners', operatorKey).send({ name: 'laptop' });
    const store = new EndpointStore(api.redis.client, testSealer);
    const stored = await store.list(DEFAULT_ACCOUNT, 200);
    const secrets = stored.endpoints.map((endpoint) => newestSecret(endpoint).secret);
    expect(secrets).toContain(listener.body.secret);
    // What takes things away comes last.
    for (const route of routeCases.toSorted(
      (a, b) => Number(a.method === 'delete') - Number(b.method === 'delete'),
    )) {
      const { text } = await callRoute(api, route, token, own);
      for (const secret of secrets) expect(text).not.toContain(secret);
    }
  });
});
