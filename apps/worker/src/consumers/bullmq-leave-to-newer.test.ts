import { systemClock } from '@hookferry/core/kernel/clock';
import { queueKeysOf } from '@hookferry/core/model/keys';
import { REPLAYS_QUEUE } from '@hookferry/core/model/queue-names';
import { NewerJobs } from '@hookferry/core/queue/bullmq-newer-jobs';
import { createClosables } from '@hookferry/core/testing/closables';
import { type Job, Queue } from 'bullmq';
import { openTestQueues } from '../testing/open-test-queues';
import { createReplayConsumer } from './bullmq-replay';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** A worker that can't read the only job on its queue. */
async function startWorker() {
  const queues = willClose(await openTestQueues());
  const { client, options, signals } = queues;
  const queue = willClose(new Queue(REPLAYS_QUEUE, { connection: client }));
  const consumer = createReplayConsumer({
    ...options,
    stepReplay: async () => {
      throw new Error('It was not left alone.');
    },
  });
  willClose({ close: () => consumer.stop() });
  await queue.add('replay', { v: 2 }, { jobId: 'one' });
  consumer.start();
  const newer = new NewerJobs({
    connection: options,
    readableVersion: 2,
    clock: systemClock,
    emit: options.emit,
  });
  return { client, queue, signals, consumer, older: options.newerJobs as NewerJobs, newer };
}

async function untilDelayed(queue: Queue): Promise<Job> {
  for (;;) {
    const [job] = await queue.getDelayed();
    if (job) return job;
  }
}

const entries = (client: Awaited<ReturnType<typeof startWorker>>['client']) =>
  client.zrange(queueKeysOf('bull').newerJobs, '0', '-1', 'WITHSCORES');

it('leaves a job alone that it can not read: no attempt is used up, and the job is noted', async () => {
  const { client, queue, signals } = await startWorker();
  const job = await untilDelayed(queue);
  expect([job.attemptsMade, job.data]).toEqual([0, { v: 2 }]);
  expect(await entries(client)).toEqual(['replays/one', '2']);
  expect(signals.named('job.too_new')).toEqual([
    { name: 'job.too_new', queue: REPLAYS_QUEUE, jobId: 'one', version: 2 },
  ]);
  expect(signals.named('job.failed')).toEqual([]);
  expect(signals.named('job.interrupted')).toEqual([]);
});

it('waits the longer the more often it was left', async () => {
  const { queue } = await startWorker();
  const first = await untilDelayed(queue);
  const firstDelayMs = first.delay;
  await first.promote();
  let again = await untilDelayed(queue);
  while (again.attemptsStarted === first.attemptsStarted) again = await untilDelayed(queue);
  expect([firstDelayMs, again.delay]).toEqual([2_000, 4_000]);
});

describe('a worker that can read it', () => {
  it('makes it due at once, and forgets it', async () => {
    const { client, queue, consumer, newer } = await startWorker();
    await untilDelayed(queue);
    await consumer.stop();
    const before = systemClock();
    expect(await newer.runOnce()).toBe(1);
    const dueAt = Number((await client.zrange('bull:replays:delayed', '0', '0', 'WITHSCORES'))[1]) / 0x1000;
    expect(dueAt).toBeLessThanOrEqual(systemClock());
    expect(dueAt).toBeGreaterThanOrEqual(before);
    expect(await entries(client)).toEqual([]);
    expect(await client.zscore('bull:replays:marker', '0')).toBe('0');
  });

  it('keeps in mind what another one is at, which may be about to delay it', async () => {
    const { client, queue, consumer, newer } = await startWorker();
    await untilDelayed(queue);
    await consumer.stop();
    await client.zrem('bull:replays:delayed', 'one');
    await client.lpush('bull:replays:active', 'one');
    await newer.runOnce();
    expect(await entries(client)).toEqual(['replays/one', '2']);
  });

  it.each(['waits already', 'is gone'])('forgets a job that %s', async (what) => {
    const { client, queue, consumer, newer } = await startWorker();
    await (await untilDelayed(queue)).promote();
    await consumer.stop();
    if (what === 'is gone') await queue.obliterate({ force: true });
    await client.zrem('bull:replays:delayed', 'one');
    await newer.runOnce();
    expect(await entries(client)).toEqual([]);
  });
});

it('is not made due by a worker that can not read it either', async () => {
  const { client, queue, older } = await startWorker();
  await untilDelayed(queue);
  expect(await older.runOnce()).toBe(0);
  expect(await entries(client)).toEqual(['replays/one', '2']);
});
