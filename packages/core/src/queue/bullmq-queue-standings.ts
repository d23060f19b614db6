import type { Queue } from 'bullmq';
import { z } from 'zod';
import type { AccountId } from '../domain/account';
import {
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  type QueueShard,
  type QueueShards,
  type WorkedQueue,
  workedQueues,
} from '../domain/queues';
import type { AccountWaiting, QueueStanding } from '../operations/read-operations';
import { parsedOrUndefined } from '../platform/json';
import { type RedisClient, withStorageErrors } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { accountOfJob } from './bullmq-dead-letters';
import { createJobKeys, jobFields, PRIORITY_SCORE } from './bullmq-layout';
import { openQueue, type QueueConnection } from './bullmq-on-demand-queue';
import { PerShard } from './shards-in-force';

/** How the queues stand, for operators: by counters and by looking at so many jobs at most, however many there are. */
export class ShardedStandings {
  readonly #depth: ShardedQueueDepth;
  readonly #oldest: ReturnType<typeof createShardedOldestWaiting>;
  readonly #samples: PerShard<ReturnType<typeof createBullmqWaitingSample>>;

  constructor(
    redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#depth = new ShardedQueueDepth(redis, shards);
    this.#oldest = createShardedOldestWaiting(redis, shards);
    this.#samples = new PerShard(redis, createBullmqWaitingSample);
  }

