import { Queue } from 'bullmq';
import type { AccountId } from '../domain/account';
import { queueKeysOf } from '../domain/keys';
import {
  createQueueLayout,
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  EVENTS_QUEUE,
  oneShard,
  type QueueShard,
  type QueueShards,
  REPLAYS_QUEUE,
  shardsAmong,
} from '../domain/queues';
import { AppError } from '../platform/app-error';
import { buildReplayOrder } from '../testing/build-replay';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { AccountJobs, type JobsCursor } from './bullmq-account-jobs';
import { RejectedEvents } from './bullmq-rejected-events';
import { type ErasureJob, erasureJobSchema } from './bullmq-work-queues';

describe('sharded account jobs', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const ACME = 'acme' as AccountId;
  const layout = createQueueLayout(3, 'bull');
  const [first, second] = layout.shards as [QueueShard, QueueShard, QueueShard];

  /** @param shards can be others later on. */
  async function arrange(shards: QueueShards = shardsAmong(layout, [])) {
    const { client } = willClose(await openTestRedis());
    const jobs = new AccountJobs(client, shards);
    const queueIn = ({ prefix }: QueueShard, name = EVENTS_QUEUE) =>
      willClose(new Queue(name, { connection: client, prefix }));
    return {
      client,
      queueIn,
      async addTo(shard: QueueShard, account: string) {
        await queueIn(shard).add('x.y', { account_id: account }, { delay: 60_000 });
      },
      async accountsIn(shard: QueueShard) {
        return (await queueIn(shard).getDelayed()).map(({ data }) => data.account_id);
      },
      async removeAll(meanwhile = async (_place: JobsCursor | undefined) => {}) {
        let place: JobsCursor | undefined = { queue: 0 };
        while (place) {
          // As it is kept in the erasure's job from one step to the next.
          const kept: ErasureJob = erasureJobSchema.parse(
            JSON.parse(JSON.stringify({ account_id: ACME, place })),
          );
          place = kept.place && (await jobs.removeSome(ACME, kept.place));
          await meanwhile(place);
        }
      },
    };
  }

  it("takes the account's jobs away in every shard, and nobody else's", async () => {
    const { addTo, accountsIn, removeAll } = await arrange();
    for (const shard of layout.shards) {
      for (const account of ['acme', 'other', 'acme']) await addTo(shard, account);
    }
    await removeAll();
    for (const shard of layout.shards) expect(await accountsIn(shard)).toEqual(['other']);
  });

  it('finds an event in the first shard that got there from another, as it was not valid, after that was searched', async () => {
    const { client, addTo, queueIn, removeAll } = await arrange();
    await addTo(second, 'other');
    const letters = new RejectedEvents(client, oneShard(first.prefix), () => 0);
    const rejected = { id: 'late', name: 'x.y', timestamp: 0, data: { account_id: 'acme' } };
    let isKept = false;
    await removeAll(async (place) => {
      if (isKept || place?.shard !== layout.shards.length - 1) return;
      isKept = true;
      await letters.keep(rejected, new AppError('invalid_request', 'The event is not valid.'));
    });
    expect(isKept).toBe(true);
    expect(await queueIn(first, DEAD_LETTERS_QUEUE).getWaitingCount()).toBe(0);
  });

  it('begins again when there are other shards meanwhile, and searches those too', async () => {
    let shards = oneShard('bull');
    const changing: QueueShards = {
      first,
      all: () => shards.all(),
      homeShardOf: (id) => shards.homeShardOf(id),
      homeShardsOf: (id) => shards.homeShardsOf(id),
    };
    const { addTo, accountsIn, removeAll } = await arrange(changing);
    await addTo(first, 'acme');
    await removeAll(async () => {
      if (shards.all().length > 1) return;
      shards = shardsAmong(layout, []);
      for (const shard of layout.shards) await addTo(shard, 'acme');
    });
    for (const shard of layout.shards) expect(await accountsIn(shard)).toEqual([]);
  });
});

