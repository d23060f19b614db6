import { type AccountId, DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { createClosables } from '@hookferry/core/testing/closables';
import request, { type Test } from 'supertest';
import { actionOf, type Route } from '../http/route';
import { saveBelongings, unknownIds } from '../testing/belongings';
import { pathTo, type RouteCase, routeCases } from '../testing/route-cases';
import { startTestApi, type TestApi } from '../testing/start-test-api';
import { routes } from './index';

let api: TestApi;
let key: string;
let accountId: AccountId;
let operatorKey: string;
beforeAll(async () => {
  api = await startTestApi({ TRUST_PROXY: '1' });
  ({ key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT }));
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
});
afterAll(() => api.close());

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

interface Entry {
  readonly id: string;
  readonly account_id: string | null;
  readonly actor: { readonly type: string; readonly id?: string; readonly label?: string };
  readonly action: string;
  readonly target: { readonly type: string; readonly id: string } | null;
  readonly outcome: string;
  readonly code?: string;
  readonly address: string | null;
  readonly request_id: string | null;
  readonly client_request_id: string | null;
  readonly changes: readonly { readonly field: string; readonly from?: unknown; readonly to?: unknown }[];
}

const WEBHOOK = { url: 'https://receiver.example.com/hooks', events: ['*'] };

function call(method: Route['method'], path: string, as: string | undefined = key, to = api): Test {
  const sending = request(to.url)[method](path);
  return as === '' ? sending : sending.auth(as, { type: 'bearer' });
}

async function entries(query = '', as = key, to = api): Promise<readonly Entry[]> {
  const { status, body } = await call('get', `/v1/audit-log${query}`, as, to);
  expect(status).toBe(200);
  return body.data;
}

/** What the log of all accounts has of a request. Refusals are written behind the response. */
async function entriesOf(requestId: string, count: number, query = ''): Promise<readonly Entry[]> {
  for (;;) {
    const found = await presentEntriesOf(requestId, query);
    if (found.length >= count) return found;
  }
}

async function presentEntriesOf(requestId: string, query = ''): Promise<readonly Entry[]> {
  const all = await entries(`?account_id=*&limit=200${query}`, operatorKey);
  return all.filter(({ client_request_id: id }) => id === requestId);
}

/** Of one account only ten refusals are recorded within a second: then it is sent again in the next one. */
async function entriesOfRefusal(sendRefused: (requestId: string) => Test): Promise<readonly Entry[]> {
  for (;;) {
    const requestId = nextRequestId();
    await sendRefused(requestId);
    for (const end = Date.now() + 1_000; Date.now() < end; ) {
      const found = await presentEntriesOf(requestId);
      if (found.length > 0) return found;
    }
  }
}

let requests = 0;
const nextRequestId = () => `audit-${(requests += 1)}`;

const acting = routeCases.flatMap((routeCase, i) => {
  const route = routes[i];
  const action = route && actionOf(route);
  return action === undefined ? [] : [{ name: `${routeCase.method} ${routeCase.path}`, routeCase, action }];
});
const keyed = acting.filter(({ routeCase }) => routeCase.scope !== 'none');

function send(routeCase: RouteCase, path: string, as: string, requestId: string): Test {
  const sending = call(routeCase.method, path, as).set('x-request-id', requestId);
  return routeCase.body === undefined ? sending : sending.send(routeCase.body);
}

