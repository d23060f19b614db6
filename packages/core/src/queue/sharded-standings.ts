import type { RedisClient } from '../kernel/redis-connect';
import type { AccountWaiting, QueueStanding } from '../manage/read-operations';
import type { AccountId } from '../model/event';
import type { QueueShards } from '../model/queue-layout';
import { DEAD_LETTERS_QUEUE, workedQueues } from '../model/queue-names';
import type { QueueDepth } from './bullmq-queue-depth';
import { createBullmqWaitingSample, type WaitingSample } from './bullmq-waiting-sample';
import { PerShard } from './per-shard';
import { createShardedOldestWaiting } from './sharded-oldest-waiting';
import { ShardedQueueDepth } from './sharded-queue-depth';

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
