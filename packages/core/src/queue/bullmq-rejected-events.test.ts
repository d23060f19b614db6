import { Queue } from 'bullmq';
import { queueKeysOf } from '../domain/keys';
import { DEAD_LETTERS_QUEUE, oneShard } from '../domain/queues';
import { AppError } from '../platform/app-error';
import { buildReplayOrder } from '../testing/build-replay';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { accountOfJob, describeRefusal, RejectedEvents } from './bullmq-rejected-events';

describe('bullmq dead letters', () => {
  const queueKeys = queueKeysOf('bull');

  let redis: TestRedis;
  let deadLetters: RejectedEvents;
  let letters: Queue;
  beforeAll(async () => {
    redis = await openTestRedis();
    deadLetters = new RejectedEvents(redis.client, oneShard('bull'), Date.now);
    letters = new Queue(DEAD_LETTERS_QUEUE, { connection: redis.client });
  });
  afterEach(() => letters.drain());
  afterAll(async () => {
    await letters.close();
    await redis.close();
  });

  const job = {
    id: '17',
    name: 'keyword.lost',
    timestamp: 1_700_000_000_000,
    data: { account_id: 'default' },
  };
  const validationErrors = [{ pointer: '/type', detail: 'is not known' }];
  const error = new AppError('invalid_request', 'The event is not valid.', { validationErrors });

  describe('keep', () => {
    it('keeps the job as it was, and why it was refused', async () => {
      await deadLetters.keep(job, error);
      expect((await letters.getWaiting()).map(({ name, data }) => ({ name, data }))).toEqual([
        {
          name: 'keyword.lost',
          data: { job, code: 'invalid_request', reason: 'The event is not valid.', errors: validationErrors },
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
      const few = new RejectedEvents(connection.redis, oneShard(connection.prefix), () => now++, 2);
      await redis.client.del(queueKeys.rejectedJobs);
      const displaced = [];
      for (const id of ['a', 'b', 'c']) displaced.push(await few.keep({ ...job, id }, error));
      expect(displaced).toEqual([[], [], [`${job.timestamp}-a`]]);
      expect((await letters.getWaiting()).map(({ data }) => data.job.id).sort()).toEqual(['b', 'c']);
      expect(await redis.client.zrange(queueKeys.rejectedJobs, '0', '-1')).toEqual([
        `${job.timestamp}-b`,
        `${job.timestamp}-c`,
      ]);
    });
  });
});

describe('rejected job', () => {
  describe('describeRefusal', () => {
    it('names each fault, and what it is about, in one line', () => {
      const errors = [
        { pointer: '/type', detail: 'is not known' },
        { pointer: '', detail: 'must be an object' },
      ];
      expect(describeRefusal('The job is not an event: see "errors".', errors)).toBe(
        "/type is not known; the job's data must be an object",
      );
    });

    it('gives the reason when there is nothing more to say', () => {
      expect(describeRefusal('The event has 300000 bytes.', [])).toBe('The event has 300000 bytes.');
    });
  });
});

describe('account of job', () => {
  it('tells whose job it is, also of a replay', () => {
    const order = buildReplayOrder();
    expect(accountOfJob({ account_id: 'acme', other: 1 })).toBe('acme');
    expect(accountOfJob(order)).toBe(order.accountId);
  });

  it.each([undefined, null, 'acme', [], {}, { account_id: 7 }, { account_id: 'a/b' }])(
    'knows nobody whose it could be: %j',
    (data) => {
      expect(accountOfJob(data)).toBeUndefined();
    },
  );
});