describe('bullmq account jobs', () => {
  const queueKeys = queueKeysOf('bull');

  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const ACME = 'acme' as AccountId;

  async function arrange() {
    const { client } = willClose(await openTestRedis());
    const connection = { redis: client, prefix: 'bull' };
    return {
      client,
      connection,
      jobs: new AccountJobs(connection.redis, oneShard(connection.prefix)),
      events: willClose(new Queue(EVENTS_QUEUE, { connection: client })),
    };
  }

  /** Gives how many steps it took. Others may do something after each. */
  async function removeAll(jobs: AccountJobs, meanwhile = async () => {}): Promise<number> {
    let place: JobsCursor | undefined = { queue: 0 };
    let steps = 0;
    for (; place; steps += 1) {
      // As it is kept in the erasure's job from one step to the next.
      const kept: ErasureJob = erasureJobSchema.parse(
        JSON.parse(JSON.stringify({ account_id: ACME, place })),
      );
      place = kept.place && (await jobs.removeSome(ACME, kept.place));
      await meanwhile();
    }
    return steps;
  }

  it("takes the account's events that are put off and its dead letters away, page by page, and nobody else's", async () => {
    const { client, connection, jobs, events } = await arrange();
    const letters = new RejectedEvents(connection.redis, oneShard(connection.prefix), () => 0);
    const kept = willClose(new Queue(DEAD_LETTERS_QUEUE, { connection: client }));
    const error = new AppError('invalid_request', 'The event is not valid.');
    const accounts = ['acme', 'other'];
    for (let i = 0; i < 130; i += 1) {
      for (const account_id of accounts) {
        await events.add('x.y', { account_id }, { delay: 60_000 + i });
        await letters.keep(
          { id: `${account_id}-${i}`, name: 'x.y', timestamp: i, data: { account_id } },
          error,
        );
      }
    }
    await letters.keep({ id: 'none', name: 'x.y', timestamp: 0, data: 'no object' }, error);

    expect(await removeAll(jobs)).toBeGreaterThan(4);
    const left = [...(await events.getDelayed()), ...(await kept.getWaiting())].map(({ data }) => data);
    expect(left).toHaveLength(261);
    expect(JSON.stringify(left)).not.toContain('acme');
    expect(await client.zcard(queueKeys.rejectedJobs)).toBe(131);
  });

  it.each([
    ['that wait', {}],
    ['with a priority', { priority: 7 }],
  ])("takes the account's events %s away, which hold the whole payload", async (_name, options) => {
    const { jobs, events } = await arrange();
    for (let i = 0; i < 130; i += 1) {
      for (const account_id of ['acme', 'other']) await events.add('x.y', { account_id }, options);
    }
    await removeAll(jobs);
    const left = await events.getJobs(['wait', 'prioritized']);
    expect(left.map(({ data }) => data.account_id)).toEqual(Array(130).fill('other'));
  });

  it('takes those away that wait for a queue that is paused, also where BullMQ 5 has put them', async () => {
    const { client, jobs, events } = await arrange();
    await events.pause();
    for (const account_id of ['acme', 'other']) await events.add('x.y', { account_id });
    await client.rename('bull:events:wait', 'bull:events:paused');
    for (const account_id of ['acme', 'other']) await events.add('x.y', { account_id });
    await removeAll(jobs);
    const places = ['wait', 'paused'].map((list) => client.lrange(`bull:events:${list}`, '0', '-1'));
    const left = await Promise.all((await Promise.all(places)).flat().map((id) => events.getJob(id)));
    expect(left.map((job) => job?.data.account_id)).toEqual(['other', 'other']);
  });

  describe("while others' jobs before the place of the search go", () => {
    const idsOf = (account: string) => Array.from({ length: 150 }, (_, i) => `${account}-${i}`);

    it.each([
      ['wait', {}],
      ['prioritized', { priority: 7 }],
      ['delayed', { delay: 60_000 }],
    ] as const)('misses none among the events that are %s', async (state, options) => {
      const { jobs, events } = await arrange();
      const ids = [...idsOf('other'), ...idsOf('acme')];
      // In a list, the newest are looked at first.
      for (const jobId of state === 'wait' ? ids.reverse() : ids) {
        await events.add('x.y', { account_id: jobId.split('-')[0] }, { ...options, jobId });
      }
      const others = idsOf('other').slice(0, 90);
      await removeAll(jobs, async () => {
        await Promise.all(others.splice(0).map((id) => events.remove(id)));
      });
      const left = await events.getJobs([state]);
      expect(left.map(({ id }) => id).sort()).toEqual(idsOf('other').slice(90).sort());
    });

    it('misses none in a list when the job goes that the search had come to', async () => {
      const { jobs, events } = await arrange();
      for (const jobId of [...idsOf('other'), ...idsOf('acme')].reverse()) {
        await events.add('x.y', { account_id: jobId.split('-')[0] }, { jobId });
      }
      const others = idsOf('other').slice(0, 100);
      await removeAll(jobs, async () => {
        await Promise.all(others.splice(0).map((id) => events.remove(id)));
      });
      expect((await events.getWaiting()).map(({ id }) => id).sort()).toEqual(
        idsOf('other').slice(100).sort(),
      );
    });

    it('misses no dead letter', async () => {
      const { client, connection, jobs } = await arrange();
      let now = 0;
      const letters = new RejectedEvents(connection.redis, oneShard(connection.prefix), () => now++);
      const error = new AppError('invalid_request', 'The event is not valid.');
      for (const id of [...idsOf('other'), ...idsOf('acme')]) {
        await letters.keep({ id, name: 'x.y', timestamp: 1, data: { account_id: id.split('-')[0] } }, error);
      }
      await removeAll(jobs, async () => {
        await client.zremrangebyrank(queueKeys.rejectedJobs, 0, 49);
      });
      expect((await client.zrange(queueKeys.rejectedJobs, '0', '-1')).join()).not.toContain('acme');
    });
  });

  it.each([EVENTS_QUEUE, DELIVERIES_QUEUE, REPLAYS_QUEUE])(
    "takes the account's jobs away that failed for good: %s",
    async (name) => {
      const { client, jobs } = await arrange();
      const queue = willClose(new Queue(name, { connection: client }));
      for (const accountId of ['acme', 'other'] as AccountId[]) {
        const data = name === REPLAYS_QUEUE ? buildReplayOrder({ accountId }) : { account_id: accountId };
        await queue.add('job', data, { jobId: accountId });
        await client.lrem(`bull:${name}:wait`, 1, accountId);
        await client.zadd(`bull:${name}:failed`, 1, accountId);
      }
      await removeAll(jobs);
      expect((await queue.getFailed()).map(({ id }) => id)).toEqual(['other']);
      expect(await queue.getJob('acme')).toBeUndefined();
    },
  );
});
