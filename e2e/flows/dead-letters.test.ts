import { Queue } from 'bullmq';
import { ApiClient, type Webhook } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { runCli } from '../support/run-cli';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

interface DeadLetterView {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  readonly account_id: string | null;
  readonly reason: string;
  readonly failed_at: string;
  readonly attempts_made: number;
}

// More starts than a worker lets a job have.
const TOO_MANY_STARTS = 300_000;

let stack: Stack;
let events: Queue;
let deliveries: Queue;

beforeAll(async () => {
  // More retries than a test needs, and soon.
  stack = await Stack.start({ environment: { RETRY_SCHEDULE: Array(100).fill('500ms').join() } });
  events = new Queue('events', { connection: stack.redis.client });
  deliveries = new Queue('deliveries', { connection: stack.redis.client });
});
afterAll(async () => {
  await Promise.all([events.close(), deliveries.close()]);
  await stack.stop();
});

async function list(query = ''): Promise<readonly DeadLetterView[]> {
  const path = `/v1/dead-letters${query}`;
  return (await stack.client.expect<{ data: DeadLetterView[] }>(200, 'GET', path)).body.data;
}

const pathOf = (id: string) => `/v1/dead-letters/${encodeURIComponent(id)}`;

/** Waits for the dead letter of a job, other than those that are known. */
function untilDead(jobId: string | undefined, known: readonly string[] = []): Promise<DeadLetterView> {
  return until(async () =>
    (await list()).find(({ id }) => id.endsWith(String(jobId)) && !known.includes(id)),
  );
}

/** What a producer pushes with nothing but BullMQ, and the options that many have for all their queues. */
function push(type: string, data: unknown) {
  const options = { removeOnFail: true, removeOnComplete: true };
  return events.add(type, { account_id: 'default', type, data }, options);
}

const remove = (webhook: Webhook) => stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);

it('an event of a type that is not known yet is retried once it is, and delivered', async () => {
  const receiver = await Receiver.start();
  const webhook = await stack.client.register(receiver.url);
  const job = await push('invoice.paid', { number: 7 });

  const { id } = await untilDead(job.id);
  const { body } = await stack.client.expect(200, 'GET', pathOf(id));
  expect(body).toMatchObject({
    id,
    queue: 'events',
    name: 'invoice.paid',
    account_id: 'default',
    reason: expect.stringContaining('/type'),
    data: { account_id: 'default', type: 'invoice.paid', data: { number: 7 } },
  });

  const type = { description: 'An invoice was paid.', schema: { type: 'object' }, example: {} };
  await stack.client.expect(201, 'PUT', '/v1/event-types/invoice.paid', type);
  await stack.client.expect(202, 'POST', `${pathOf(id)}/retry`);
  await receiver.waitFor(1);
  expect(JSON.parse(String(receiver.requests[0]?.body))).toEqual({
    type: 'invoice.paid',
    data: { number: 7 },
  });
  await stack.client.expect(404, 'GET', pathOf(id));
  await remove(webhook);
  await receiver.stop();
});

it('what is still invalid when it is retried is a dead letter again, until it is dropped', async () => {
  const job = await push('no.such', {});
  const { id } = await untilDead(job.id);
  await stack.client.expect(202, 'POST', `${pathOf(id)}/retry`);
  const again = await untilDead(`-${job.id}`, [id]);
  await stack.client.expect(404, 'GET', pathOf(id));

  await stack.client.expect(204, 'DELETE', pathOf(again.id));
  await stack.client.expect(404, 'DELETE', pathOf(again.id));
  await stack.client.expect(404, 'POST', `${pathOf(again.id)}/retry`);
  expect((await list()).map((each) => each.id)).not.toContain(again.id);
});

