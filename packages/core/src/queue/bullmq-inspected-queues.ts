import type { Queue } from 'bullmq';
import {
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  EVENTS_QUEUE,
  type QueueShard,
  type QueueShards,
  workedQueues,
} from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { openQueue } from './bullmq-on-demand-queue';
import { PerShard } from './per-shard';

export interface InspectedQueue {
  readonly shard: QueueShard;
  readonly isFirstShard: boolean;
  readonly queue: Queue;
}

const IN_FIRST = [...workedQueues, DEAD_LETTERS_QUEUE];
const IN_OTHERS = [EVENTS_QUEUE, DELIVERIES_QUEUE];

/** All queues, for operators: those of the first shard, and the split ones of the others. */
export class InspectedQueues {
  readonly #queues: PerShard<readonly Queue[]>;

  constructor(
    redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#queues = new PerShard((prefix) => {
      const names = this.#isFirst({ prefix }) ? IN_FIRST : IN_OTHERS;
      return names.map((name) => openQueue(name, { redis, prefix }));
    });
  }

  /** The queues that exist at this moment. */
  list(): readonly InspectedQueue[] {
    return this.shards.all().flatMap((shard) => {
      const isFirstShard = this.#isFirst(shard);
      return this.#queues.in(shard).map((queue) => ({ shard, isFirstShard, queue }));
    });
  }

  #isFirst({ prefix }: QueueShard): boolean {
    return prefix === this.shards.first.prefix;
  }
}
