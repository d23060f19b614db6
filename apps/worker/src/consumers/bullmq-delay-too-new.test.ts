import { REPLAYS_QUEUE } from '@hookferry/core/model/queue-names';
import { createClosables } from '@hookferry/core/testing/closables';
import { type Job, Queue } from 'bullmq';
import { openTestQueues } from '../testing/open-test-queues';
import { createReplayConsumer } from './bullmq-replay';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** A worker that can't read the only job on its queue, which it has taken so many times already. */
async function startWorker(started = 0) {
  const { client, options, signals } = willClose(await openTestQueues());
  const queue = willClose(new Queue(REPLAYS_QUEUE, { connection: client }));
  const consumer = createReplayConsumer({
    ...options,
    stepReplay: async () => {
      throw new Error('It was not left alone.');
    },
  });
  willClose({ close: () => consumer.stop() });
  await queue.add('replay', { v: 2 }, { jobId: 'one' });
  if (started > 0) await client.hset(queue.toKey('one'), 'ats', started);
  consumer.start();
  return { queue, signals };
}

async function untilDelayed(queue: Queue): Promise<Job> {
  for (;;) {
    const [job] = await queue.getDelayed();
    if (job) return job;
  }
}

it('delays a job that it can not read, tells of it, and uses up no attempt', async () => {
  const { queue, signals } = await startWorker();
  const job = await untilDelayed(queue);
  expect([job.attemptsMade, job.data]).toEqual([0, { v: 2 }]);
  expect(signals.named('job.too_new')).toEqual([
    { name: 'job.too_new', queue: REPLAYS_QUEUE, jobId: 'one', version: 2 },
  ]);
  expect(signals.named('job.failed')).toEqual([]);
  expect(signals.named('job.interrupted')).toEqual([]);
});

it('delays it the longer the more often it came', async () => {
  const { queue } = await startWorker();
  const first = await untilDelayed(queue);
  const firstDelayMs = first.delay;
  await first.promote();
  let again = await untilDelayed(queue);
  while (again.attemptsStarted === first.attemptsStarted) again = await untilDelayed(queue);
  expect([firstDelayMs, again.delay]).toEqual([2_000, 4_000]);
});

it('delays it for ten minutes at most', async () => {
  const { queue } = await startWorker(20_000);
  expect((await untilDelayed(queue)).delay).toBe(600_000);
});
