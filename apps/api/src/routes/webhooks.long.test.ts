import type { AccountId } from '@hookferry/core/domain/account';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import { endpointSettings, type Setting } from '@hookferry/core/domain/endpoint-settings';
import { keys } from '@hookferry/core/domain/keys';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { newSecret } from '@hookferry/core/endpoints/rotate-secret';
import type { Environment } from '@hookferry/core/platform/settings';
import { createClosables } from '@hookferry/core/testing/closables';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { uniqueEventId } from '@hookferry/core/testing/unique-ids';
import request, { type Test } from 'supertest';
import { presentPage } from '../http/page';
import { readProblem } from '../testing/read-problem';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

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

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

type Method = 'get' | 'post' | 'patch' | 'delete';

function call(method: Method, path: string, body?: object): Test {
  const test = request(api.url)[method](path).set('authorization', `Bearer ${key}`);
  return body === undefined ? test : test.send(body);
}

const minimal = { url: 'https://receiver.example.com/hooks', events: ['keyword.quick_win'] };

/** What a webhook has not, unless somebody says so. */
const UNSET = [
  'filter',
  'disabled_reason',
  'rate_limit',
  'max_concurrency',
  'timeout_ms',
  'retry_schedule',
  'cloudevents',
  'batch',
  'coalesce',
  'tls',
  'uid',
  'metadata',
  'headers',
  'auth',
  'transformation',
];

async function created(change: object = {}) {
  const { body } = await call('post', '/v1/webhooks', { ...minimal, ...change });
  delete body.public_key;
  delete body.warnings;
  return body as { id: string; secret: string; created_at: string; updated_at: string };
}

/** A webhook read alone, without what changes by itself. */
async function readStored(path: string): Promise<object> {
  const { health: _health, public_key: _publicKey, ...stored } = (await call('get', path)).body;
  return stored;
}

