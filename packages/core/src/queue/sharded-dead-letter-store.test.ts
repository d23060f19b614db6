import { Queue } from 'bullmq';
import { AppError } from '../kernel/app-error';
import { type DeadLetterId, deadLetterIdOf, type ListedDeadLetter } from '../model/dead-letter';
import { createQueueLayout, type QueueShard, shardsOf } from '../model/queue-layout';
import { DELIVERIES_QUEUE, EVENTS_QUEUE } from '../model/queue-names';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { BullmqDeadLetters } from './bullmq-dead-letters';
import { createShardedDeadLetterStore } from './sharded-dead-letter-store';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const NOW = 1_700_000_000_000;
const layout = createQueueLayout(3, 'bull');
const [first, second, third] = layout.shards as [QueueShard, QueueShard, QueueShard];

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const store = willClose(createShardedDeadLetterStore(client, shardsOf(layout), () => NOW));
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
    expect([await store.claim(id, 'redrive'), await store.claim(id, 'drop')]).toEqual(['claimed', 'taken']);
    expect(await store.claim(deadLetterIdOf(DELIVERIES_QUEUE, 'none'), 'drop')).toBe('gone');
  });
});

it('puts an invalid event back where producers push', async () => {
  const { client, store, queueIn } = await arrange();
  const rejected = willClose(new BullmqDeadLetters({ redis: client, ...first }, () => NOW));
  const job = { id: '17', name: 'x.y', timestamp: NOW - 1, data: { account_id: 'acme' } };
  await rejected.keep(job, new AppError('invalid_request', 'The event is not valid.'));
  const [letter] = (await store.list(EVENTS_QUEUE, 10)).deadLetters;
  if (!letter) throw new Error('It is not listed.');
  expect(await store.putBack(letter.id)).toBe(true);
  const waiting = await queueIn(first, EVENTS_QUEUE).getWaiting();
  expect(waiting.map(({ name, data }) => ({ name, data }))).toEqual([{ name: 'x.y', data: job.data }]);
});