describe('what is done', () => {
  it.each(keyed)('is on record, once: $name', async ({ routeCase, action }) => {
    const ids = await saveBelongings(api.redis, accountId);
    const requestId = nextRequestId();
    const as = routeCase.operatorOnly ? operatorKey : key;
    const path = pathTo(routeCase, ids);
    // Of what is not paused there is nothing to resume.
    if (path.endsWith('/resume')) await call('post', path.replace(/resume$/, 'pause'), as).expect(200);
    const { status } = await send(routeCase, path, as, requestId);
    expect(status).toBe(routeCase.status);
    const all = await entriesOf(requestId, 1);
    // The webhooks of an account that is paused, or resumed, have an entry each, in the account's own log.
    const found = all.filter(
      (entry) => !routeCase.path.startsWith('/v1/accounts') || entry.action === action,
    );
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({
      account_id: routeCase.operatorOnly ? DEFAULT_ACCOUNT : accountId,
      actor: { type: 'api_key', id: as.slice(4, 20) },
      action,
      target: { type: action.split('.')[0], id: expect.stringMatching(/./) },
      outcome: 'ok',
      address: '127.0.0.1',
    });
  });

  it('has the changed fields, with the values that are no secrets', async () => {
    const { body } = await call('post', '/v1/webhooks').send({ ...WEBHOOK, description: 'old' });
    await call('patch', `/v1/webhooks/${body.id}`).send({
      description: 'new',
      url: 'https://receiver.example.com/other?token=q-secret',
      headers: { 'x-token': 'h-secret' },
    });
    const [entry] = await entries(`?target=${body.id}&action=webhook.update`);
    expect(entry?.changes).toEqual([
      { field: 'description', from: 'old', to: 'new' },
      { field: 'headers.x-token' },
      {
        field: 'url',
        from: 'https://receiver.example.com/hooks',
        to: 'https://receiver.example.com/other',
      },
    ]);
  });

  it('keeps no secret, in whatever form it was sent', async () => {
    const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
    const { body } = await call('post', '/v1/webhooks').send({
      ...WEBHOOK,
      url: 'https://receiver.example.com/hooks?key=query-secret',
      secret,
      headers: { authorization: 'Bearer header-secret' },
      metadata: { note: 'note-secret' },
    });
    const rotated = await call('post', `/v1/webhooks/${body.id}/rotate-secret`).send({});
    const issued = await call('post', '/v1/api-keys').send({ name: 'a key', scopes: ['admin'] });
    const made = await call('post', '/v1/portal-sessions').send({ expires_in_seconds: 60 });
    await call('post', '/v1/webhooks').send({ ...WEBHOOK, secret: 'bad-secret' });
    const { url } = made.body as { readonly url: string };
    const hidden = [secret, rotated.body.secret, issued.body.key, url.split('#code=')[1]];
    const log = JSON.stringify(await api.redis.client.zrange(`audit-log:{${accountId}}`, '0', '-1'));
    expect(log).toContain('webhook.create');
    for (const text of [...hidden, 'query-secret', 'header-secret', 'note-secret']) {
      expect(log).not.toContain(text);
    }
    await entriesOf('none', 0);
    expect(JSON.stringify(await entries())).not.toContain('bad-secret');
  });
});

describe('audit.recorded', () => {
  const raised = () =>
    api.signals.named('operational_event.raised').filter((signal) => signal.accountId === accountId);

  it('tells a webhook that asked for it of each entry, and nobody else', async () => {
    const { body: plain } = await call('post', '/v1/webhooks').send(WEBHOOK);
    await call('post', `/v1/webhooks/${plain.id}/disable`);
    const events = ['audit.recorded'];
    const { body } = await call('post', '/v1/webhooks').send({ ...WEBHOOK, events });
    await call('patch', `/v1/webhooks/${body.id}`).send({ description: 'new' });
    await call('post', `/v1/webhooks/${body.id}/disable`);
    while (raised().length < 3) await entries();
    expect(raised().map(({ type }) => type)).toEqual(Array(3).fill('audit.recorded'));
    expect(new Set(raised().map(({ eventId }) => eventId)).size).toBe(3);
  });
});

describe('what is refused', () => {
  it.each(keyed)('for want of a scope is on record: $name', async ({ routeCase, action }) => {
    const { key: weak, accountId: owner } = await api.issueKey({ scopes: [] });
    const path = pathTo(routeCase, unknownIds());
    const found = await entriesOfRefusal((requestId) => send(routeCase, path, weak, requestId));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({
      account_id: routeCase.operatorOnly ? DEFAULT_ACCOUNT : owner,
      actor: { type: 'api_key', id: weak.slice(4, 20) },
      action,
      outcome: 'refused',
      code: 'insufficient_scope',
    });
    // In the operator's log a name would outlive the erasure of its account.
    expect('name' in (found[0]?.actor ?? {})).toBe(!routeCase.operatorOnly);
  });

  it.each(acting)(
    'without a valid key is in the operator’s log alone: $name',
    async ({ routeCase, action }) => {
      const requestId = nextRequestId();
      const sent = routeCase.scope === 'none' ? '' : 'whk_0123456789abcdef_no';
      // Of one address only so many are recorded within a second.
      const address = `198.51.100.${requests % 256}`;
      const path = pathTo(routeCase, unknownIds());
      await send(routeCase, path, sent, requestId).set('x-forwarded-for', address);
      const found = await entriesOf(requestId, 1);
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject({
        account_id: null,
        actor: { type: 'anonymous' },
        address,
        action,
        outcome: 'refused',
        code: 'unauthenticated',
      });
      expect(await entries('', operatorKey)).not.toContainEqual(
        expect.objectContaining({ account_id: null }),
      );
    },
  );

  it('says why, and shows nothing of what was sent', async () => {
    const requestId = nextRequestId();
    await send(
      { ...routeCases[0], body: { url: 'sent-url', events: ['sent-type'] } } as RouteCase,
      '/v1/webhooks',
      key,
      requestId,
    );
    const [entry] = await entriesOf(requestId, 1);
    expect(entry).toMatchObject({ account_id: accountId, code: 'invalid_request', target: null });
    expect(JSON.stringify(entry)).not.toContain('sent-');
  });

  it('however often pushes no change out of the log, and takes a bounded part of Redis', async () => {
    const { body } = await call('post', '/v1/webhooks').send(WEBHOOK);
    const { key: weak } = await api.issueKey({ accountId, scopes: [] });
    const flood = async () => await call('post', '/v1/webhooks', weak).send(WEBHOOK);
    for (let i = 0; i < 20; i += 1) await Promise.all(Array.from({ length: 50 }, flood));
    expect(await entries(`?target=${body.id}&action=webhook.create`)).toHaveLength(1);
    const kept = await api.redis.client.zcard(`audit-refusals:{${accountId}}`);
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(500);
  });
});

