import { EventEmitter, once } from 'node:events';
import { Queue } from 'bullmq';
import type { ManagedProcess } from '../support/managed-process';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

// Short, so that a killed worker's jobs are taken over soon.
const environment = { JOB_LOCK_DURATION: '1s', RETRY_SCHEDULE: '200ms' };

let stack: Stack;
let deliveries: Queue;
beforeEach(async () => {
  stack = await Stack.start({ workers: 0, environment });
  deliveries = new Queue('deliveries', { connection: stack.redis.client });
});
afterEach(async () => {
  await deliveries.close();
  await stack.stop();
});

it('shares the deliveries among workers, each delivered once', async () => {
  // Nobody dies here: on a busy machine a short lock would be lost, and the job taken over while it is under way.
  const patient = { JOB_LOCK_DURATION: '30s' };
  const workers = [await stack.startWorker(patient), await stack.startWorker(patient)];
  const receiver = await Receiver.start();
  const webhook = await stack.client.register(receiver.url);
  const eventIds = await publishMany(200);

  await receiver.waitFor(200);
  expect(idsOf(receiver.requests)).toEqual([...eventIds].sort());
  for (const worker of workers) expect(attemptsOf(worker).length).toBeGreaterThan(0);
  await until(async () =>
    (await stack.client.listDeliveries(webhook.id)).every(isDelivered) ? true : undefined,
  );
  await receiver.stop();
});

it('makes a second attempt with the same webhook-id when a worker is killed in the middle of the first', async () => {
  const doomed = await stack.startWorker();
  const receiver = await Receiver.start((_request, count) => (count === 1 ? 'never' : 204));
  const webhook = await stack.client.register(receiver.url);
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);

  await receiver.waitFor(1);
  await doomed.end('SIGKILL');
  await stack.startWorker();
  await stack.client.waitForStatus(webhook.id, eventId, 'delivered');

  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([eventId, eventId]);
  expect(receiver.requests[1]?.body).toEqual(receiver.requests[0]?.body);
  await receiver.stop();
});

it('finishes what is in flight at SIGTERM, takes nothing more, and leaves no job behind as active', async () => {
  const gate = new EventEmitter();
  const opened = once(gate, 'open');
  const worker = await stack.startWorker({ WORKER_CONCURRENCY: '5' });
  // Quick at first, so that the worker lets these endpoints have all of its slots.
  const slow = await Receiver.start((_request, count) => (count <= 5 ? 204 : opened.then(() => 204)));
  for (let i = 0; i < 5; i += 1) await stack.client.register(`${slow.url}/${i}`);
  const firstIds = await publishMany(1);
  await until(async () => (attemptsOf(worker).length === 5 ? true : undefined));
  const eventIds = [...firstIds, ...(await publishMany(4))];

  await slow.waitFor(10);
  const ended = worker.end('SIGTERM');
  await worker.waitForLine((line) => line.message === 'process.stopping');
  gate.emit('open');

  expect(await ended).toBe(0);
  expect(slow.requests).toHaveLength(10);
  expect(await deliveries.getActiveCount()).toBe(0);

  await stack.startWorker();
  await slow.waitFor(25);
  expect(idsOf(slow.requests)).toEqual(eventIds.flatMap((id) => Array<string>(5).fill(id)).sort());
  await slow.stop();
});

it('puts back, at its deadline for stopping, what a receiver keeps from coming to an end', async () => {
  const worker = await stack.startWorker({ SHUTDOWN_TIMEOUT: '300ms' });
  const receiver = await Receiver.start((_request, count) => (count === 1 ? 'never' : 204));
  const webhook = await stack.client.register(receiver.url);
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await receiver.waitFor(1);

  expect(await worker.end('SIGTERM')).toBe(0);
  expect(await deliveries.getActiveCount()).toBe(0);
  expect(await deliveries.getJobCountByTypes('wait', 'prioritized')).toBe(1);

  await stack.startWorker();
  const delivery = await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
  expect(delivery.attempts).toHaveLength(1);
  await receiver.stop();
});

async function publishMany(count: number): Promise<string[]> {
  return await Promise.all(
    Array.from({ length: count }, () => stack.client.publish(QUICK_WIN.type, QUICK_WIN.data)),
  );
}

function idsOf(requests: readonly ReceivedRequest[]): string[] {
  return requests.map(({ headers }) => String(headers['webhook-id'])).sort();
}

function attemptsOf(worker: ManagedProcess) {
  return worker.log.filter((line) => line.message === 'delivery.attempted');
}

function isDelivered({ status }: { readonly status: string }): boolean {
  return status === 'delivered';
}
