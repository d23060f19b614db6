import type { RedisClient } from '../kernel/redis-connect';
import type { QueueShard, QueueShards } from '../model/queue-layout';
import type { WorkedQueue } from '../model/queue-names';
import { BullmqQueueDepth, type QueueDepth } from './bullmq-queue-depth';
import { PerShard } from './per-shard';

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
