import { EventEmitter, once } from 'node:events';
import { JOB_VERSION } from '@hookferry/core/queue/bullmq-event-queue';
import { Queue } from 'bullmq';
import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const EVENTS = 300;

let client: ApiClient;

it('delivers in the order of acceptance, also through failures and the death of a worker', async () => {
  const stack = await Stack.start({
    workers: 2,
    // More retries than one delivery can need; locks that are short, so that a killed worker's jobs are taken over soon.
    environment: { RETRY_SCHEDULE: Array(20).fill('50ms').join(), JOB_LOCK_DURATION: '2s' },
  });
  client = stack.client;
  const receiver = await Receiver.start(() => (Math.random() < 0.1 ? 500 : 204));
  await registerStrict(receiver.url);
  const published = publish(EVENTS);

  await receiver.waitFor(EVENTS / 10);
  await stack.workers[0]?.end('SIGKILL');
  await stack.startWorker();
  const eventIds = await published;
  await until(async () => (firstSights(receiver).length === EVENTS ? true : undefined));

  expect(firstSights(receiver)).toEqual(eventIds);
  await Promise.all([receiver.stop(), stack.stop()]);
});

it('holds those behind a delivery that fails until it is exhausted, and no other endpoint', async () => {
  client = await openAccount();
  const gate = new EventEmitter();
  const opened = once(gate, 'open').then(() => 500);
  const strict = await Receiver.start(({ headers }) =>
    headers['webhook-id'] === strict.requests[0]?.headers['webhook-id'] ? opened : 204,
  );
  const other = await Receiver.start();
  const webhookId = await registerStrict(strict.url);
  await client.register(other.url);
  const eventIds = await publish(5);

  await other.waitFor(5);
  for (const eventId of eventIds.slice(1)) await client.waitForStatus(webhookId, eventId, 'held');
  expect(strict.requests).toHaveLength(1);

  gate.emit('open');
  const [failing = '', ...others] = eventIds;
  for (const eventId of others) await client.waitForStatus(webhookId, eventId, 'delivered');
  expect(arrivals(strict)).toEqual([failing, failing, failing, ...others]);
  await client.waitForStatus(webhookId, failing, 'exhausted');
  await Promise.all([strict.stop(), other.stop()]);
});

it('sends what was redelivered while its webhook was disabled and discards, in order and before newer events', async () => {
  client = await openAccount();
  const receiver = await Receiver.start();
  const { id } = await client.register(receiver.url, ['*'], {
    ordering: 'strict',
    while_disabled: 'discard',
  });
  await client.expect(200, 'POST', `/v1/webhooks/${id}/disable`);
  const discarded = await publish(30);
  for (const eventId of discarded) {
    const delivery = await client.waitForStatus(id, eventId, 'cancelled');
    await client.expect(202, 'POST', `/v1/deliveries/${delivery.id}/redeliver`);
  }
  await client.expect(200, 'POST', `/v1/webhooks/${id}/enable`);
  const later = await publish(3);
  await receiver.waitFor(discarded.length + later.length);
  expect(arrivals(receiver)).toEqual([...discarded, ...later]);
  await receiver.stop();
});

it('waits for no event of another account that no worker can read', async () => {
  const stack = await Stack.start();
  client = stack.client;
  const queue = new Queue('events', { connection: { url: stack.redis.url } });
  const receiver = await Receiver.start();
  const webhookId = await registerStrict(receiver.url);
  await queue.add('keyword.quick_win', { v: JOB_VERSION + 1, account_id: 'another', data: {} });
  await stack.workers[0]?.waitForLine(({ message }) => message === 'job.too_new');

  const [eventId = ''] = await publish(1);
  await client.waitForStatus(webhookId, eventId, 'delivered');
  expect(await queue.getDelayedCount()).toBe(1);
  await Promise.all([queue.close(), receiver.stop(), stack.stop()]);
});

async function registerStrict(url: string): Promise<string> {
  const webhook = { url, events: ['*'], ordering: 'strict' };
  const { body } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook);
  return body.id;
}

/** One after the other: each is accepted before the next one is sent. */
async function publish(count: number): Promise<string[]> {
  const eventIds: string[] = [];
  while (eventIds.length < count) {
    eventIds.push(await client.publish(QUICK_WIN.type, QUICK_WIN.data));
  }
  return eventIds;
}

function arrivals(receiver: Receiver): string[] {
  return receiver.requests.map(({ headers }) => String(headers['webhook-id']));
}

function firstSights(receiver: Receiver): string[] {
  return [...new Set(arrivals(receiver))];
}
