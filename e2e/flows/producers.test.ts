import { createEventPublisher } from '@hookferry/producer';
import { createSchemaCheck } from '@hookferry/producer/schemas';
import { Queue } from 'bullmq';
import type { Webhook } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { addTypes, QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

let stack: Stack;
let receiver: Receiver;
let events: Queue;
let deadLetters: Queue;

beforeAll(async () => {
  stack = await Stack.start();
  receiver = await Receiver.start();
  events = new Queue('events', { connection: stack.redis.client });
  deadLetters = new Queue('events-dead-letters', { connection: stack.redis.client });
});
afterAll(async () => {
  await Promise.all([events.close(), deadLetters.close(), receiver.stop()]);
  await stack.stop();
});

it('takes what a stranger pushes with nothing but BullMQ and its defaults', async () => {
  const webhook = await stack.client.register(receiver.url);
  await events.add(QUICK_WIN.type, { account_id: 'default', ...QUICK_WIN });

  const [delivery] = await until(async () => {
    const deliveries = await stack.client.listDeliveries(webhook.id);
    return deliveries[0]?.status === 'delivered' ? deliveries : undefined;
  });
  expect(receiver.requests.at(-1)?.headers['webhook-id']).toBe(delivery?.event_id);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
});

it('makes one event of one that was pushed twice under the same id', async () => {
  const webhook = await stack.client.register(receiver.url);
  const job = { account_id: 'default', id: 'order-42', ...QUICK_WIN };
  await events.add(QUICK_WIN.type, job);
  await stack.client.waitForStatus(webhook.id, 'order-42', 'delivered');
  await events.add(QUICK_WIN.type, job);
  const later = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await stack.client.waitForStatus(webhook.id, later, 'delivered');
  await until(async () =>
    (await events.getJobCountByTypes('wait', 'active', 'delayed')) === 0 ? true : undefined,
  );

  expect(receiver.requests.filter(({ headers }) => headers['webhook-id'] === 'order-42')).toHaveLength(1);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
});

it('aims what a producer pushes at the webhooks that it names', async () => {
  const input = { url: receiver.url, events: ['brief.created'], uid: 'main' };
  const { body: aimedAt } = await stack.client.expect<Webhook>(201, 'POST', '/v1/webhooks', input);
  const other = await stack.client.register(receiver.url);
  const job = { account_id: 'default', id: 'aimed-1', ...QUICK_WIN, webhook_ids: [aimedAt.id] };
  await events.add(QUICK_WIN.type, job);
  await stack.client.waitForStatus(aimedAt.id, 'aimed-1', 'delivered');
  await events.add(QUICK_WIN.type, { ...job, id: 'aimed-2', webhook_ids: ['main'] });
  await stack.client.waitForStatus(aimedAt.id, 'aimed-2', 'delivered');
  expect(await stack.client.listDeliveries(other.id)).toEqual([]);
  for (const { id } of [aimedAt, other]) await stack.client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
});

it('pushes nothing that the schemas of the service refuse, where it is asked to check', async () => {
  await addTypes(stack.client);
  const publisher = createEventPublisher<Record<string, object>>({
    redisUrl: stack.redis.url,
    check: createSchemaCheck({
      baseUrl: stack.client.baseUrl,
      timeoutMs: 60_000,
      whenUnreachable: 'refuse',
    }),
  });
  const wrong = { type: 'order.created', data: { total: '12' } };
  const errors = [
    { pointer: '/data/id', detail: 'is required, and must be a string' },
    { pointer: '/data/total', detail: 'must be a number' },
  ];
  await expect(publisher.publish(wrong)).rejects.toMatchObject({ code: 'invalid_event', errors });
  const results = await publisher.publishBatch([
    { type: 'order.created', data: { id: 'ord_1' }, id: 'checked-1' },
    { type: 'order.lost', data: {} },
    { type: 'keyword.quick_win', data: QUICK_WIN.data, id: 'checked-2' },
    { type: 'keyword.quick_win', data: { ...QUICK_WIN.data, position: 0 } },
  ]);
  expect(results).toMatchObject([
    { status: 'published', id: 'checked-1' },
    { status: 'failed', error: { code: 'invalid_event', errors: [{ pointer: '/type' }] } },
    { status: 'published', id: 'checked-2' },
    { status: 'failed', error: { code: 'invalid_event', errors: [{ pointer: '/data/position' }] } },
  ]);
  await publisher.close();
});

it.each([
  ['an unknown type', { account_id: 'default', type: 'no.such', data: {} }, '/type'],
  [
    'wrong data',
    { account_id: 'default', type: QUICK_WIN.type, data: { keyword: 'x', position: 0, volume: 1 } },
    '/data/position',
  ],
  [
    'what only this service itself raises',
    { account_id: 'default', type: 'webhook.disabled', data: {} },
    '/type',
  ],
  ['no account', { ...QUICK_WIN }, '/account_id'],
  ['an unknown member', { account_id: 'default', ...QUICK_WIN, extra: 1 }, '/extra'],
  [
    'a webhook that is not there',
    { account_id: 'default', ...QUICK_WIN, webhook_ids: ['wh_0123456789abcdefghjkmn'] },
    '/webhook_ids/0',
  ],
  ['something that is no event at all', 'hello', ''],
])('keeps %s as a dead letter with its reason, and logs and counts it', async (_what, data, pointer) => {
  const job = await events.add('whatever', data);

  const letter = await until(async () => {
    const letters = await deadLetters.getWaiting();
    return letters.find((candidate) => candidate.data.job.id === job.id);
  });
  expect(letter.data).toMatchObject({ job: { id: job.id, name: 'whatever', data }, code: 'invalid_request' });
  expect(letter.data.errors.map((fault: { pointer: string }) => fault.pointer)).toContain(pointer);
  const worker = stack.workers[0];
  const line = await worker?.waitForLine(
    (entry) => entry.message === 'event.rejected' && entry.job_id === job.id,
  );
  expect(line).toMatchObject({ code: 'invalid_request', level: 'warn' });
});
