import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { createQueueLayout } from '@hookferry/core/domain/queues';
import { Queue } from 'bullmq';
import request from 'supertest';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const PATH = '/internal/queues';

let api: TestApi;
let operatorKey: string;
beforeAll(async () => {
  api = await startTestApi({ QUEUE_INSPECTOR_ENABLED: 'true', AUTH_FAILURE_LIMIT: '3/1m', TRUST_PROXY: '1' });
  operatorKey = (await api.issueKey({ accountId: DEFAULT_ACCOUNT })).key;
});
afterAll(() => api.close());

const ask = (path: string, key: string) =>
  request(api.url)
    .get(PATH + path)
    .auth('anybody', key);

it('shows an operator, who gives the key as the password, the queues and what is on them', async () => {
  const deliveries = new Queue('deliveries', { connection: api.redis.client });
  await deliveries.add('d', { account_id: 'acme' }, { jobId: 'one' });
  await deliveries.close();

  const { body } = await ask('/api/queues?activeQueue=deliveries&status=waiting', operatorKey);
  expect(body.queues.map(({ name, readOnlyMode }: Record<string, unknown>) => [name, readOnlyMode])).toEqual([
    ['events', true],
    ['deliveries', true],
    ['replays', true],
    ['erasures', true],
    ['events-dead-letters', true],
  ]);
  const { body: job } = await ask('/api/queues/deliveries/one', operatorKey);
  expect(job).toMatchObject({ job: { id: 'one', data: { account_id: 'acme' } } });
});

it('is a page that needs nothing from elsewhere, and may load nothing from there', async () => {
  const { headers, text } = await ask('/', operatorKey);
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect(text).not.toMatch(/https?:|<%/);
  const files = [...text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, file]) => file);
  expect(files.length).toBeGreaterThan(4);
  for (const file of files) expect((await ask(`/${file}`, operatorKey)).status).toBe(200);
});

it.each([
  ['put', '/api/queues/deliveries/pause'],
  ['put', '/api/queues/deliveries/one/promote'],
  ['put', '/api/queues/deliveries/one/clean'],
  ['post', '/api/queues/deliveries/add'],
  ['put', '/api/queues/pause'],
  ['put', '/api/queues/deliveries/obliterate'],
] as const)('changes nothing: there is no %s %s', async (method, path) => {
  const agent = request(api.url);
  const answer = await agent[method](PATH + path)
    .auth('anybody', operatorKey)
    .send({});
  expect(answer.status).toBe(404);
  const deliveries = new Queue('deliveries', { connection: api.redis.client });
  expect([await deliveries.isPaused(), await deliveries.getWaitingCount()]).toEqual([false, 1]);
  await deliveries.close();
});

it('lets nobody else in, and asks browsers for a password', async () => {
  const { key } = await api.issueKey();
  expect((await ask('/', key)).status).toBe(403);
  const { key: limited } = await api.issueKey({ accountId: DEFAULT_ACCOUNT, scopes: ['webhooks:read'] });
  expect((await ask('/api/queues', limited)).status).toBe(403);
  const unknown = await request(api.url).get(PATH);
  expect([unknown.status, unknown.headers['www-authenticate']]).toEqual([
    401,
    'Basic realm="queues", charset="UTF-8"',
  ]);
});

it('counts wrong keys as everywhere else', async () => {
  const from = (key: string) => ask('/static/favicon.ico', key).set('x-forwarded-for', '192.0.2.7');
  const statuses: number[] = [];
  for (let i = 0; i < 4; i += 1) statuses.push((await from('whk_wrong')).status);
  expect(statuses).toEqual([401, 401, 401, 429]);
});

it('is not there unless it is asked for', async () => {
  const other = await startTestApi();
  const { status } = await request(other.url).get(`${PATH}/`);
  await other.close();
  expect(status).toBe(404);
});

it('shows the queues of other shards under the names of their keys', async () => {
  const split = await startTestApi({ QUEUE_INSPECTOR_ENABLED: 'true', QUEUE_SHARDS: '2' });
  const [, { prefix } = { prefix: '' }] = createQueueLayout(2, 'bull').shards;
  const deliveries = new Queue('deliveries', { connection: split.redis.client, prefix });
  await deliveries.add('d', { account_id: 'acme' }, { jobId: 'two' });
  await deliveries.close();
  const { key } = await split.issueKey({ accountId: DEFAULT_ACCOUNT });
  const get = (path: string) =>
    request(split.url)
      .get(PATH + path)
      .auth('anybody', key);
  const { body } = await get('/api/queues');
  const { body: job } = await get(`/api/queues/${encodeURIComponent(`${prefix}:deliveries`)}/two`);
  await split.close();
  expect(body.queues.map(({ name }: Record<string, unknown>) => name)).toEqual([
    'events',
    'deliveries',
    'replays',
    'erasures',
    'events-dead-letters',
    `${prefix}:events`,
    `${prefix}:deliveries`,
  ]);
  expect(job).toMatchObject({ job: { id: 'two', data: { account_id: 'acme' } } });
});
