import type { RedisClient } from '../kernel/redis-connect';
import type { AccountJobs, QueuePlace } from '../manage/step-erasure';
import type { AccountId } from '../model/event';
import type { QueueShards } from '../model/queue-layout';
import { BullmqAccountJobs } from './bullmq-account-jobs';
import { PerShard } from './per-shard';

/**
 * Finds an account's jobs in all shards, one after the other: the first at the end, as what is no valid event gets there from
 * the others. When there are other shards meanwhile, it begins anew.
 */
export class ShardedAccountJobs implements AccountJobs {
  readonly #jobs: PerShard<BullmqAccountJobs>;

  constructor(
    redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#jobs = new PerShard(redis, (connection) => new BullmqAccountJobs(connection));
  }

  async removeSome(accountId: AccountId, place: QueuePlace): Promise<QueuePlace | undefined> {
    const searched = this.#jobs.inEach(this.shards.all().toReversed());
    const { shard = 0, of = 1, ...within } = place;
    if (of !== searched.length) return inShard({ queue: 0 }, 0, searched.length);
    const next = await searched[shard]?.removeSome(accountId, within);
    if (next) return inShard(next, shard, of);
    return shard + 1 < of ? inShard({ queue: 0 }, shard + 1, of) : undefined;
  }

  async close(): Promise<void> {
    await Promise.all(this.#jobs.made().map((jobs) => jobs.close()));
  }
}

function inShard(place: QueuePlace, shard: number, of: number): QueuePlace {
  return of === 1 ? place : { ...place, shard, of };
}