/** Two events to an endpoint that takes them in order; the job of the first has failed for good. One before was delivered. */
async function arrangePoisonInFront(client = stack.client) {
  let status = 204;
  const receiver = await Receiver.start(() => status);
  const webhook = await client.register(receiver.url, ['*'], { ordering: 'strict' });
  const old = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhook.id, old, 'delivered');
  status = 500;
  const [first, second] = [
    await client.publish(QUICK_WIN.type, QUICK_WIN.data),
    await client.publish(QUICK_WIN.type, QUICK_WIN.data),
  ];
  await client.waitForStatus(webhook.id, second, 'held');
  await receiver.waitFor(2);

  const jobId = `${first}.${webhook.id}`;
  await stack.redis.client.hset(`bull:deliveries:lane/${webhook.id}`, 'ats', TOO_MANY_STARTS);
  const deadLetter = await untilDead(jobId);
  status = 204;
  // Its webhook looks now and then whether it may go.
  await until(async () => {
    const { hold } = await client.readDelivery(`${second}.${webhook.id}`);
    return hold?.reason === 'ordering' ? true : undefined;
  });
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).not.toContain(second);
  return { receiver, webhook, old, first, second, deadLetter };
}

/** Whether a webhook's lane, its job and its order are gone. */
async function untilNothingWaits({ id }: Webhook): Promise<true> {
  const { client } = stack.redis;
  const keys = [`lane:{bull}:${id}`, `carried:{bull}:${id}`, `bull:deliveries:lane/${id}`, `order:{${id}}`];
  return await until(async () => {
    const left = await client.exists(...keys, 'behind-heads:{bull}');
    return left === 0 ? true : undefined;
  });
}

it('a delivery whose job failed for good holds those behind it until it is retried, and is delivered', async () => {
  const { receiver, webhook, first, second, deadLetter } = await arrangePoisonInFront();
  expect(deadLetter).toMatchObject({
    id: `deliveries.${first}.${webhook.id}`,
    queue: 'deliveries',
    account_id: 'default',
  });
  const line = await stack.workers[0]?.waitForLine(
    (entry) => entry.message === 'job.failed' && entry.job_id === `${first}.${webhook.id}`,
  );
  expect(line).toMatchObject({ queue: 'deliveries', is_for_good: true, level: 'error' });

  await stack.client.expect(202, 'POST', `${pathOf(deadLetter.id)}/retry`);
  await stack.client.waitForStatus(webhook.id, first, 'delivered');
  await stack.client.waitForStatus(webhook.id, second, 'delivered');
  expect(await list('?queue=deliveries')).toEqual([]);
  await remove(webhook);
  await receiver.stop();
});

it('a delivery whose dead letter is dropped is cancelled, and the next one goes', async () => {
  const { receiver, webhook, first, second, deadLetter } = await arrangePoisonInFront();
  await stack.client.expect(204, 'DELETE', pathOf(deadLetter.id));
  await stack.client.waitForStatus(webhook.id, second, 'delivered');
  expect((await stack.client.readDelivery(`${first}.${webhook.id}`)).status).toBe('cancelled');

  // It can be sent once more like any other that has ended.
  await stack.client.expect(202, 'POST', `/v1/deliveries/${first}.${webhook.id}/redeliver`);
  await stack.client.waitForStatus(webhook.id, first, 'delivered');
  await remove(webhook);
  await receiver.stop();
});

