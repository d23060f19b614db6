import { Queue } from 'bullmq';
import { AppError } from '../kernel/app-error';
import { queueKeysOf } from '../model/keys';
import { DEAD_LETTERS_QUEUE } from '../model/queue-names';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { BullmqDeadLetters } from './bullmq-dead-letters';

const queueKeys = queueKeysOf('bull');

let redis: TestRedis;
let deadLetters: BullmqDeadLetters;
let letters: Queue;
beforeAll(async () => {
  redis = await openTestRedis();
  deadLetters = new BullmqDeadLetters({ redis: redis.client, prefix: 'bull' }, Date.now);
  letters = new Queue(DEAD_LETTERS_QUEUE, { connection: redis.client });
});
afterEach(() => letters.drain());
afterAll(async () => {
  await Promise.all([deadLetters.close(), letters.close()]);
  await redis.close();
});

const job = { id: '17', name: 'keyword.lost', timestamp: 1_700_000_000_000, data: { account_id: 'default' } };
const faults = [{ pointer: '/type', detail: 'is not known' }];
const error = new AppError('invalid_request', 'The event is not valid.', { faults });

describe('keep', () => {
  it('keeps the job as it was, and why it was refused', async () => {
    await deadLetters.keep(job, error);
    expect((await letters.getWaiting()).map(({ name, data }) => ({ name, data }))).toEqual([
      {
        name: 'keyword.lost',
        data: { job, code: 'invalid_request', reason: 'The event is not valid.', errors: faults },
      },
    ]);
  });

  it('keeps a job once, also when it is refused again after a crash', async () => {
    await deadLetters.keep(job, error);
    await deadLetters.keep(job, error);
    expect(await letters.getWaitingCount()).toBe(1);
  });

  it('keeps another job that has the same number apart, as there are after Redis was emptied', async () => {
    await deadLetters.keep(job, error);
    await deadLetters.keep({ ...job, timestamp: job.timestamp + 1 }, error);
    expect(await letters.getWaitingCount()).toBe(2);
  });

  it('keeps a scheduled job, whose id BullMQ takes back from nobody but itself', async () => {
    await deadLetters.keep({ ...job, id: 'repeat:5f2b:1700000000000' }, error);
    expect((await letters.getWaiting()).map(({ data }) => data.job.id)).toEqual([
      'repeat:5f2b:1700000000000',
    ]);
  });

  it('keeps whatever was in the job', async () => {
    for (const [index, data] of [null, 'text', 1, []].entries()) {
      await deadLetters.keep({ ...job, id: `odd-${index}`, data }, error);
    }
    const kept = await letters.getWaiting();
    expect(kept.map(({ data }) => data.job.data)).toEqual([null, 'text', 1, []]);
  });

  it('keeps the newest when there are too many, and says which ones had to go', async () => {
    const connection = { redis: redis.client, prefix: 'bull' };
    let now = 0;
    const few = new BullmqDeadLetters(connection, () => now++, 2);
    await redis.client.del(queueKeys.rejectedJobs);
    const displaced = [];
    for (const id of ['a', 'b', 'c']) displaced.push(await few.keep({ ...job, id }, error));
    await few.close();
    expect(displaced).toEqual([[], [], [`${job.timestamp}-a`]]);
    expect((await letters.getWaiting()).map(({ data }) => data.job.id).sort()).toEqual(['b', 'c']);
    expect(await redis.client.zrange(queueKeys.rejectedJobs, '0', '-1')).toEqual([
      `${job.timestamp}-b`,
      `${job.timestamp}-c`,
    ]);
  });
});
