import type { Queue } from 'bullmq';
import type { AccountId } from '../domain/account';
import { queueKeysOf } from '../domain/keys';
import {
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  type QueueShard,
  type QueueShards,
  type WorkedQueue,
  workedQueues,
} from '../domain/queues';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import { createJobKeys } from './bullmq-layout';
import { openQueue } from './bullmq-on-demand-queue';
import { type PausableQueue, pausableQueues } from './bullmq-paused-queues';
import { hasWaiting, isPaused, sampleWaiting, sinceWhen } from './bullmq-queue-standings.script';
import { accountOfJob } from './bullmq-rejected-events';
import { PerShard } from './per-shard';

/** The number of jobs that a queue has in one shard. */
export interface QueueState {
  readonly name: WorkedQueue;
  /** From 0. */
  readonly shard: number;
  readonly isPaused: boolean;
  readonly waiting: number;
  readonly active: number;
  /** Deliveries that wait for their next attempt, and held ones. */
  readonly delayed: number;
  /** Dead letters. */
  readonly failed: number;
  readonly oldestWaitedMs: number;
}

export interface AccountWaiting {
  readonly accountId: AccountId;
  /** An estimate when there are too many deliveries to read all. */
  readonly waiting: number;
}

export const jobStates = ['wait', 'active', 'delayed', 'failed'] as const;
export type JobState = (typeof jobStates)[number];

export interface QueueDepth {
  readonly queue: string;
  readonly state: JobState;
  readonly jobs: number;
}

/** The waiting time of a queue's oldest job. */
export interface OldestWaiting {
  readonly queue: WorkedQueue;
  /** 0 if no job waits. */
  readonly waitedMs: number;
}

export interface QueuePause {
  readonly queue: PausableQueue;
  /** In one shard at least. */
  readonly isPaused: boolean;
}

const QUEUES = [...workedQueues, DEAD_LETTERS_QUEUE];

// Enough to find accounts with a tenth of all, and to give their share to within a few hundredths.
export const LOOKED_AT = 1_000;