describe('POST /v1/webhooks', () => {
  it('registers a webhook, and says where it is', async () => {
    const { status, headers, body } = await call('post', '/v1/webhooks', { ...minimal, description: 'mine' });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...minimal,
      id: expect.stringMatching(/^wh_[0-9a-z]{22}$/),
      rate_limit_unit: 'requests',
      while_disabled: 'hold',
      description: 'mine',
      status: 'enabled',
      ordering: 'none',
      signing: 'hmac',
      format: 'native',
      ...Object.fromEntries(UNSET.map((name) => [name, null])),
      verification: { status: 'not_required', method: null, error: null, verified_at: null },
      public_key: null,
      secret: expect.stringMatching(SECRET),
      created_at: expect.stringMatching(TIME),
      updated_at: body.created_at,
      warnings: [],
    });
    expect(headers.location).toBe(`/v1/webhooks/${body.id}`);
    const { secret: _secret, public_key: _publicKey, warnings: _warnings, ...readable } = body;
    expect(await readStored(headers.location ?? '')).toEqual(readable);
  });

  it('takes how the webhook is to be delivered to, and shows it as it was said', async () => {
    const options = {
      rate_limit: 10,
      max_concurrency: 4,
      ordering: 'strict',
      timeout_ms: 5_000,
      retry_schedule: ['5s', '5m', '1h'],
    };
    const { status, headers, body } = await call('post', '/v1/webhooks', { ...minimal, ...options });
    expect(status).toBe(201);
    expect(body).toMatchObject(options);
    const patch = { rate_limit: null, max_concurrency: null, ordering: null, retry_schedule: ['7d'] };
    const { body: patched } = await call('patch', headers.location ?? '', patch);
    expect(patched).toMatchObject({ ordering: 'none', timeout_ms: 5_000, retry_schedule: ['7d'] });
    expect(patched).toMatchObject({ rate_limit: null, max_concurrency: null });
  });

  const neededBy: Readonly<Record<string, object>> = { coalesce: { ordering: 'group' } };
  it.each(Object.entries<Setting>(endpointSettings))(
    'takes %s, shows it as it was said, and removes it by a patch',
    async (name, setting) => {
      const value = sampleOf(setting);
      const { headers, body } = await call('post', '/v1/webhooks', {
        ...minimal,
        ...neededBy[name],
        [name]: value,
      });
      expect(body).toMatchObject({ [name]: value });
      const { location = '' } = headers;
      const { body: kept } = await call('patch', location, { metadata: { a: 'b' } });
      expect(kept).toMatchObject({ [name]: value });
      const { body: patched } = await call('patch', location, { [name]: null });
      expect(patched[name]).toBe(setting.kind === 'choice' ? setting.choices[0] : null);
    },
  );

  it('registers one that is disabled at first', async () => {
    const { status, headers, body } = await call('post', '/v1/webhooks', { ...minimal, status: 'disabled' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ status: 'disabled', disabled_reason: 'client' });
    const { body: enabled } = await call('post', `${headers.location}/enable`);
    expect(enabled).toMatchObject({ id: body.id, status: 'enabled' });
  });

  it.each([
    [{ status: 'paused' }, '/status'],
    [{ rate_limit: 0 }, '/rate_limit'],
    [{ max_concurrency: 1_001 }, '/max_concurrency'],
    [{ ordering: 'fifo' }, '/ordering'],
    [{ timeout_ms: 999 }, '/timeout_ms'],
    [{ retry_schedule: ['5s', 'soon'] }, '/retry_schedule/1'],
    [{ retry_schedule: ['8d'] }, '/retry_schedule/0'],
    [{ retry_schedule: [] }, '/retry_schedule'],
  ])('refuses %j', async (options, pointer) => {
    const { status, body } = await call('post', '/v1/webhooks', { ...minimal, ...options });
    expect(status).toBe(422);
    expect(body.errors).toEqual([{ pointer, detail: expect.any(String) }]);
  });

  it('shows no description without one', async () => {
    expect(await created()).toMatchObject({ description: null });
  });

  it('keeps the secret that the client has brought', async () => {
    const secret = newSecret();
    const { id, ...shown } = await created({ secret });
    expect(shown.secret).toBe(secret);
    expect(
      await new EndpointStore(api.redis.client, testSealer).find(accountId, id as EndpointId),
    ).toMatchObject({
      secrets: [{ secret }],
    });
  });

  it('gives each webhook a secret of its own', async () => {
    expect((await created()).secret).not.toBe((await created()).secret);
  });

  it('stores the URL in its normalised form', async () => {
    expect(await created({ url: 'HTTPS://Example.com:443/a/../b' })).toMatchObject({
      url: 'https://example.com/b',
    });
  });

  it.each<[string, object, string[]]>([
    ['no URL', { url: undefined }, ['/url']],
    ['null as URL', { url: null }, ['/url']],
    ['an invalid URL', { url: 'example.com' }, ['/url']],
    ['an http URL', { url: 'http://example.com/' }, ['/url']],
    ['a URL with a password', { url: 'https://a:b@example.com/' }, ['/url']],
    ['a URL of this machine', { url: 'https://127.0.0.1/' }, ['/url']],
    ['a URL of this machine, spelled as a number', { url: 'https://2130706433/' }, ['/url']],
    ['a URL of this machine by its name', { url: 'https://localhost/' }, ['/url']],
    ['a URL of a private network', { url: 'https://10.0.0.1/' }, ['/url']],
    ['a URL of a private network in IPv6', { url: 'https://[fd00::1]/' }, ['/url']],
    ['a URL of the metadata service', { url: 'https://169.254.169.254/latest/' }, ['/url']],
    ['a URL with an internal name', { url: 'https://metadata.google.internal/' }, ['/url']],
    ["a URL with another protocol's port", { url: 'https://example.com:6379/' }, ['/url']],
    ['a URL of 2049 characters', { url: 'https://example.com/'.padEnd(2_049, 'a') }, ['/url']],
    ['no event types', { events: undefined }, ['/events']],
    ['an empty list of event types', { events: [] }, ['/events']],
    ['event types that are no list', { events: '*' }, ['/events']],
    ['unknown event types', { events: ['*', 'keyword.lost', 'brief'] }, ['/events/1', '/events/2']],
    ['an event type twice', { events: ['*', '*'] }, ['/events']],
    ['101 event types', { events: Array.from({ length: 101 }, (_, i) => `t.${i}`) }, expect.anything()],
    ['a description of 501 characters', { description: 'd'.repeat(501) }, ['/description']],
    ['null as description', { description: null }, ['/description']],
    ['a secret that is too short', { secret: 'whsec_c2hvcnQ=' }, ['/secret']],
    ['a secret of another form', { secret: 'my secret' }, ['/secret']],
    ['an id', { id: 'wh_1' }, ['/id']],
    ['several faults', { url: 1, events: 1, status: 'x' }, ['/url', '/events', '/status']],
  ])('refuses %s, and registers nothing', async (_what, change, pointers) => {
    const response = await call('post', '/v1/webhooks', { ...minimal, ...change });
    expect(readProblem(response)).toEqual({ status: 422, code: 'invalid_request', pointers });
    expect((await call('get', '/v1/webhooks')).body.data).toEqual([]);
  });

  it('says what is wrong in words for who sent it', async () => {
    const { body } = await call('post', '/v1/webhooks', {
      url: 1,
      rate_limit: 0,
      headers: { 'webhook-id': 'x' },
    });
    expect(body.errors).toEqual([
      { pointer: '/url', detail: 'must be a string' },
      { pointer: '/events', detail: 'is required, and must be a list' },
      { pointer: '/rate_limit', detail: 'must be at least 1' },
      {
        pointer: '/headers/webhook-id',
        detail: 'is a header that Hookferry sets itself; choose another name',
      },
    ]);
  });

  it('does not repeat a secret that it refuses', async () => {
    const { text } = await call('post', '/v1/webhooks', { ...minimal, secret: 'whsec_mine' });
    expect(text).not.toContain('mine');
  });

  describe('where the operator', () => {
    /** The statuses that an API with these settings answers registrations of these URLs with. */
    async function register(environment: Environment, urls: readonly string[]): Promise<number[]> {
      const lenient = willClose(await startTestApi(environment));
      const issued = await lenient.issueKey();
      const statuses: number[] = [];
      for (const url of urls) {
        const { status } = await request(lenient.url)
          .post('/v1/webhooks')
          .set('authorization', `Bearer ${issued.key}`)
          .send({ ...minimal, url });
        statuses.push(status);
      }
      return statuses;
    }

    it('allows it, takes http URLs, though of no other addresses', async () => {
      const urls = ['http://example.com:9000/', 'http://127.0.0.1:9000/', 'http://localhost/'];
      expect(await register({ ALLOW_HTTP_URLS: 'true' }, urls)).toEqual([201, 422, 422]);
    });

    it('makes exceptions, takes those addresses and internal names, and no others', async () => {
      const environment = { DELIVERY_ALLOWED_CIDRS: '10.1.0.0/16,::1/128' };
      const taken = ['https://10.1.2.3/', 'https://[::1]/', 'https://localhost/', 'https://hooks.internal/'];
      const refused = ['https://10.2.0.0/', 'https://127.0.0.1/', 'http://10.1.2.3/'];
      expect(await register(environment, [...taken, ...refused])).toEqual([
        201, 201, 201, 201, 422, 422, 422,
      ]);
    });

    it('denies more, refuses that too', async () => {
      const environment = {
        DELIVERY_ALLOWED_CIDRS: '10.0.0.0/8',
        DELIVERY_DENIED_CIDRS: '10.9.0.0/16,8.8.8.0/24',
      };
      const urls = ['https://10.1.2.3/', 'https://10.9.0.1/', 'https://8.8.8.8/', 'https://8.8.4.4/'];
      expect(await register(environment, urls)).toEqual([201, 422, 422, 201]);
    });
  });
});