describe('while a delivery that failed for good holds others', () => {
  it('a redelivery sends it, and the others follow', async () => {
    const { receiver, webhook, first, second } = await arrangePoisonInFront();
    await stack.client.expect(202, 'POST', `/v1/deliveries/${first}.${webhook.id}/redeliver`);
    await stack.client.waitForStatus(webhook.id, second, 'delivered');
    expect((await stack.client.readDelivery(`${first}.${webhook.id}`)).status).toBe('delivered');
    expect(await untilNothingWaits(webhook)).toBe(true);
    await remove(webhook);
    await receiver.stop();
  });

  it('an older one that is redelivered goes before it', async () => {
    const { receiver, webhook, old, second, deadLetter } = await arrangePoisonInFront();
    const before = receiver.requests.length;
    await stack.client.expect(202, 'POST', `/v1/deliveries/${old}.${webhook.id}/redeliver`);
    await receiver.waitFor(before + 1);
    await stack.client.expect(204, 'DELETE', pathOf(deadLetter.id));
    await stack.client.waitForStatus(webhook.id, second, 'delivered');
    const sent = receiver.requests.slice(before).map(({ headers }) => headers['webhook-id']);
    expect(sent).toEqual([old, second]);
    expect(await untilNothingWaits(webhook)).toBe(true);
    await remove(webhook);
    await receiver.stop();
  });

  it('the deletion of the webhook ends all', async () => {
    const { receiver, webhook, deadLetter } = await arrangePoisonInFront();
    await remove(webhook);
    expect(await untilNothingWaits(webhook)).toBe(true);
    await stack.client.expect(202, 'POST', `${pathOf(deadLetter.id)}/retry`);
    await until(async () => ((await list('?queue=deliveries')).length === 0 ? true : undefined));
    expect(await untilNothingWaits(webhook)).toBe(true);
    await receiver.stop();
  });

  it('without an order the others go, and it is still a dead letter', async () => {
    const { receiver, webhook, first, second, deadLetter } = await arrangePoisonInFront();
    await stack.client.expect(200, 'PATCH', `/v1/webhooks/${webhook.id}`, { ordering: 'none' });
    await stack.client.waitForStatus(webhook.id, second, 'delivered');
    expect(await untilNothingWaits(webhook)).toBe(true);
    await stack.client.expect(202, 'POST', `${pathOf(deadLetter.id)}/retry`);
    await stack.client.waitForStatus(webhook.id, first, 'delivered');
    await remove(webhook);
    await receiver.stop();
  });

  it('those that are discarded end, and it waits for the operator', async () => {
    const { receiver, webhook, first, second, deadLetter } = await arrangePoisonInFront();
    await stack.client.expect(202, 'POST', `/v1/webhooks/${webhook.id}/discard-held`);
    await stack.client.waitForStatus(webhook.id, second, 'cancelled');
    await stack.client.expect(202, 'POST', `${pathOf(deadLetter.id)}/retry`);
    await stack.client.waitForStatus(webhook.id, first, 'delivered');
    expect(await untilNothingWaits(webhook)).toBe(true);
    await remove(webhook);
    await receiver.stop();
  });

  it.each(['first', 'second'] as const)('the payload of its %s one can be erased', async (which) => {
    const { receiver, webhook, deadLetter, ...ids } = await arrangePoisonInFront();
    await stack.client.expect(204, 'DELETE', `/v1/events/${ids[which]}/payload`);
    await stack.client.expect(202, 'POST', `${pathOf(deadLetter.id)}/retry`);
    for (const each of ['first', 'second'] as const) {
      await stack.client.waitForStatus(webhook.id, ids[each], each === which ? 'cancelled' : 'delivered');
    }
    expect(await untilNothingWaits(webhook)).toBe(true);
    await remove(webhook);
    await receiver.stop();
  });

  it('the erasure of its account leaves nothing of it', async () => {
    await runCli(stack.redis.url, 'accounts', 'create', '--id', 'poisoned');
    const command = [
      'keys',
      'create',
      '--account',
      'poisoned',
      '--name',
      'key',
      '--scopes',
      'webhooks:read,webhooks:write,events:write,deliveries:read',
    ];
    const { stdout: key } = await runCli(stack.redis.url, ...command);
    const account = new ApiClient(stack.client.baseUrl, key.trimEnd());
    const { receiver, webhook } = await arrangePoisonInFront(account);
    await runCli(stack.redis.url, 'accounts', 'delete', 'poisoned', '--yes');
    expect(await untilNothingWaits(webhook)).toBe(true);
    await until(async () => ((await list('?queue=deliveries')).length === 0 ? true : undefined));
    await receiver.stop();
  });
});