/** The state of the queues: by counters, and by reading a bounded number of jobs. */
export class QueueStandings {
  readonly #queues: PerShard<readonly Queue[]>;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<QueueShards, 'all'>,
  ) {
    this.#queues = new PerShard((prefix) => QUEUES.map((name) => openQueue(name, { redis, prefix })));
  }

  /** Read every worked queue of each shard, and the number of dead letters. */
  async read(now: number): Promise<{ readonly queues: readonly QueueState[]; readonly deadLetters: number }> {
    const [depths, oldest, paused] = await Promise.all([
      this.#depths(),
      this.#oldest(now),
      this.#inEach(workedQueues, (shard, name) => this.isPaused(name, shard)(this.redis)),
    ]);
    const queues = depths.flatMap((jobs, shard) =>
      workedQueues.map((name, i): QueueState => {
        const waited = oldest[shard]?.find(({ queue }) => queue === name);
        return {
          name,
          shard,
          isPaused: paused[shard]?.[i] ?? false,
          oldestWaitedMs: waited?.waitedMs ?? 0,
          ...countsOf(name, jobs),
        };
      }),
    );
    const aside = depths.map((jobs) => countsOf(DEAD_LETTERS_QUEUE, jobs).waiting);
    const failed = queues.map((queue) => queue.failed);
    return { queues, deadLetters: [...aside, ...failed].reduce((sum, count) => sum + count, 0) };
  }

  /** The accounts with the most waiting deliveries, by a sample: exact where few wait. */
  async busiestAccounts(most: number): Promise<readonly AccountWaiting[]> {
    const samples = await Promise.all(this.shards.all().map((shard) => this.#sampleIn(shard)));
    const waiting = new Map<AccountId, number>();
    for (const sample of samples) {
      // How many deliveries each sampled one stands for.
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

  /** The number of jobs in each queue, by state, over all shards. */
  async readDepths(): Promise<readonly QueueDepth[]> {
    const [first = [], ...others] = await this.#depths();
    // Each shard has the same queues and states, in the same order.
    return first.map((depth, i) => ({
      ...depth,
      jobs: others.reduce((sum, more) => sum + (more[i]?.jobs ?? 0), depth.jobs),
    }));
  }

  /**
   * The waiting time of each queue's oldest job, in any shard. @param now milliseconds since the Unix epoch.
   */
  async readOldestWaiting(now: number): Promise<readonly OldestWaiting[]> {
    const [first = [], ...others] = await this.#oldest(now);
    // Each shard has the same queues, in the same order.
    return first.map(({ queue, waitedMs }, i) => {
      return { queue, waitedMs: Math.max(waitedMs, ...others.map((more) => more[i]?.waitedMs ?? 0)) };
    });
  }

  /** Whether a queue has jobs in a shard that workers may take now. None count while it is paused. */
  hasWaiting(name: WorkedQueue, { prefix }: QueueShard): Step<boolean> {
    return hasWaiting({ jobs: createJobKeys(prefix, name) });
  }

  /** Whether a queue is paused in a shard. */
  isPaused(name: WorkedQueue, { prefix }: QueueShard): Step<boolean> {
    return isPaused({ jobs: createJobKeys(prefix, name) });
  }

  /** @param ask absent: at once. It may ask together with others. */
  async readPaused(
    ask = async (step: Step<boolean>): Promise<boolean> => await step(this.redis),
  ): Promise<readonly QueuePause[]> {
    const paused = await this.#inEach(pausableQueues, (shard, name) => ask(this.isPaused(name, shard)));
    return pausableQueues.map((queue, i) => ({ queue, isPaused: paused.some((ofShard) => ofShard[i]) }));
  }

  /** Of each shard. Each number is one counter in Redis: nothing is scanned. */
  async #depths(): Promise<readonly (readonly QueueDepth[])[]> {
    return await Promise.all(
      this.shards.all().map(async (shard) => {
        const depths = await Promise.all(this.#queues.in(shard).map(depthsOf));
        const { behindHeads, behindInBatches } = queueKeysOf(shard.prefix);
        const [inOrder, inBatches] = await this.redis.mget(behindHeads, behindInBatches);
        return withLanes(depths.flat(), { delayed: Number(inOrder ?? 0), wait: Number(inBatches ?? 0) });
      }),
    );
  }

  /** Of each shard. */
  async #oldest(now: number): Promise<readonly (readonly OldestWaiting[])[]> {
    return await this.#inEach(workedQueues, (shard, queue) => this.#oldestIn(shard, queue, now));
  }

  /** Of each shard, what each of the queues gives there. */
  async #inEach<Name extends WorkedQueue, Read>(
    names: readonly Name[],
    read: (shard: QueueShard, name: Name) => Promise<Read>,
  ): Promise<readonly (readonly Read[])[]> {
    return await Promise.all(
      this.shards.all().map((shard) => Promise.all(names.map((name) => read(shard, name)))),
    );
  }

  async #oldestIn({ prefix }: QueueShard, queue: WorkedQueue, now: number): Promise<OldestWaiting> {
    const jobs = createJobKeys(prefix, queue);
    const since = await sinceWhen({ jobs, base: jobs.base, most: OLDEST_LOOKED_AT })(this.redis);
    const times = since.map(Number);
    return { queue, waitedMs: now - Math.min(...times, now) };
  }

  // No count by account exists. Of the deliveries that wait in the fair order, all or a random sample are
  // read.
  async #sampleIn({ prefix }: QueueShard) {
    const jobs = createJobKeys(prefix, DELIVERIES_QUEUE);
    const sample = sampleWaiting({ jobs, base: jobs.base, most: LOOKED_AT });
    const { waiting, data } = await sample(this.redis);
    return { waiting, accounts: data.map((text) => accountOfJob(parsedOrUndefined(text))) };
  }
}

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

/**
 * Deliveries behind the first one of a lane have no job. In an order they are held until that one ends, and more workers would not
 * help. Others wait for a worker that takes some of them together.
 */
function withLanes(
  depths: readonly QueueDepth[],
  behind: Readonly<Partial<Record<JobState, number>>>,
): readonly QueueDepth[] {
  return depths.map((depth) =>
    depth.queue === DELIVERIES_QUEUE ? { ...depth, jobs: depth.jobs + (behind[depth.state] ?? 0) } : depth,
  );
}

async function depthsOf(queue: Queue): Promise<readonly QueueDepth[]> {
  const counts = await queue.getJobCounts(...jobStates, 'prioritized');
  // Waiting jobs are in the fair order, or in the order of their arrival.
  const waiting = (counts.wait ?? 0) + (counts.prioritized ?? 0);
  return jobStates.map((state) => ({
    queue: queue.name,
    state,
    jobs: state === 'wait' ? waiting : (counts[state] ?? 0),
  }));
}

/**
 * How many of the next jobs are read. The first job of each waiting flow is among the next few rounds, so the
 * oldest of all is among these as long as at most some hundred flows wait. With more flows, the result is the
 * oldest of these.
 */
const OLDEST_LOOKED_AT = 1_000;
