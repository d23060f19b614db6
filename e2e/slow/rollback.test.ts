import { join } from 'node:path';
import { JOB_VERSION } from '@hookferry/core/queue/bullmq-event-queue';
import { Queue } from 'bullmq';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const NEXT_VERSION = { NODE_OPTIONS: `--require ${join(__dirname, '../support/next-job-version.cjs')}` };
const OF_NEXT_VERSION = 20;
const OF_THIS_VERSION = 5;

let stack: Stack;
let receiver: Receiver;
let deliveries: Queue;
beforeEach(async () => {
  stack = await Stack.start({ workers: 0, environment: { JOB_LOCK_DURATION: '1s' } });
  receiver = await Receiver.start();
  deliveries = new Queue('deliveries', { connection: stack.redis.client });
});
afterEach(async () => {
  await deliveries.close();
  await receiver.stop();
  await stack.stop();
});

async function publishMany(count: number): Promise<readonly string[]> {
  return await Promise.all(
    Array.from({ length: count }, () => stack.client.publish(QUICK_WIN.type, QUICK_WIN.data)),
  );
}

/** As if an API of the next version had added them. */
async function changeToNextVersion(): Promise<void> {
  for (const job of await deliveries.getJobs(['prioritized', 'wait'])) {
    await job.updateData({ ...job.data, v: JOB_VERSION + 1 });
  }
}

const eventIds = () => receiver.requests.map(({ headers }) => String(headers['webhook-id'])).toSorted();

it('leaves to the next version what only that can read, through kills, and delivers all else meanwhile', async () => {
  const webhook = await stack.client.register(receiver.url);
  const newer = await publishMany(OF_NEXT_VERSION);
  await changeToNextVersion();
  const doomed = await stack.startWorker();
  await doomed.waitForLine(({ message }) => message === 'job.too_new');
  await doomed.end('SIGKILL');

  const worker = await stack.startWorker();
  const current = await publishMany(OF_THIS_VERSION);
  await receiver.waitFor(OF_THIS_VERSION);
  // Also what the killed one was at.
  await until(async () => ((await deliveries.getDelayedCount()) === OF_NEXT_VERSION ? true : undefined));
  expect(eventIds()).toEqual(current.toSorted());
  expect(worker.log.filter(({ message }) => message === 'job.too_new')).toHaveLength(1);

  await stack.startWorker(NEXT_VERSION);
  await worker.end('SIGTERM');
  await receiver.waitFor(OF_THIS_VERSION + OF_NEXT_VERSION);
  expect(eventIds()).toEqual([...newer, ...current].toSorted());
  await until(async () => {
    const listed = await stack.client.listDeliveries(webhook.id);
    return listed.every(({ status, attempt_count: count }) => status === 'delivered' && count === 1)
      ? true
      : undefined;
  });
  expect(await deliveries.getFailedCount()).toBe(0);
});