describe('which request it was', () => {
  it('is told by an id that no client can choose, with the one that the client chose', async () => {
    const chosen = nextRequestId();
    const { body } = await call('post', '/v1/webhooks').set('x-request-id', chosen).send(WEBHOOK);
    await call('post', `/v1/webhooks/${body.id}/test`).set('x-request-id', chosen).send({}).expect(202);
    // It must not seem to be the end of the test.
    await call('post', `/v1/webhooks/${body.id}/test`)
      .set('x-request-id', chosen)
      .send({ event_type: 1 })
      .expect(422);
    const found = await entriesOf(chosen, 3);
    const ids = found.map(({ request_id: id }) => id);
    expect(ids).toEqual(Array(3).fill(expect.stringMatching(/^req_[0-9a-z]{22}$/)));
    expect(new Set(ids).size).toBe(3);
  });

  it('is told by the id of the response where the client chose none', async () => {
    const { headers, body } = await call('post', '/v1/webhooks').send(WEBHOOK);
    expect(await entries(`?target=${body.id}`)).toMatchObject([
      { request_id: headers['x-request-id'], client_request_id: null },
    ]);
  });
});

describe('whose address it is', () => {
  it('is that of the connection, whatever the request says', async () => {
    const open = willClose(await startTestApi());
    const { key: other } = await open.issueKey();
    await call('post', '/v1/webhooks', other, open)
      .set('x-forwarded-for', '198.51.100.1')
      .set('forwarded', 'for=198.51.100.1')
      .send(WEBHOOK);
    expect(await entries('', other, open)).toMatchObject([{ address: '127.0.0.1' }]);
  });

  it('is what a trusted proxy has seen, not what its client has made up', async () => {
    await call('post', '/v1/webhooks').set('x-forwarded-for', '198.51.100.1, 203.0.113.7').send(WEBHOOK);
    expect(await entries()).toMatchObject([{ address: '203.0.113.7' }]);
  });
});