it('a batch that failed for good is a dead letter of each of its deliveries, which are delivered when they are retried', async () => {
  let status = 500;
  const receiver = await Receiver.start(() => status);
  const batch = { max_events: 2, max_wait_ms: 60_000 };
  const webhook = await stack.client.register(receiver.url, ['*'], { batch, retry_schedule: ['2s', '1h'] });
  const ids = [
    await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data),
    await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data),
  ];
  await receiver.waitFor(1);
  const [name] = await stack.redis.client.hvals(`batches:{bull}:${webhook.id}`);
  await stack.redis.client.hset(`bull:deliveries:batch/${name}.${webhook.id}`, 'ats', TOO_MANY_STARTS);
  const [one, other] = [
    await untilDead(`${ids[0]}.${webhook.id}`),
    await untilDead(`${ids[1]}.${webhook.id}`),
  ];
  expect(await stack.redis.client.exists(`batches:{bull}:${webhook.id}`)).toBe(0);
  status = 204;
  await stack.client.expect(202, 'POST', `${pathOf(one.id)}/retry`);
  await stack.client.expect(204, 'DELETE', pathOf(other.id));
  await stack.client.waitForStatus(webhook.id, ids[1] ?? '', 'cancelled');
  await stack.client.waitForStatus(webhook.id, ids[0] ?? '', 'delivered');
  await remove(webhook);
  await receiver.stop();
});

it('a job that nobody can read is kept as it is, and no other one waits for it', async () => {
  await deliveries.add('d', {}, { jobId: 'broken', delay: 3_600_000 });
  await stack.redis.client.hset('bull:deliveries:broken', 'data', '{"broken');
  await stack.redis.client.zadd('bull:deliveries:delayed', 0, 'broken');
  await deliveries.add('d', 'nonsense', { jobId: 'nonsense' });

  const [broken, nonsense] = [await untilDead('broken'), await untilDead('nonsense')];
  expect((await stack.client.expect(200, 'GET', pathOf(broken.id))).body).toMatchObject({
    data: '{"broken',
    account_id: null,
  });
  expect((await stack.client.expect(200, 'GET', pathOf(nonsense.id))).body).toMatchObject({
    data: 'nonsense',
  });
  for (const { id } of [broken, nonsense]) await stack.client.expect(204, 'DELETE', pathOf(id));
});

it('the command line lists, shows, retries and drops them', async () => {
  const cli = (...args: readonly string[]) => runCli(stack.redis.url, 'dead-letters', ...args);
  const jobs = [await push('no.such', { number: 1 }), await push('no.such', { number: 2 })];
  const [one, two] = [await untilDead(`-${jobs[0]?.id}`), await untilDead(`-${jobs[1]?.id}`)];

  expect((await cli('list')).stdout).toContain(one.id);
  const shown = await cli('show', one.id);
  expect(JSON.parse(shown.stdout)).toMatchObject({ id: one.id, data: { data: { number: 1 } } });

  expect((await cli('retry', one.id)).stdout).toBe('Retried 1 dead letter.\n');
  await untilDead(`-${jobs[0]?.id}`, [one.id]);
  expect((await cli('drop', two.id)).exitCode).toBe(0);
  expect((await cli('drop', two.id)).exitCode).toBe(1);
  expect(JSON.parse((await cli('drop', '--all', '--json')).stdout)).toEqual({ dropped: 1 });
  expect(await list()).toEqual([]);
});

it('only an operator gets to see them, whosever they are', async () => {
  await runCli(stack.redis.url, 'accounts', 'create', '--id', 'acme');
  const command = ['keys', 'create', '--account', 'acme', '--name', 'acme', '--scopes', 'admin'];
  const { stdout: key } = await runCli(stack.redis.url, ...command);
  const acme = new ApiClient(stack.client.baseUrl, key.trimEnd());
  const job = await events.add('no.such', { account_id: 'acme', type: 'no.such', data: {} });
  const { id } = await untilDead(`-${job.id}`);
  for (const [method, path] of [
    ['GET', '/v1/dead-letters'],
    ['GET', pathOf(id)],
    ['POST', `${pathOf(id)}/retry`],
    ['DELETE', pathOf(id)],
  ] as const) {
    expect((await acme.expect(403, method, path)).body).toMatchObject({ code: 'operator_only' });
  }
  await stack.client.expect(204, 'DELETE', pathOf(id));
});
