import { Queue, UnrecoverableError, Worker } from 'bullmq';
import { type DeadLetterId, deadLetterIdOf, type ListedDeadLetter } from '../domain/dead-letter';
import { queueKeysOf } from '../domain/keys';
import {
  createQueueLayout,
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  ERASURES_QUEUE,
  EVENTS_QUEUE,
  oneShard,
  type QueueShard,
  REPLAYS_QUEUE,
  shardsAmong,
} from '../domain/queues';
import { AppError } from '../platform/app-error';
import { buildReplayOrder } from '../testing/build-replay';
import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { DeadLetterStore } from './bullmq-dead-letter-store';
import { RejectedEvents } from './bullmq-rejected-events';

describe('sharded dead letter store', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const NOW = 1_700_000_000_000;
  const layout = createQueueLayout(3, 'bull');
  const [first, second, third] = layout.shards as [QueueShard, QueueShard, QueueShard];

  async function arrange() {
    const { client } = willClose(await openTestRedis());
    const store = new DeadLetterStore(client, shardsAmong(layout, []), () => NOW);
    const queueIn = (shard: QueueShard, name: string) =>
      willClose(new Queue(name, { connection: client, prefix: shard.prefix }));
    return {
      client,
      store,
      queueIn,
      /** Leaves a job as BullMQ does that has failed for good. */
      async fail(shard: QueueShard, jobId: string, failedAt: number): Promise<DeadLetterId> {
        const queue = queueIn(shard, DELIVERIES_QUEUE);
        await queue.add('d', { account_id: 'acme' }, { jobId });
        await client.lrem(queue.toKey('wait'), 1, jobId);
        await client.zadd(queue.toKey('failed'), failedAt, jobId);
        return deadLetterIdOf(DELIVERIES_QUEUE, jobId);
      },
      async readAll(limit: number): Promise<readonly DeadLetterId[]> {
        const all: ListedDeadLetter[] = [];
        let page = await store.list(undefined, limit);
        for (;;) {
          all.push(...page.deadLetters);
          if (page.nextCursor === undefined) return all.map(({ id }) => id);
          page = await store.list(undefined, limit, page.nextCursor);
        }
      },
    };
  }

  describe('list', () => {
    it.each([1, 2, 3, 4, 20])('gives those of all shards, newest first, by pages of %i', async (limit) => {
      const { fail, readAll } = await arrange();
      const ids = [];
      for (const [age, shard] of [first, first, third, second, first, third, third, first].entries()) {
        ids.push(await fail(shard, `job-${age}`, NOW - age));
      }
      expect(await readAll(limit)).toEqual(ids);
    });

    it('gives all that failed within one millisecond, in whatever shard', async () => {
      const { fail, readAll } = await arrange();
      const ids = [];
      for (const [i, shard] of [third, first, second, third, first].entries()) {
        ids.push(await fail(shard, `job-${i}`, NOW));
      }
      expect(await readAll(2)).toEqual(ids.toReversed());
    });

    it('gives one once that is on its way from one shard to another', async () => {
      const { fail, readAll } = await arrange();
      const newest = await fail(second, 'newest', NOW + 1);
      const moved = await fail(first, 'moved', NOW);
      await fail(third, 'moved', NOW);
      expect(await readAll(10)).toEqual([newest, moved]);
    });
  });

  describe('one of them, in whatever shard it is', () => {
    it.each([first, second, third])('is found, and put back there: %j', async (shard) => {
      const { fail, store, queueIn } = await arrange();
      const id = await fail(shard, 'one', NOW);
      expect(await store.find(id)).toMatchObject({ id, accountId: 'acme', failedAt: NOW });
      expect(await store.putBack(id)).toBe(true);
      expect(await queueIn(shard, DELIVERIES_QUEUE).getJobState('one')).toBe('waiting');
      expect(await store.find(id)).toBeUndefined();
      expect(await store.putBack(id)).toBe(false);
    });

    it.each([first, second, third])('is dropped: %j', async (shard) => {
      const { fail, store, queueIn, readAll } = await arrange();
      const kept = await fail(first, 'kept', NOW);
      const id = await fail(shard, 'one', NOW);
      expect(await store.remove(id)).toBe(true);
      expect(await queueIn(shard, DELIVERIES_QUEUE).getJob('one')).toBeUndefined();
      expect(await store.remove(id)).toBe(false);
      expect(await readAll(10)).toEqual([kept]);
    });

    it.each([first, second, third])('is claimed for one act only: %j', async (shard) => {
      const { fail, store } = await arrange();
      const id = await fail(shard, 'one', NOW);
      expect([await store.claim(id, 'retry'), await store.claim(id, 'drop')]).toEqual(['claimed', 'taken']);
      expect(await store.claim(deadLetterIdOf(DELIVERIES_QUEUE, 'none'), 'drop')).toBe('gone');
    });
  });

  it('puts an invalid event back where producers push', async () => {
    const { client, store, queueIn } = await arrange();
    const rejected = new RejectedEvents(client, oneShard(first.prefix), () => NOW);
    const job = { id: '17', name: 'x.y', timestamp: NOW - 1, data: { account_id: 'acme' } };
    await rejected.keep(job, new AppError('invalid_request', 'The event is not valid.'));
    const [letter] = (await store.list(EVENTS_QUEUE, 10)).deadLetters;
    if (!letter) throw new Error('It is not listed.');
    expect(await store.putBack(letter.id)).toBe(true);
    const waiting = await queueIn(first, EVENTS_QUEUE).getWaiting();
    expect(waiting.map(({ name, data }) => ({ name, data }))).toEqual([{ name: 'x.y', data: job.data }]);
  });
});

