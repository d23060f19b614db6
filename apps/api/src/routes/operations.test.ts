import { type AccountId, DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import { keys } from '@hookferry/core/domain/keys';
import { tallyOf } from '@hookferry/core/endpoints/health/attempt-tally';
import { HealthStore } from '@hookferry/core/endpoints/health/redis-health-store';
import { DayStore } from '@hookferry/core/operations/redis-day-store';
import { WorkerReports } from '@hookferry/core/operations/redis-worker-reports';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';
import request, { type Test } from 'supertest';
import { startApi, startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
let operatorKey: string;
let customerKey: string;
let accountId: string;
beforeAll(async () => {
  api = await startTestApi();
  ({ key: operatorKey } = await api.issueKey({ accountId: DEFAULT_ACCOUNT }));
  ({ key: customerKey, accountId } = await api.issueKey());
});
afterAll(() => api.close());

function get(path: string, key = operatorKey): Test {
  return request(api.url).get(path).set('authorization', `Bearer ${key}`);
}

async function createWebhook(status?: 'disabled'): Promise<EndpointId> {
  const { body } = await request(api.url)
    .post('/v1/webhooks')
    .set('authorization', `Bearer ${customerKey}`)
    .send({ url: 'https://receiver.example.com/hooks', events: ['*'], ...(status && { status }) })
    .expect(201);
  return body.id;
}

describe('GET /v1/operations', () => {
  it('tells how the service stands, with the workers that there are', async () => {
    const budget = { inUse: 2, allowed: 16 };
    await new WorkerReports(api.redis.client).save({
      id: 'f00d42',
      host: 'node-1',
      pid: 42,
      version: '0.1.0',
      startedAt: Date.parse('2026-11-21T12:00:00.000Z'),
      slots: { quick: budget, slow: budget },
      attemptsPerSecond: 12.34,
    });
    await createWebhook('disabled');
    const { body } = await get('/v1/operations').expect(200);
    expect(body).toMatchObject({
      held: 0,
      held_by_reason: { disabled: 0, breaker_open: 0, busy: 0, rate_limited: 0, ordering: 0 },
      dead_letters: 0,
      attempts_per_second: 12.3,
      workers: [
        {
          id: 'f00d42',
          host: 'node-1',
          pid: 42,
          started_at: '2026-11-21T12:00:00.000Z',
          slots: { quick: { in_use: 2, allowed: 16 }, slow: { in_use: 2, allowed: 16 } },
        },
      ],
      breakers_open: 0,
      webhooks_disabled: 1,
      busiest_accounts: [],
    });
    expect(body.queues).toContainEqual({
      name: 'deliveries',
      shard: 0,
      paused: false,
      pause: null,
      waiting: 0,
      active: 0,
      delayed: 0,
      failed: 0,
      oldest_waiting_seconds: 0,
    });
  });

  it('tells when Redis went back, the newest time first', async () => {
    await api.redis.client.zadd(keys.rollbacks, 2_000, `${keys.epoch(0)} 1000`, 3_000, `${keys.epoch(0)} `);
    const found = async () => (await get('/v1/operations').expect(200)).body.redis_rollbacks;
    let rollbacks: unknown[];
    // It may have been read a moment ago.
    do rollbacks = await found();
    while (rollbacks.length === 0);
    expect(rollbacks).toEqual([
      { since: null, until: '1970-01-01T00:00:03.000Z' },
      { since: '1970-01-01T00:00:01.000Z', until: '1970-01-01T00:00:02.000Z' },
    ]);
  });

  it('is for operators only', async () => {
    for (const path of ['', '/webhooks', '/last-day', '/accounts', '/readiness']) {
      expect((await get(`/v1/operations${path}`, customerKey)).status).toBe(403);
    }
  });
});

describe('pausing a queue', () => {
  const post = (path: string, key = operatorKey) =>
    request(api.url).post(`/v1/operations/queues/${path}`).set('authorization', `Bearer ${key}`);

  async function untilShown(isPaused: boolean) {
    for (;;) {
      // Redis may not respond within two seconds on a busy machine: 503, and nothing else.
      const { status, body } = await get('/v1/operations');
      expect([200, 503]).toContain(status);
      const found = body.queues?.find(({ name }: { name: string }) => name === 'deliveries');
      if (status === 200 && found.paused === isPaused) return found;
    }
  }

  it('says who paused it, since when, and why, until it is resumed', async () => {
    const { body } = await post('deliveries/pause').send({ reason: 'The network is down' }).expect(200);
    const by = { type: 'api_key', id: operatorKey.slice(4, 20), name: expect.any(String) };
    expect(body).toEqual({
      name: 'deliveries',
      pause: { paused_at: expect.any(String), reason: 'The network is down', by },
    });
    expect((await untilShown(true)).pause).toEqual(body.pause);
    expect((await post('deliveries/pause').expect(200)).body).toEqual(body);
    const { body: resumed } = await post('deliveries/resume').expect(200);
    expect(resumed).toEqual({ name: 'deliveries', pause: null });
    expect((await untilShown(false)).pause).toBeNull();
  });

  it("is for an operator's admin key, and for queues that may be paused", async () => {
    const { key: narrow } = await api.issueKey({ accountId: DEFAULT_ACCOUNT, scopes: ['accounts:act'] });
    for (const key of [customerKey, narrow]) {
      expect((await post('deliveries/pause', key)).status).toBe(403);
      expect((await post('deliveries/resume', key)).status).toBe(403);
    }
    expect([404, 422]).toContain((await post('erasures/pause')).status);
    const { body } = await get('/v1/operations').expect(200);
    expect(body.queues.some(({ paused }: { paused: boolean }) => paused)).toBe(false);
  });
});

describe('GET /v1/operations/webhooks', () => {
  it('lists disabled webhooks of all accounts', async () => {
    const id = await createWebhook('disabled');
    const { body } = await get('/v1/operations/webhooks?state=disabled&limit=1').expect(200);
    expect(body.data).toMatchObject([
      { webhook_id: id, account_id: accountId, state: 'disabled', reason: 'client', failures: null },
    ]);
  });

  it('lists those whose breaker is open unless it is told otherwise', async () => {
    const { body } = await get('/v1/operations/webhooks').expect(200);
    expect(body.data).toEqual([]);
  });
});

describe('lists with more', () => {
  it('have the health of each webhook', async () => {
    const id = await createWebhook();
    const now = Date.now();
    const tally = tallyOf({ at: now, durationMs: 40 });
    await new HealthStore(api.redis.client, 60_000).addAll([{ endpointId: id, tally }], now);
    const { body } = await get('/v1/webhooks?include=health&limit=1', customerKey).expect(200);
    const [webhook] = body.data;
    expect(webhook).toMatchObject({ id, health: { attempts_24h: 1, success_rate: 1, breaker: 'closed' } });
    expect(webhook.health.p95_ms).toBeCloseTo(40, -1);
    expect(webhook.health.hours).toHaveLength(24);
    const alone = await get(`/v1/webhooks/${id}`, customerKey).expect(200);
    expect(alone.body.health).toEqual(webhook.health);
    const without = await get('/v1/webhooks?limit=1', customerKey).expect(200);
    expect(without.body.data[0].health).toBeUndefined();
  });

  it('have what each account stores', async () => {
    const { body } = await get('/v1/accounts?include=usage').expect(200);
    const account = body.data.find(({ id }: { id: string }) => id === accountId);
    const { body: usage } = await get('/v1/account/usage', customerKey).expect(200);
    expect(account.usage).toEqual(usage);
    const without = await get('/v1/accounts').expect(200);
    expect(without.body.data[0].usage).toBeUndefined();
  });
});

describe('the last day', () => {
  it('has the present as its last sample', async () => {
    const { body } = await get('/v1/operations/last-day').expect(200);
    expect(body).toMatchObject({ interval_seconds: 300 });
    expect(body.data.at(-1)).toMatchObject({ shards: [{ waiting: 0, delayed: 0, held: 0 }] });
  });

  it('has the accounts that published most', async () => {
    const load = { events: 2, bytes: 300, transformMs: 5 };
    const dayStore = new DayStore(api.redis.client);
    await dayStore.addLoads(new Map([[accountId as AccountId, load]]), Date.now());
    const { body } = await get('/v1/operations/accounts?by=bytes&limit=5').expect(200);
    expect(body.data).toMatchObject([
      { account_id: accountId, events: 2, bytes: 300, transform_ms: 5, hours: [{ events: 2 }] },
    ]);
  });
});

describe('GET /v1/operations/readiness', () => {
  it('says what is missing for production, without any value', async () => {
    const { body } = await get('/v1/operations/readiness').expect(200);
    const states = Object.fromEntries(
      body.checks.map(({ check, state }: Record<'check' | 'state', string>) => [check, state]),
    );
    expect(body.is_ready).toBe(false);
    expect(states).toMatchObject({
      public_url: 'good',
      tls: 'good',
      encryption_key: 'good',
      bootstrap_key: 'good',
      old_encryption_keys: 'good',
      trust_proxy: 'missing',
      redis_fsync: 'missing',
      // No test may stop this Redis for the others.
      redis_default_user: 'missing',
      redis_memory: 'missing',
      workers: 'missing',
      redis_replicas: 'missing',
      mail: 'missing',
      history: 'missing',
      prometheus: 'missing',
    });
    await request(api.url).get('/metrics').expect(200);
    const after = await get('/v1/operations/readiness').expect(200);
    expect(after.body.checks).toContainEqual({
      check: 'prometheus',
      level: 'advised',
      docs: 'docs/operations.md#dashboards-and-alerts',
      state: 'good',
      code: 'prometheus_good',
      values: {},
      detail: 'Somebody reads the metrics of this API.',
    });
  });

  it('says when its key is not the one that sealed what is stored', async () => {
    await createWebhook();
    const otherKey = Buffer.alloc(32, 'another').toString('base64');
    const other = await startApi({ REDIS_URL: api.redis.url, SECRETS_ENCRYPTION_KEY: otherKey });
    try {
      const { body } = await request(other.url)
        .get('/v1/operations/readiness')
        .set('authorization', `Bearer ${operatorKey}`)
        .expect(200);
      expect(body.checks).toContainEqual({
        check: 'encryption_key',
        level: 'required',
        docs: 'docs/security.md#secrets-at-rest',
        state: 'missing',
        code: 'encryption_key_unreadable',
        values: {},
        detail: expect.stringContaining('SECRETS_ENCRYPTION_KEY lacks the key that sealed them'),
      });
    } finally {
      await other.close();
    }
  });

  it('names settings that a worker has otherwise, without a value', async () => {
    const workerReports = new WorkerReports(api.redis.client);
    const budget = { inUse: 0, allowed: 16 };
    const settings = { DELIVERY_ALLOWED_CIDRS: 'another1', DELIVERY_TIMEOUT: 'another2' };
    const slots = { quick: budget, slow: budget };
    const worker = { id: '0ther1', host: 'node-2', pid: 7, version: '0.1.0', startedAt: 0, slots };
    await workerReports.save({ ...worker, attemptsPerSecond: 0, settings });
    const { body } = await get('/v1/operations/readiness').expect(200);
    await workerReports.remove('0ther1');
    expect(body.checks).toContainEqual({
      check: 'same_settings',
      level: 'required',
      docs: 'docs/configuration.md#the-same-everywhere',
      state: 'missing',
      code: 'same_settings_missing',
      values: { settings: 'DELIVERY_ALLOWED_CIDRS, DELIVERY_TIMEOUT', workers: '0ther1 (node-2, 7)' },
      detail: expect.stringContaining('0ther1 (node-2, 7)'),
    });
  });

  it('tells of a bootstrap key that is still in use, and of several encryption keys, without a search', async () => {
    const twoKeys = [TEST_ENCRYPTION_KEY, Buffer.alloc(32, 'old').toString('base64')].join(',');
    const bootstrapKey = `whk_${'b'.repeat(16)}_${'c'.repeat(52)}`;
    const other = await startTestApi({ BOOTSTRAP_API_KEY: bootstrapKey, SECRETS_ENCRYPTION_KEY: twoKeys });
    try {
      const { body } = await request(other.url)
        .get('/v1/operations/readiness')
        .set('authorization', `Bearer ${bootstrapKey}`)
        .expect(200);
      expect(body.checks).toContainEqual({
        check: 'bootstrap_key',
        level: 'advised',
        docs: 'docs/api-keys.md#the-first-key',
        state: 'missing',
        code: 'bootstrap_key_missing',
        values: {},
        detail: expect.stringContaining('still in use'),
      });
      expect(body.checks).toContainEqual({
        check: 'old_encryption_keys',
        level: 'advised',
        docs: 'docs/security.md#secrets-at-rest',
        state: 'unknown',
        code: 'old_encryption_keys_unknown',
        values: {},
        detail: expect.stringContaining('hookferry-admin keys reseal --dry-run'),
      });
      expect(JSON.stringify(body)).not.toContain(bootstrapKey);
    } finally {
      await other.close();
    }
  });
});