describe('the warnings of a webhook', () => {
  it('name a condition that no event of its types can meet, at its creation and at a change', async () => {
    const filter = { positon: { lte: 10 } };
    const made = await call('post', '/v1/webhooks', { ...minimal, filter });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      filter,
      warnings: [
        {
          code: 'never_matches',
          pointer: '/filter/positon',
          detail: expect.stringContaining('did you mean "position"?'),
        },
      ],
    });
    const path = `/v1/webhooks/${made.body.id}`;
    expect((await call('patch', path, { description: 'new' })).body.warnings).toHaveLength(1);
    const right = await call('patch', path, { filter: { position: { lte: 10 } } });
    expect(right.body.warnings).toEqual([]);
    // Not merged with the one before, whose condition would hold as well.
    expect(right.body.filter).toEqual({ position: { lte: 10 } });
    expect((await call('get', path)).body).not.toHaveProperty('warnings');
  });
});

describe('the secret of a webhook', () => {
  it('is shown at its creation, and in no other answer', async () => {
    const { id, secret } = await created();
    const answers = [
      await call('get', `/v1/webhooks/${id}`),
      await call('get', '/v1/webhooks'),
      await call('patch', `/v1/webhooks/${id}`, { description: 'new' }),
      await call('get', `/v1/webhooks/${id}/deliveries`),
      await call('delete', `/v1/webhooks/${id}`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 204]);
    for (const { text } of answers) {
      expect(text).not.toContain('secret');
      expect(text).not.toContain(secret.slice('whsec_'.length));
    }
  });
});

