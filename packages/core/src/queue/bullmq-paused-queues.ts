import type { Queue } from 'bullmq';
import { DELIVERIES_QUEUE, EVENTS_QUEUE, type QueueShards } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { openQueue } from './bullmq-on-demand-queue';

/** The queues that an operator may pause. */
export const pausableQueues = [EVENTS_QUEUE, DELIVERIES_QUEUE] as const;
export type PausableQueue = (typeof pausableQueues)[number];

/**
 * Pauses queues: no worker takes another job from one, until it is resumed. Attempts that run are finished,
 * and events are accepted all the time. A queue is paused in all of its shards; should one of them fail, the
 * same command again completes it.
 */
export class PausedQueues {
  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<QueueShards, 'all'>,
  ) {}

  /** @throws Error of Redis when it can't be reached. */
  async pause(name: PausableQueue): Promise<void> {
    await this.#inEach(name, async (queue) => await queue.pause());
  }

  /** @throws Error of Redis when it can't be reached. */
  async resume(name: PausableQueue): Promise<void> {
    await this.#inEach(name, async (queue) => await queue.resume());
  }

  async #inEach(name: PausableQueue, work: (queue: Queue) => Promise<void>): Promise<void> {
    await Promise.all(
      this.shards.all().map(async ({ prefix }) => {
        const queue = openQueue(name, { redis: this.redis, prefix });
        try {
          await work(queue);
        } finally {
          await queue.close();
        }
      }),
    );
  }
}