  /** Of each shard every queue that workers take from; and how many dead letters there are. */
  async read(
    now: number,
  ): Promise<{ readonly queues: readonly QueueStanding[]; readonly deadLetters: number }> {
    const [depths, oldest] = await Promise.all([this.#depth.readEach(), this.#oldest.readEach(now)]);
    const queues = depths.flatMap((jobs, shard) =>
      workedQueues.map((name): QueueStanding => {
        const waited = oldest[shard]?.find(({ queue }) => queue === name);
        return { ...countsOf(name, jobs), name, shard, oldestWaitedMs: waited?.waitedMs ?? 0 };
      }),
    );
    const aside = depths.map((jobs) => countsOf(DEAD_LETTERS_QUEUE, jobs).waiting);
    const failed = queues.map((queue) => queue.failed);
    return { queues, deadLetters: [...aside, ...failed].reduce((sum, count) => sum + count, 0) };
  }

  /** The accounts with the most deliveries waiting, as far as some of those tell: exactly where few wait. */
  async busiestAccounts(most: number): Promise<readonly AccountWaiting[]> {
    const samples = await Promise.all(this.#samples.inEach(this.shards.all()).map((sample) => sample.read()));
    const waiting = new Map<AccountId, number>();
    for (const sample of samples) {
      for (const [account, count] of sample.byAccount) {
        waiting.set(account, (waiting.get(account) ?? 0) + count * weightOf(sample));
      }
    }
    return [...waiting]
      .map(([accountId, count]) => ({ accountId, waiting: Math.round(count) }))
      .toSorted((a, b) => b.waiting - a.waiting)
      .slice(0, most);
  }

  async close(): Promise<void> {
    await this.#depth.close();
  }
}

// For how many each that was looked at stands.
function weightOf({ waiting, lookedAt }: WaitingSample): number {
  return waiting / Math.max(lookedAt, 1);
}

function countsOf(name: string, depths: readonly QueueDepth[]) {
  const jobsIn = (state: QueueDepth['state']) =>
    depths.find((depth) => depth.queue === name && depth.state === state)?.jobs ?? 0;
  return {
    waiting: jobsIn('wait'),
    active: jobsIn('active'),
    delayed: jobsIn('delayed'),
    failed: jobsIn('failed'),
  };
}

/** Whose deliveries wait, as far as some of them tell. */
export interface WaitingSample {
  /** How many wait in all. */
  readonly waiting: number;
  /** How many were looked at: all of them, or so many by chance. */
  readonly lookedAt: number;
  readonly byAccount: ReadonlyMap<AccountId, number>;
}

// Enough to find those with a tenth of all, and to say their share to within a few hundredths.
export const LOOKED_AT = 1_000;

// KEYS: prioritized. ARGV: what the keys of jobs begin with, how many. Gives how many wait, and the data of some.
const SAMPLE = defineScript(`
  local data = {}
  for _, job in ipairs(redis.call('ZRANDMEMBER', KEYS[1], ARGV[2])) do
    table.insert(data, redis.call('HGET', ARGV[1] .. job, '${jobFields.data}') or '')
  end
  return {redis.call('ZCARD', KEYS[1]), data}`);

const sampleSchema = z.tuple([z.number(), z.array(z.string())]);

/** Looks at some of the deliveries that wait in the fair order: there is no count of each account's. */
function createBullmqWaitingSample({ redis, prefix }: QueueConnection) {
  return withStorageErrors({
    async read(): Promise<WaitingSample> {
      const { base, prioritized } = createJobKeys(prefix, DELIVERIES_QUEUE);
      const [waiting, data] = sampleSchema.parse(await SAMPLE(redis, [prioritized], [base, LOOKED_AT]));
      const byAccount = new Map<AccountId, number>();
      for (const text of data) {
        const account = accountOfJob(parsedOrUndefined(text));
        if (account !== undefined) byAccount.set(account, (byAccount.get(account) ?? 0) + 1);
      }
      return { waiting, lookedAt: data.length, byAccount };
    },
  });
}

/** How long the oldest job of a queue has waited. */
export interface OldestWaiting {
  readonly queue: string;
  /** 0 if none waits. */
  readonly waitedMs: number;
}

/**
 * So many of those that are taken next are looked at. Of flows that wait each has its first one among the next few rounds, so
 * the oldest of all is among these as long as no more than some hundred flows wait; of more, it is the oldest of these.
 */
const OLDEST_LOOKED_AT = 1_000;

// A score among the prioritized counts up with each job that is put there: the lowest has waited for the longest. Those
// without a priority are taken from the right. KEYS: wait, prioritized. ARGV: what the keys of jobs begin with, how many.
const OLDEST = defineScript(`
  local first, oldest = nil, nil
  local next = redis.call('ZRANGE', KEYS[2], 0, ARGV[2] - 1, 'WITHSCORES')
  for i = 1, #next, 2 do
    local count = tonumber(next[i + 1]) % ${PRIORITY_SCORE}
    if not first or count < first then first, oldest = count, next[i] end
  end
  local since = {}
  for _, job in ipairs({redis.call('LINDEX', KEYS[1], -1) or '', oldest or ''}) do
    local times = redis.call('HMGET', ARGV[1] .. job, '${jobFields.waitingSince}', '${jobFields.timestamp}')
    table.insert(since, times[1] or times[2] or '')
  end
  return since`);

const sinceSchema = z.array(z.string().transform((text) => (text === '' ? undefined : Number(text))));

/** Reads how long the oldest job of each queue has waited, by a few commands however many wait. */
export function createBullmqOldestWaiting({ redis, prefix }: QueueConnection) {
  return withStorageErrors({
    /** @param now milliseconds since the Unix epoch. */
    async read(now: number): Promise<OldestWaiting[]> {
      return await Promise.all(
        workedQueues.map(async (queue) => {
          const { base, wait, prioritized } = createJobKeys(prefix, queue);
          const times = sinceSchema.parse(await OLDEST(redis, [wait, prioritized], [base, OLDEST_LOOKED_AT]));
          const since = Math.min(...times.filter((time) => time !== undefined), now);
          return { queue, waitedMs: now - since };
        }),
      );
    },
  });
}

/** Reads how long the oldest job of each queue has waited, in whichever shard it is. */
export function createShardedOldestWaiting(redis: RedisClient, shards: QueueShards) {
  const perShard = new PerShard(redis, createBullmqOldestWaiting);

  /** The same for each shard, in their order. */
  async function readEach(now: number): Promise<readonly (readonly OldestWaiting[])[]> {
    return await Promise.all(perShard.inEach(shards.all()).map((store) => store.read(now)));
  }

  return {
    readEach,

    async read(now: number): Promise<OldestWaiting[]> {
      const [first = [], ...others] = await readEach(now);
      // Each tells of the same queues, in the same order.
      return first.map(({ queue, waitedMs }, i): OldestWaiting => {
        return { queue, waitedMs: Math.max(waitedMs, ...others.map((more) => more[i]?.waitedMs ?? 0)) };
      });
    },
  };
}

export const jobStates = ['wait', 'active', 'delayed', 'failed'] as const;
export type JobState = (typeof jobStates)[number];

export interface QueueDepth {
  readonly queue: string;
  readonly state: JobState;
  readonly jobs: number;
}

const QUEUES = [...workedQueues, DEAD_LETTERS_QUEUE];

/** How many jobs each queue has, by state. Each number is one counter in Redis: nothing is scanned. */
export class BullmqQueueDepth {
  readonly #queues: readonly Queue[];

  readonly #connection: QueueConnection;

  constructor(connection: QueueConnection) {
    this.#connection = connection;
    this.#queues = QUEUES.map((name) => openQueue(name, connection));
  }

  async read(): Promise<QueueDepth[]> {
    const depths = await Promise.all(
      this.#queues.map(async (queue) => {
        const counts = await queue.getJobCounts(...jobStates, 'prioritized');
        // Those that wait do so in the fair order, or as they came.
        const waiting = (counts.wait ?? 0) + (counts.prioritized ?? 0);
        return jobStates.map((state) => ({
          queue: queue.name,
          state,
          jobs: state === 'wait' ? waiting : (counts[state] ?? 0),
        }));
      }),
    );
    return depths.flat();
  }

  /** Whether a queue has jobs that workers may take now: none while it is paused. One command where there are none. */
  async hasWaiting(name: WorkedQueue): Promise<boolean> {
    const { redis, prefix } = this.#connection;
    const { wait, prioritized, meta } = createJobKeys(prefix, name);
    if ((await redis.exists(wait, prioritized)) === 0) return false;
    return (await redis.hexists(meta, 'paused')) === 0;
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.close()));
  }
}

/** How many jobs each queue has, by state, in all shards together. */
export class ShardedQueueDepth {
  readonly #depths: PerShard<BullmqQueueDepth>;

  constructor(
    redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#depths = new PerShard(redis, (connection) => new BullmqQueueDepth(connection));
  }

  async read(): Promise<QueueDepth[]> {
    const [first = [], ...others] = await this.readEach();
    // Each tells of the same queues and states, in the same order.
    return first.map((depth, i) => ({
      ...depth,
      jobs: others.reduce((sum, more) => sum + (more[i]?.jobs ?? 0), depth.jobs),
    }));
  }

  /** The same for each shard, in their order. */
  async readEach(): Promise<readonly (readonly QueueDepth[])[]> {
    return await Promise.all(this.#depths.inEach(this.shards.all()).map((depth) => depth.read()));
  }

  /** Whether a queue has jobs in a shard that workers may take now. */
  async hasWaiting(name: WorkedQueue, shard: QueueShard): Promise<boolean> {
    return await this.#depths.in(shard).hasWaiting(name);
  }

  async close(): Promise<void> {
    await Promise.all(this.#depths.made().map((depth) => depth.close()));
  }
}
