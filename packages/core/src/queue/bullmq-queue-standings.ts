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
import { parsedOrUndefined } from '../platform/json';
import { type RedisClient, throwStorageErrors } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { createJobKeys, jobFields, PRIORITY_SCORE } from './bullmq-layout';
import { openQueue } from './bullmq-on-demand-queue';
import { accountOfJob } from './bullmq-rejected-events';
import { PerShard } from './per-shard';

/** How many jobs a queue has in one shard. */
export interface QueueStanding {
  readonly name: WorkedQueue;
  /** From 0. */
  readonly shard: number;
  readonly waiting: number;
  readonly active: number;
  /** Deliveries that wait for their next attempt, and those that are held. */
  readonly delayed: number;
  /** Dead letters. */
  readonly failed: number;
  readonly oldestWaitedMs: number;
}

export interface AccountWaiting {
  readonly accountId: AccountId;
  /** Of so many deliveries that they can't all be looked at, an estimate. */
  readonly waiting: number;
}

export const jobStates = ['wait', 'active', 'delayed', 'failed'] as const;
export type JobState = (typeof jobStates)[number];

export interface QueueDepth {
  readonly queue: string;
  readonly state: JobState;
  readonly jobs: number;
}

/** How long the oldest job of a queue has waited. */
export interface OldestWaiting {
  readonly queue: WorkedQueue;
  /** 0 if none waits. */
  readonly waitedMs: number;
}

const QUEUES = [...workedQueues, DEAD_LETTERS_QUEUE];

// Enough to find those with a tenth of all, and to say their share to within a few hundredths.
export const LOOKED_AT = 1_000;

/** How the queues stand: by counters and by looking at so many jobs at most, however many there are. */
export class QueueStandings {
  readonly #queues: PerShard<readonly Queue[]>;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<QueueShards, 'all'>,
  ) {
    this.#queues = new PerShard((prefix) => QUEUES.map((name) => openQueue(name, { redis, prefix })));
  }

  /** Of each shard every queue that workers take from; and how many dead letters there are. */
  async read(
    now: number,
  ): Promise<{ readonly queues: readonly QueueStanding[]; readonly deadLetters: number }> {
    const [depths, oldest] = await Promise.all([this.#depths(), this.#oldest(now)]);
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
    const samples = await Promise.all(this.shards.all().map((shard) => this.#sampleIn(shard)));
    const waiting = new Map<AccountId, number>();
    for (const sample of samples) {
      // For how many each that was looked at stands.
      const weight = sample.waiting / Math.max(sample.accounts.length, 1);
      for (const account of sample.accounts) {
        if (account !== undefined) waiting.set(account, (waiting.get(account) ?? 0) + weight);
      }
    }
    return [...waiting]
      .map(([accountId, count]) => ({ accountId, waiting: Math.round(count) }))
      .toSorted((a, b) => b.waiting - a.waiting)
      .slice(0, most);
  }

  /** How many jobs each queue has, by state, in all shards together. */
  async readDepths(): Promise<readonly QueueDepth[]> {
    const [first = [], ...others] = await this.#depths();
    // Each tells of the same queues and states, in the same order.
    return first.map((depth, i) => ({
      ...depth,
      jobs: others.reduce((sum, more) => sum + (more[i]?.jobs ?? 0), depth.jobs),
    }));
  }

  /** How long the oldest job of each queue has waited, in whichever shard. @param now milliseconds since the Unix epoch. */
  async readOldestWaiting(now: number): Promise<readonly OldestWaiting[]> {
    const [first = [], ...others] = await this.#oldest(now);
    // Each tells of the same queues, in the same order.
    return first.map(({ queue, waitedMs }, i) => {
      return { queue, waitedMs: Math.max(waitedMs, ...others.map((more) => more[i]?.waitedMs ?? 0)) };
    });
  }

  /** Whether a queue has jobs in a shard that workers may take now: none while it is paused. One command where there are none. */
  async hasWaiting(name: WorkedQueue, { prefix }: QueueShard): Promise<boolean> {
    const { wait, prioritized, meta } = createJobKeys(prefix, name);
    if ((await this.redis.exists(wait, prioritized)) === 0) return false;
    return (await this.redis.hexists(meta, 'paused')) === 0;
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.made().flatMap((queues) => queues.map((queue) => queue.close())));
  }

  /** Of each shard. Each number is one counter in Redis: nothing is scanned. */
  async #depths(): Promise<readonly (readonly QueueDepth[])[]> {
    const shards = this.#queues.inEach(this.shards.all());
    return await Promise.all(shards.map(async (queues) => (await Promise.all(queues.map(depthsOf))).flat()));
  }

  /** Of each shard. */
  async #oldest(now: number): Promise<readonly (readonly OldestWaiting[])[]> {
    return await Promise.all(
      this.shards
        .all()
        .map((shard) => Promise.all(workedQueues.map((queue) => this.#oldestIn(shard, queue, now)))),
    );
  }

  async #oldestIn({ prefix }: QueueShard, queue: WorkedQueue, now: number): Promise<OldestWaiting> {
    const { base, wait, prioritized } = createJobKeys(prefix, queue);
    const reply = await OLDEST(this.redis, [wait, prioritized], [base, OLDEST_LOOKED_AT]);
    const times = sinceSchema.parse(reply).filter((time) => time !== undefined);
    return { queue, waitedMs: now - Math.min(...times, now) };
  }

  // There is no count of each account's: of those that wait in the fair order, all or so many by chance are looked at.
  async #sampleIn({ prefix }: QueueShard) {
    const { base, prioritized } = createJobKeys(prefix, DELIVERIES_QUEUE);
    const [waiting, data] = sampleSchema.parse(await SAMPLE(this.redis, [prioritized], [base, LOOKED_AT]));
    return { waiting, accounts: data.map((text) => accountOfJob(parsedOrUndefined(text))) };
  }
}

throwStorageErrors(QueueStandings);

function countsOf(name: string, depths: readonly QueueDepth[]) {
  const jobsIn = (state: JobState) =>
    depths.find((depth) => depth.queue === name && depth.state === state)?.jobs ?? 0;
  return {
    waiting: jobsIn('wait'),
    active: jobsIn('active'),
    delayed: jobsIn('delayed'),
    failed: jobsIn('failed'),
  };
}

async function depthsOf(queue: Queue): Promise<readonly QueueDepth[]> {
  const counts = await queue.getJobCounts(...jobStates, 'prioritized');
  // Those that wait do so in the fair order, or as they came.
  const waiting = (counts.wait ?? 0) + (counts.prioritized ?? 0);
  return jobStates.map((state) => ({
    queue: queue.name,
    state,
    jobs: state === 'wait' ? waiting : (counts[state] ?? 0),
  }));
}

// KEYS: prioritized. ARGV: what the keys of jobs begin with, how many. Gives how many wait, and the data of some.
const SAMPLE = defineScript(`
  local data = {}
  for _, job in ipairs(redis.call('ZRANDMEMBER', KEYS[1], ARGV[2])) do
    table.insert(data, redis.call('HGET', ARGV[1] .. job, '${jobFields.data}') or '')
  end
  return {redis.call('ZCARD', KEYS[1]), data}`);

const sampleSchema = z.tuple([z.number(), z.array(z.string())]);

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