describe('GET /v1/webhooks', () => {
  async function readPages(query: string): Promise<string[][]> {
    const pages: string[][] = [];
    let cursor: string | null = null;
    do {
      const { body } = await call(
        'get',
        `/v1/webhooks?${query}${cursor === null ? '' : `&cursor=${cursor}`}`,
      );
      expect(body.has_more).toBe(body.next_cursor !== null);
      pages.push(body.data.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    return pages;
  }

  it('gives an empty page to an account without webhooks', async () => {
    expect((await call('get', '/v1/webhooks')).body).toEqual({
      data: [],
      next_cursor: null,
      has_more: false,
    });
  });

  it('gives the newest first, in pages of the size that was asked for, each once', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push((await created()).id);
    const sorted = ids.toSorted().toReversed();
    expect(await readPages('limit=2')).toEqual([sorted.slice(0, 2), sorted.slice(2, 4), sorted.slice(4)]);
    expect(await readPages('limit=5')).toEqual([sorted]);
    expect(await readPages('')).toEqual([sorted]);
  });

  it('gives webhooks in the form in which they are read alone, but for their health', async () => {
    const { id } = await created({ description: 'mine' });
    const { body } = await call('get', '/v1/webhooks');
    expect(body.data).toEqual([await readStored(`/v1/webhooks/${id}`)]);
  });

  it("shows an account's own only", async () => {
    await created();
    ({ key } = await api.issueKey());
    const { id } = await created();
    expect(await readPages('')).toEqual([[id]]);
  });

  it('is the same for all keys of an account', async () => {
    const { id } = await created();
    ({ key } = await api.issueKey({ accountId }));
    expect(await readPages('')).toEqual([[id]]);
  });

  it('refuses a cursor of another list', async () => {
    const { next_cursor } = presentPage([], { createdAt: 1, eventId: uniqueEventId() });
    expect(readProblem(await call('get', `/v1/webhooks?cursor=${next_cursor}`))).toMatchObject({
      status: 422,
    });
  });
});

describe('PATCH /v1/webhooks/:id', () => {
  const path = (id: string) => `/v1/webhooks/${id}`;

  it('changes what it names, leaves the rest, and gives the whole', async () => {
    const { secret: _secret, ...before } = await created({ description: 'mine' });
    const changes = { url: 'https://new.example.com/', events: ['*'] };
    const { status, body: answer } = await call('patch', path(before.id), changes);
    expect(status).toBe(200);
    const { warnings: _warnings, ...body } = answer;
    expect(body).toEqual({ ...before, ...changes, updated_at: expect.stringMatching(TIME) });
    expect(body.updated_at > before.updated_at).toBe(true);
    expect(await readStored(path(before.id))).toEqual(body);
  });

  it('removes the description by null, and keeps it when it is left out', async () => {
    const { id } = await created({ description: 'mine' });
    expect((await call('patch', path(id), { events: ['*'] })).body).toMatchObject({ description: 'mine' });
    expect((await call('patch', path(id), { description: null })).body).toMatchObject({ description: null });
    expect((await call('get', path(id))).body).toMatchObject({ description: null });
  });

  it('replaces lists as a whole, as a merge patch does', async () => {
    const { id } = await created({ events: ['keyword.*', 'brief.*'] });
    expect((await call('patch', path(id), { events: ['import.*'] })).body).toMatchObject({
      events: ['import.*'],
    });
  });

  it('takes an empty patch', async () => {
    const { id } = await created();
    expect((await call('patch', path(id), {})).body).toMatchObject({ id, ...minimal });
  });

  it('leaves the secret as it is', async () => {
    const { id, secret } = await created();
    await call('patch', path(id), { url: 'https://new.example.com/' });
    expect(
      await new EndpointStore(api.redis.client, testSealer).find(accountId, id as EndpointId),
    ).toMatchObject({
      secrets: [{ secret }],
    });
  });

  it.each<[string, object, string[]]>([
    ['null as URL', { url: null }, ['/url']],
    ['an http URL', { url: 'http://example.com/' }, ['/url']],
    ['a URL of a private network', { url: 'https://192.168.1.1/' }, ['/url']],
    ['null as event types', { events: null }, ['/events']],
    ['an empty list of event types', { events: [] }, ['/events']],
    ['an unknown event type', { events: ['keyword.lost'] }, ['/events/0']],
    ['a description of 501 characters', { description: 'd'.repeat(501) }, ['/description']],
    ['a secret', { secret: newSecret() }, ['/secret']],
    ['an id', { id: 'wh_1' }, ['/id']],
    ['a good change beside a fault', { description: 'new', url: 1 }, ['/url']],
  ])('refuses %s, and changes nothing', async (_what, patch, pointers) => {
    const { secret: _secret, ...before } = await created({ description: 'mine' });
    const response = await call('patch', path(before.id), patch);
    expect(readProblem(response)).toEqual({ status: 422, code: 'invalid_request', pointers });
    expect(await readStored(path(before.id))).toEqual(before);
  });
});

describe('POST /v1/webhooks/:id/disable and /enable', () => {
  it('disables the webhook and says who did it, then enables it, and gives the whole each time', async () => {
    const { secret: _secret, ...before } = await created();
    const path = `/v1/webhooks/${before.id}`;
    const disabled = await call('post', `${path}/disable`);
    expect(disabled.body).toEqual({
      ...before,
      status: 'disabled',
      disabled_reason: 'client',
      updated_at: expect.stringMatching(TIME),
    });
    expect(await readStored(path)).toEqual(disabled.body);

    const enabled = await call('post', `${path}/enable`);
    expect(enabled.body).toEqual({ ...before, updated_at: expect.stringMatching(TIME) });
    expect(await readStored(path)).toEqual(enabled.body);
  });

  it.each(['disable', 'enable'])('may be repeated, and changes nothing then: %s', async (action) => {
    const { id } = await created();
    const first = await call('post', `/v1/webhooks/${id}/${action}`);
    const second = await call('post', `/v1/webhooks/${id}/${action}`);
    expect(second.status).toBe(200);
    expect(second.body).toEqual(first.body);
  });

  it('shows no secret', async () => {
    const { id } = await created();
    for (const action of ['disable', 'enable']) {
      expect((await call('post', `/v1/webhooks/${id}/${action}`)).text).not.toContain('secret');
    }
  });
});

describe('DELETE /v1/webhooks/:id', () => {
  it('removes the webhook, with an answer that has no body', async () => {
    const { id } = await created();
    const other = await created();
    const { status, text } = await call('delete', `/v1/webhooks/${id}`);
    expect({ status, text }).toEqual({ status: 204, text: '' });
    expect((await call('get', `/v1/webhooks/${id}`)).status).toBe(404);
    expect((await call('get', `/v1/webhooks/${id}/deliveries`)).status).toBe(404);
    expect((await call('delete', `/v1/webhooks/${id}`)).status).toBe(404);
    expect((await call('get', '/v1/webhooks')).body.data).toMatchObject([{ id: other.id }]);
  });
});

describe('own headers and metadata', () => {
  const headers = { Authorization: 'Bearer receiver-token', 'X-Tenant': '7' };
  const metadata = { team: 'growth', constructor: 'data' };

  it('shows metadata, and of headers the names only', async () => {
    const { body } = await call('post', '/v1/webhooks', { ...minimal, headers, metadata });
    expect(body).toMatchObject({ metadata, headers: { authorization: '***', 'x-tenant': '***' } });
    expect(JSON.stringify(body)).not.toContain('receiver-token');
  });

  it('merges a patch of them member by member', async () => {
    const { id } = await created({ headers, metadata });
    const patch = { headers: { 'x-tenant': null, 'X-New': '1' }, metadata: { team: null, tier: 'gold' } };
    const { body } = await call('patch', `/v1/webhooks/${id}`, patch);
    expect(body.headers).toEqual({ authorization: '***', 'x-new': '***' });
    expect(body.metadata).toEqual({ constructor: 'data', tier: 'gold' });
    const { body: without } = await call('patch', `/v1/webhooks/${id}`, { headers: null, metadata: null });
    expect(without).toMatchObject({ headers: null, metadata: null });
  });

  it.each([
    ['headers', 20],
    ['metadata', 50],
  ])('refuses more %s than %d, even by patches', async (member, most) => {
    const many = Object.fromEntries(Array.from({ length: most }, (_, i) => [`x-${i}`, 'v']));
    const { id } = await created({ [member]: many });
    const { status, body } = await call('patch', `/v1/webhooks/${id}`, { [member]: { 'x-more': 'v' } });
    expect(status).toBe(422);
    expect(body.errors).toEqual([{ pointer: `/${member}`, detail: `must have at most ${most} members` }]);
  });
});

describe('uid', () => {
  it('can stand wherever the id can', async () => {
    const { id } = await created({ uid: 'crm.main' });
    const read = (await call('get', '/v1/webhooks/crm.main')).body;
    expect(read).toMatchObject({ id, uid: 'crm.main', health: expect.any(Object) });
    const { secret } = (await call('post', '/v1/webhooks/crm.main/rotate-secret', {})).body;
    expect((await call('get', '/v1/webhooks/crm.main/secret')).body).toMatchObject({ secret });
    expect((await call('get', '/v1/webhooks/crm.main/deliveries')).status).toBe(200);
    expect((await call('post', '/v1/webhooks/crm.main/disable')).body).toMatchObject({ status: 'disabled' });
    expect((await call('delete', '/v1/webhooks/crm.main')).status).toBe(204);
    expect((await call('get', '/v1/webhooks/crm.main')).status).toBe(404);
  });

  it('is unique in its account, and free again once it is given up', async () => {
    const { id } = await created({ uid: 'main' });
    expect((await call('post', '/v1/webhooks', { ...minimal, uid: 'main' })).body.code).toBe('conflict');
    const { id: other } = await created();
    expect((await call('patch', `/v1/webhooks/${other}`, { uid: 'main' })).status).toBe(409);
    await call('patch', `/v1/webhooks/${id}`, { uid: 'former' });
    expect((await call('patch', `/v1/webhooks/${other}`, { uid: 'main' })).status).toBe(200);
    expect((await call('get', '/v1/webhooks/main')).body.id).toBe(other);
  });

  it("is another account's own business", async () => {
    await created({ uid: 'main' });
    ({ key, accountId } = await api.issueKey());
    expect((await call('get', '/v1/webhooks/main')).status).toBe(404);
    expect((await call('post', '/v1/webhooks', { ...minimal, uid: 'main' })).status).toBe(201);
  });

  it.each(['wh_1', '', ' a', 'a/b', 'u'.repeat(129)])('refuses %j', async (uid) => {
    expect((await call('post', '/v1/webhooks', { ...minimal, uid })).status).toBe(422);
  });
});

describe('ETag', () => {
  it('lets the second of two editors know that the first was there', async () => {
    const { id } = await created();
    const path = `/v1/webhooks/${id}`;
    const { etag = '' } = (await call('get', path)).headers;
    const first = await call('patch', path, { description: 'first' }).set('if-match', etag);
    expect(first.status).toBe(200);
    expect(first.headers.etag).not.toBe(etag);
    const second = await call('patch', path, { description: 'second' }).set('if-match', etag);
    expect(second.status).toBe(412);
    expect(second.body.code).toBe('precondition_failed');
    expect((await call('get', path)).body.description).toBe('first');
  });

  it.each(['*', '"other", "{etag}"'])('takes If-Match: %s', async (template) => {
    const { id } = await created();
    const { etag = '' } = (await call('get', `/v1/webhooks/${id}`)).headers;
    const ifMatch = template.replace('"{etag}"', etag);
    const { status } = await call('patch', `/v1/webhooks/${id}`, { description: 'new' }).set(
      'if-match',
      ifMatch,
    );
    expect(status).toBe(200);
  });
});

it('lists by status and by the type that was asked for', async () => {
  const { id: briefs } = await created({ events: ['brief.*'] });
  const { id: all } = await created({ events: ['*'] });
  await created();
  await call('post', `/v1/webhooks/${all}/disable`);
  const idsOf = async (query: string) => {
    const { body } = await call('get', `/v1/webhooks?${query}`);
    return (body.data as { id: string }[]).map(({ id }) => id);
  };
  expect(await idsOf('event_type=brief.created')).toEqual([all, briefs]);
  expect(await idsOf('event_type=brief.created&status=enabled')).toEqual([briefs]);
  const { body } = await call('get', '/v1/webhooks?event_type=brief.created&limit=1');
  expect(await idsOf(`event_type=brief.created&limit=1&cursor=${body.next_cursor}`)).toEqual([briefs]);
});

it('lists those that a text is found in, and apart from the others those that fail, page by page', async () => {
  const { id: shop } = await created({ description: 'Shop FRONT' });
  const { id: named } = await created({ uid: 'warehouse-front' });
  const { id: other } = await created({ url: 'https://erp.example.com/in' });
  const pageOf = async (query: string) => {
    const { body } = await call('get', `/v1/webhooks?${query}`);
    return { ids: (body.data as { id: string }[]).map(({ id }) => id), next: body.next_cursor };
  };
  expect(await pageOf('search=front')).toEqual({ ids: [named, shop], next: null });
  const first = await pageOf('search=front&limit=1');
  expect(first.ids).toEqual([named]);
  expect(await pageOf(`search=front&limit=1&cursor=${first.next}`)).toEqual({ ids: [shop], next: null });
  expect(await pageOf('search=ERP.example')).toEqual({ ids: [other], next: null });
  expect(await pageOf(`search=${shop.slice(-8)}`)).toEqual({ ids: [shop], next: null });
  expect((await call('get', '/v1/webhooks?search=')).status).toBe(422);

  expect(await pageOf('failing=true')).toEqual({ ids: [], next: null });
  await api.redis.client.set(keys.breaker(named as EndpointId), '3 0 1');
  expect(await pageOf('failing=true')).toEqual({ ids: [named], next: null });
  expect(await pageOf('failing=false')).toEqual({ ids: [other, shop], next: null });
  expect(await pageOf('failing=true&search=shop')).toEqual({ ids: [], next: null });
});

function sampleOf(setting: Setting): unknown {
  switch (setting.kind) {
    case 'number':
      return setting.most;
    case 'text':
      return setting.sample ?? 'ours';
    case 'choice':
      return setting.choices.at(-1);
    case 'delays':
      return ['5s', '5m', '1h'];
    case 'uid':
      return 'sampled';
    case 'group':
      return Object.fromEntries(
        Object.entries(setting.members).map(([name, each]) => [name, sampleOf(each)]),
      );
  }
}