describe('GET /v1/audit-log', () => {
  it('shows an account its own entries alone', async () => {
    await call('post', '/v1/webhooks').send(WEBHOOK);
    const other = await api.issueKey();
    expect(await entries('', other.key)).toEqual([]);
    for (const query of ['?account_id=*', `?account_id=${accountId}`]) {
      const { status, body } = await call('get', `/v1/audit-log${query}`, other.key);
      expect([status, body.code]).toEqual([403, 'operator_only']);
    }
    expect(await entries(`?account_id=${accountId}`, operatorKey)).toEqual(await entries());
    const asOperator = await call('get', '/v1/audit-log', operatorKey).set('x-account-id', accountId);
    expect(asOperator.body.data).toEqual(await entries());
  });

  it('names the key that acted, and tells no account what the operator calls its own', async () => {
    const asOperator = (path: string) => call('post', path, operatorKey).set('x-account-id', accountId);
    const { body } = await asOperator('/v1/api-keys').send({ name: 'backend', scopes: ['webhooks:write'] });
    await call('post', '/v1/webhooks', body.key).send(WEBHOOK);
    await asOperator('/v1/webhooks').send(WEBHOOK);
    const unnamed = { type: 'api_key', id: operatorKey.slice(4, 20) };
    const named = { type: 'api_key', id: body.id, name: 'backend' };
    expect((await entries()).map(({ actor }) => actor)).toEqual([unnamed, named, unnamed]);
    const ownName = { ...unnamed, name: expect.any(String) };
    await call('post', '/v1/webhooks', operatorKey).send(WEBHOOK);
    expect((await entries('', operatorKey))[0]?.actor).toEqual(ownName);
    // The log of what only operators may do is their own, whichever account the request names.
    await asOperator(`/v1/accounts/${accountId}/pause`).send({});
    await asOperator(`/v1/accounts/${accountId}/resume`).send({});
    const asked = await entries(`?action=account.*&target=${accountId}`, operatorKey);
    expect(asked.map(({ actor }) => actor)).toEqual([ownName, ownName]);
    const refused = await entriesOfRefusal((requestId) =>
      asOperator('/v1/webhooks').set('x-request-id', requestId).send({}),
    );
    expect(refused.map(({ actor }) => actor)).toEqual([unnamed]);
  });

  it('is read by pages, filtered by actor, action, target and time', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push((await call('post', '/v1/webhooks').send(WEBHOOK)).body.id);
    await call('post', `/v1/webhooks/${ids[0]}/disable`);
    const first = await call('get', '/v1/audit-log?limit=4');
    const rest = await call('get', `/v1/audit-log?limit=4&cursor=${first.body.next_cursor}`);
    expect(first.body.has_more).toBe(true);
    expect(first.body.oldest_searched_at).toBe(first.body.data.at(-1).created_at);
    expect(rest.body).toMatchObject({ has_more: false, oldest_searched_at: null });
    const all = [...first.body.data, ...rest.body.data] as readonly Entry[];
    expect(all.map(({ target }) => target?.id)).toEqual([ids[0], ...ids.toReversed()]);
    expect(await entries(`?actor=${key.slice(4, 20)}`)).toHaveLength(6);
    expect(await entries('?actor=nobody')).toEqual([]);
    expect(await entries('?action=webhook.disable')).toHaveLength(1);
    expect(await entries('?action=webhook.*')).toHaveLength(6);
    expect(await entries('?action=api_key.*')).toEqual([]);
    expect((await entries(`?target=${ids[0]}`)).map(({ action }) => action)).toEqual([
      'webhook.disable',
      'webhook.create',
    ]);
    expect(await entries('?until=2020-01-01T00:00:00Z')).toEqual([]);
    expect(await entries('?since=2020-01-01T00:00:00Z')).toHaveLength(6);
  });

  it('is exported, a line each, and goes on behind the cursor of a line', async () => {
    for (let i = 0; i < 3; i += 1) await call('post', '/v1/webhooks').send(WEBHOOK);
    const linesOf = async (query: string): Promise<(Entry & { readonly cursor: string })[]> => {
      const { text } = await call('get', `/v1/audit-log/export${query}`).buffer(true).parse(asText);
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    };
    const all = await linesOf('');
    expect(all.map(({ cursor: _cursor, ...entry }) => entry)).toEqual(await entries());
    expect((await linesOf(`?cursor=${all[0]?.cursor}`)).map(({ id }) => id)).toEqual([
      all[1]?.id,
      all[2]?.id,
    ]);
    expect(await linesOf('?limit=1')).toHaveLength(1);
  });
});

describe('a portal session', () => {
  async function open(input: object): Promise<{ readonly token: string; readonly id: string }> {
    const made = await call('post', '/v1/portal-sessions').send(input);
    const code = (made.body.url as string).split('#code=')[1];
    return (await call('post', '/v1/portal-sessions/exchange', '').send({ code })).body;
  }

  it('is named by its label, from its log-in on', async () => {
    const { token, id } = await open({ label: 'Ada Lovelace', capabilities: ['webhooks'] });
    await call('post', '/v1/webhooks', token).send(WEBHOOK);
    const [created, login, made] = await entries();
    expect(created).toMatchObject({
      action: 'webhook.create',
      actor: { type: 'portal_session', id, label: 'Ada Lovelace' },
    });
    expect(login).toMatchObject({
      action: 'session.login',
      actor: { type: 'portal_session', id, label: 'Ada Lovelace' },
      target: { type: 'session', id },
    });
    expect(made).toMatchObject({ action: 'session.create', actor: { type: 'api_key' }, target: { id } });
  });

  it('reads the log only with the capability for it', async () => {
    const { token: without } = await open({ capabilities: ['webhooks'] });
    expect((await call('get', '/v1/audit-log', without)).status).toBe(403);
    const { token } = await open({ capabilities: ['audit'] });
    expect((await entries('', token)).length).toBeGreaterThan(0);
    expect((await call('get', '/v1/audit-log?account_id=*', token)).status).toBe(403);
  });
});

function asText(response: request.Response, done: (error: Error | null, body: string) => void): void {
  let text = '';
  response.on('data', (part: Buffer) => (text += part.toString()));
  response.on('end', () => {
    response.text = text;
    done(null, text);
  });
}