describe('bullmq dead letter store', () => {
  const queueKeys = queueKeysOf('bull');

  const NOW = 1_700_000_000_000;

  let redis: TestRedis;
  let now: number;
  let rejected: RejectedEvents;
  let store: DeadLetterStore;
  let events: Queue;
  let deliveries: Queue;
  beforeAll(async () => {
    redis = await openTestRedis();
    const connection = { redis: redis.client, prefix: 'bull' };
    rejected = new RejectedEvents(connection.redis, oneShard(connection.prefix), () => now);
    store = new DeadLetterStore(connection.redis, oneShard(connection.prefix), () => now);
    events = new Queue(EVENTS_QUEUE, { connection: redis.client });
    deliveries = new Queue(DELIVERIES_QUEUE, { connection: redis.client });
  });
  beforeEach(async () => {
    now = NOW;
    await redis.client.flushdb();
  });
  afterAll(async () => {
    await Promise.all([events, deliveries].map((each) => each.close()));
    await redis.close();
  });

  const error = new AppError('invalid_request', 'The event is not valid.', {
    validationErrors: [{ pointer: '/type', detail: 'is not known' }],
  });
  const invalidJob = { name: 'invoice.paid', timestamp: NOW - 60_000, data: { account_id: 'acme' } };

  /** Keeps a job as invalid, at its time, and gives its id as a dead letter. */
  async function reject(id: string, at = NOW, job = invalidJob): Promise<DeadLetterId> {
    now = at;
    await rejected.keep({ ...job, id }, error);
    return deadLetterIdOf(DEAD_LETTERS_QUEUE, `${job.timestamp}-${id}`);
  }

  /** Lets a job fail as a worker would. */
  async function fail(
    queue: Queue,
    jobId: string,
    data: unknown = { account_id: 'acme' },
  ): Promise<DeadLetterId> {
    await queue.add('d', data, { jobId, attempts: 3 });
    const worker = new Worker(queue.name, null, { connection: redis.client });
    const job = await worker.getNextJob('token');
    await job?.moveToFailed(new UnrecoverableError('No luck.'), 'token');
    await worker.close();
    return deadLetterIdOf(queue.name as 'events' | 'deliveries', jobId);
  }

  async function readAll(limit: number): Promise<ListedDeadLetter[]> {
    const all: ListedDeadLetter[] = [];
    let page = await store.list(undefined, limit);
    for (;;) {
      all.push(...page.deadLetters);
      if (page.nextCursor === undefined) return all;
      page = await store.list(undefined, limit, page.nextCursor);
    }
  }

  const idsOf = (deadLetters: readonly ListedDeadLetter[]) => deadLetters.map(({ id }) => id);

  describe('find', () => {
    it('gives an invalid event as the job that it was, with what is wrong with it', async () => {
      const id = await reject('17');
      expect(await store.find(id)).toEqual({
        id,
        queue: 'events',
        jobId: '17',
        name: 'invoice.paid',
        accountId: 'acme',
        reason: '/type is not known',
        failedAt: NOW,
        attemptsMade: 1,
        dataText: '{"account_id":"acme"}',
      });
    });

    it('gives a job that failed for good, with why', async () => {
      const id = await fail(deliveries, 'one');
      expect(await store.find(id)).toEqual({
        id: 'deliveries.one',
        queue: 'deliveries',
        jobId: 'one',
        name: 'd',
        accountId: 'acme',
        reason: 'No luck.',
        failedAt: expect.any(Number),
        attemptsMade: 1,
        dataText: '{"account_id":"acme"}',
      });
    });

    it('gives data that is no JSON as it is', async () => {
      const id = await fail(events, 'one');
      await redis.client.hset('bull:events:one', 'data', '{"broken');
      expect((await store.find(id))?.dataText).toBe('{"broken');
    });

    it('gives what was kept of an event and can not be read as a text', async () => {
      const id = await reject('17');
      await redis.client.hset(`bull:${id.replace('.', ':')}`, 'data', '{"broken');
      expect(await store.find(id)).toMatchObject({ id, name: 'invoice.paid', dataText: '{"broken' });
      expect(idsOf((await store.list(undefined, 10)).deadLetters)).toEqual([id]);
      await expect(store.putBack(id)).rejects.toMatchObject({ code: 'conflict' });
      expect(await store.remove(id)).toBe(true);
    });

    it('knows none by the id of a job that waits, or that there is not', async () => {
      await deliveries.add('d', {}, { jobId: 'waiting' });
      expect(await store.find(deadLetterIdOf('deliveries', 'waiting'))).toBeUndefined();
      expect(await store.find(deadLetterIdOf('events-dead-letters', 'none'))).toBeUndefined();
    });
  });

  describe('list', () => {
    it('gives all of them, newest first, page by page, also within one millisecond', async () => {
      const ids = [
        await reject('a', NOW),
        await reject('b', NOW),
        await reject('c', NOW),
        await reject('d', NOW + 1),
      ];
      const failed = [await fail(deliveries, 'x'), await fail(events, 'y')];
      await redis.client.zadd('bull:deliveries:failed', NOW, 'x');
      await redis.client.zadd('bull:events:failed', NOW + 2, 'y');
      const [a, b, c, d, x, y] = [...ids, ...failed];
      for (const limit of [1, 2, 3, 10]) expect(idsOf(await readAll(limit))).toEqual([y, d, c, b, a, x]);
    });

    it('goes on where a page ended, whatever comes or goes meanwhile', async () => {
      const ids = [await reject('a', NOW), await reject('b', NOW + 1), await reject('c', NOW + 2)];
      const first = await store.list(undefined, 2);
      expect(idsOf(first.deadLetters)).toEqual([ids[2], ids[1]]);
      await reject('d', NOW + 3);
      for (const { id } of first.deadLetters) await store.remove(id);
      const second = await store.list(undefined, 2, first.nextCursor);
      expect(idsOf(second.deadLetters)).toEqual([ids[0]]);
      expect(second.nextCursor).toBeUndefined();
    });

    it('shows a large one without its data, which it does not read', async () => {
      const data = { account_id: 'acme', text: 'x'.repeat(100_000) };
      const invalid = await reject('17', NOW, { ...invalidJob, data });
      const failed = await fail(deliveries, 'one', data);
      // What can't be read shows that it was not.
      await redis.client.hset(`bull:${invalid.replace('.', ':')}`, 'data', 'x'.repeat(100_000));
      const [first, second] = (await store.list(undefined, 10)).deadLetters;
      expect(first).toMatchObject({ id: failed, reason: 'No luck.', attemptsMade: 1 });
      expect(second).toEqual({
        id: invalid,
        queue: 'events',
        name: 'invoice.paid',
        accountId: 'acme',
        reason: '/type is not known',
        failedAt: NOW,
        attemptsMade: 1,
      });
    });

    it('names the account of a replay, whose job is the replay as it was ordered', async () => {
      const order = buildReplayOrder();
      const replays = new Queue(REPLAYS_QUEUE, { connection: redis.client });
      await fail(replays, order.id, order);
      await replays.close();
      const { deadLetters } = await store.list(undefined, 10);
      expect(deadLetters).toMatchObject([{ queue: 'replays', accountId: order.accountId }]);
    });

    it('gives those of a queue', async () => {
      const invalid = await reject('a');
      const [event, delivery] = [await fail(events, 'x'), await fail(deliveries, 'y')];
      expect(idsOf((await store.list('events', 10)).deadLetters).sort()).toEqual([invalid, event].sort());
      expect(idsOf((await store.list('deliveries', 10)).deadLetters)).toEqual([delivery]);
      expect((await store.list(ERASURES_QUEUE, 10)).deadLetters).toEqual([]);
    });
  });

  describe('putBack', () => {
    it('gives an event back to its queue, as of now, and knows it no longer', async () => {
      const id = await reject('17');
      now = NOW + 5_000;
      expect(await store.putBack(id)).toBe(true);
      const [job, ...others] = await events.getWaiting();
      expect(others).toEqual([]);
      expect(job).toMatchObject({ name: 'invoice.paid', data: invalidJob.data, timestamp: NOW + 5_000 });
      expect(await store.find(id)).toBeUndefined();
      expect(await store.putBack(id)).toBe(false);
    });

    it('gives the same job back when it broke off before', async () => {
      const id = await reject('17');
      await store.putBack(id);
      const [first] = await events.getWaiting();
      // As if the process had died before it was removed, and the event had been fanned out since.
      await events.drain();
      await reject('17');
      await redis.client.hset(
        `bull:events-dead-letters:${NOW - 60_000}-17`,
        'redrivenAt',
        first?.timestamp ?? 0,
      );
      now = NOW + 60_000;
      await store.putBack(id);
      const [second] = await events.getWaiting();
      expect([second?.id, second?.timestamp]).toEqual([first?.id, first?.timestamp]);
    });

    it('keeps one that is refused again apart from what it was, so that neither goes with the other', async () => {
      const id = await reject('17');
      await store.putBack(id);
      const [job] = await events.getWaiting();
      if (!job?.id) throw new Error('Nothing was put back.');
      await rejected.keep({ id: job.id, name: job.name, timestamp: job.timestamp, data: job.data }, error);
      const [again] = (await store.list(undefined, 10)).deadLetters;
      expect(again?.id).toBe(`events-dead-letters.${NOW}-17`);
      // Within the same millisecond.
      await store.putBack(again?.id ?? id);
      expect((await events.getWaiting()).map((each) => each.id)).toContain(`${NOW + 1}-17`);
    });

    it('lets a job that failed for good run as if it never had', async () => {
      const id = await fail(deliveries, 'one');
      await redis.client.hset('bull:deliveries:one', { ats: 300_001, stc: 1_000_000 });
      expect(await store.putBack(id)).toBe(true);
      const job = await deliveries.getJob('one');
      expect(await job?.getState()).toBe('waiting');
      expect(job).toMatchObject({ attemptsMade: 0, attemptsStarted: 0, stalledCounter: 0 });
      expect(await store.find(id)).toBeUndefined();
      expect(await store.putBack(id)).toBe(false);
    });

    it('puts back what it can not read', async () => {
      const id = await fail(deliveries, 'one');
      await redis.client.hset('bull:deliveries:one', 'data', '{"broken');
      expect(await store.putBack(id)).toBe(true);
      expect(await deliveries.getWaitingCount()).toBe(1);
    });

    it('knows no job that is not there', async () => {
      expect(await store.putBack(deadLetterIdOf('deliveries', 'none'))).toBe(false);
      expect(await redis.client.exists('bull:deliveries:none')).toBe(0);
    });
  });

  describe('claim', () => {
    it('keeps who wants to drop a job away from one that is being put back, and the other way round', async () => {
      const one = await fail(deliveries, 'one');
      const two = await fail(deliveries, 'two');
      expect([await store.claim(one, 'retry'), await store.claim(one, 'drop')]).toEqual(['claimed', 'taken']);
      expect([await store.claim(two, 'drop'), await store.claim(two, 'retry')]).toEqual(['claimed', 'taken']);
    });

    it('keeps them apart for an invalid event, too', async () => {
      const id = await reject('18');
      expect([await store.claim(id, 'retry'), await store.claim(id, 'drop')]).toEqual(['claimed', 'taken']);
      await store.putBack(id);
      expect(await store.claim(id, 'drop')).toBe('gone');
    });

    it('counts for a process of the version before, which says redrive', async () => {
      const id = await fail(deliveries, 'one');
      const failedAt = await redis.client.zscore('bull:deliveries:failed', 'one');
      await redis.client.hset('bull:deliveries:one', 'claim', `redrive ${failedAt}`);
      expect([await store.claim(id, 'drop'), await store.claim(id, 'retry')]).toEqual(['taken', 'claimed']);
    });

    it('lets go on who broke off', async () => {
      const id = await fail(deliveries, 'one');
      for (let i = 0; i < 2; i += 1) expect(await store.claim(id, 'drop')).toBe('claimed');
      expect(await store.find(id)).toMatchObject({ id });
    });

    it('is void once the job has failed again', async () => {
      const id = await fail(deliveries, 'one');
      await store.claim(id, 'retry');
      await redis.client.zincrby('bull:deliveries:failed', 1, 'one');
      expect(await store.claim(id, 'drop')).toBe('claimed');
    });

    it('gives nobody a job that is back on its queue', async () => {
      const id = await fail(deliveries, 'one');
      await store.putBack(id);
      expect(await store.claim(id, 'drop')).toBe('gone');
    });
  });

  describe('remove', () => {
    it('forgets all of an invalid event', async () => {
      const id = await reject('17');
      expect(await store.remove(id)).toBe(true);
      expect(await store.remove(id)).toBe(false);
      expect(await redis.client.exists(queueKeys.rejectedJobs, `bull:${id.replace('.', ':')}`)).toBe(0);
    });

    it('frees the id of a job that failed for good', async () => {
      const id = await fail(deliveries, 'one');
      expect(await store.remove(id)).toBe(true);
      expect(await store.remove(id)).toBe(false);
      await deliveries.add('d', {}, { jobId: 'one' });
      expect(await deliveries.getWaitingCount()).toBe(1);
    });

    it('leaves a job alone that waits for its turn', async () => {
      await deliveries.add('d', {}, { jobId: 'one' });
      expect(await store.remove(deadLetterIdOf('deliveries', 'one'))).toBe(false);
      expect(await deliveries.getWaitingCount()).toBe(1);
    });
  });
});
