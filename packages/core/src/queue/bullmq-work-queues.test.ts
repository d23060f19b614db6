import { Queue, UnrecoverableError, Worker } from 'bullmq';
import type { AccountId } from '../domain/account';
import { ERASURES_QUEUE, oneShard } from '../domain/queues';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { ErasureQueue } from './bullmq-work-queues';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const ACME = 'acme' as AccountId;

async function arrange() {
  const { client } = willClose(await openTestRedis());
  return {
    client,
    erasures: new ErasureQueue(client, oneShard('bull')),
    queue: willClose(new Queue(ERASURES_QUEUE, { connection: client })),
  };
}

it('adds an erasure once, however often it is asked for', async () => {
  const { erasures, queue } = await arrange();
  await erasures.add(ACME);
  await erasures.add(ACME);
  expect((await queue.getWaiting()).map(({ data }) => data)).toEqual([{ account_id: ACME }]);
});

it('goes on with an erasure that has failed for good', async () => {
  const { client, erasures, queue } = await arrange();
  await erasures.add(ACME);
  const worker = willClose(new Worker(ERASURES_QUEUE, null, { connection: client }));
  const job = await worker.getNextJob('token');
  await job?.moveToFailed(new UnrecoverableError('No luck.'), 'token');
  expect(await queue.getFailedCount()).toBe(1);
  await erasures.add(ACME);
  expect(await queue.getJobCounts('failed', 'wait')).toEqual({ failed: 0, wait: 1 });
  expect((await queue.getWaiting())[0]).toMatchObject({ attemptsMade: 0, attemptsStarted: 0 });
});
