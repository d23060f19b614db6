import { DELIVERIES_QUEUE } from '@hookferry/core/model/queue-names';
import { createClosables } from '@hookferry/core/testing/closables';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { DelayedError, type Job, Queue, WaitingError, Worker } from 'bullmq';
import { delayJob, giveJobBack } from './bullmq-put-back';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const TOKEN = 'mine';

/** A job that this process has taken. */
async function arrange() {
  const { client } = willClose(await openTestRedis());
  const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  const worker = willClose(new Worker(DELIVERIES_QUEUE, null, { connection: client }));
  await queue.add('d', {}, { jobId: 'one', attempts: 3 });
  const job: Job | undefined = await worker.getNextJob(TOKEN);
  if (!job) throw new Error('arranged otherwise');
  return {
    client,
    queue,
    job,
    state: () => job.getState(),
    readAttempts: () => client.hget(queue.toKey('one'), 'atm'),
    lock: () => client.get(queue.toKey('one:lock')),
    loseTo: (token: string) => client.set(queue.toKey('one:lock'), token),
  };
}

it('delays a job that is ours, without counting an attempt', async () => {
  const { job, queue, state, readAttempts, lock } = await arrange();
  await expect(delayJob(job, TOKEN, 60_000)).rejects.toThrow(DelayedError);
  expect(await state()).toBe('delayed');
  expect((await queue.getDelayed())[0]?.delay).toBeGreaterThan(50_000);
  expect(Number(await readAttempts())).toBe(0);
  expect(await lock()).toBeNull();
});

it('gives a job back that is ours, to be taken next', async () => {
  const { client, job, queue, state } = await arrange();
  await queue.add('d', {}, { jobId: 'two' });
  await expect(giveJobBack(job, TOKEN)).rejects.toThrow(WaitingError);
  expect(await state()).toBe('waiting');
  expect((await client.lrange(queue.toKey('wait'), 0, -1)).at(-1)).toBe('one');
});

it('gives a job back that has a place in the fair order, to be taken next, whichever place that was', async () => {
  const { client, queue } = await arrange();
  await queue.add('d', {}, { jobId: 'far', priority: 5_000 });
  const worker = willClose(new Worker(DELIVERIES_QUEUE, null, { connection: client }));
  const job: Job | undefined = await worker.getNextJob(TOKEN);
  if (!job) throw new Error('arranged otherwise');
  await queue.add('d', {}, { jobId: 'two', priority: 1 });
  await expect(giveJobBack(job, TOKEN)).rejects.toThrow(WaitingError);
  expect(await client.zrange(queue.toKey('prioritized'), '0', '-1')).toEqual(['far', 'two']);
});

describe.each([
  ['delayJob', (job: Job) => delayJob(job, TOKEN, 60_000), DelayedError],
  ['giveJobBack', (job: Job) => giveJobBack(job, TOKEN), WaitingError],
] as const)('%s', (_name, act, signal) => {
  it('leaves a job alone that another worker has taken over', async () => {
    const { job, state, lock, loseTo } = await arrange();
    await loseTo('another');
    await expect(act(job)).rejects.toThrow(signal);
    expect(await state()).toBe('active');
    expect(await lock()).toBe('another');
  });

  it('leaves a job alone whose lock is over, until somebody finds it stalled', async () => {
    const { client, queue, job, state } = await arrange();
    await client.del(queue.toKey('one:lock'));
    await expect(act(job)).rejects.toThrow(signal);
    expect(await state()).toBe('active');
  });

  it('takes it as well that the job is gone', async () => {
    const { client, queue, job } = await arrange();
    await client.del(queue.toKey('one'), queue.toKey('one:lock'));
    await expect(act(job)).rejects.toThrow(signal);
  });

  it('says when Redis has refused it', async () => {
    const { client, queue, job } = await arrange();
    await client.del(queue.toKey('active'));
    await client.set(queue.toKey('active'), 'no list');
    await expect(act(job)).rejects.toThrow('WRONGTYPE');
  });
});
