import { Queue } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import type { RedisDeployment } from './redis/redis-deployment';

// A replay that is at work owes what nothing else is waiting for.
const QUEUES = ['events', 'deliveries', 'events-dead-letters', 'replays'] as const;
const STATES = ['wait', 'active', 'delayed', 'prioritized', 'failed'] as const;

/** How many jobs there are, of each queue and state that has any. */
export type QueueDepths = Readonly<Record<string, number>>;

/** Looks into the queues from outside, with BullMQ alone. */
export class QueueObserver {
  readonly #connection: Redis | Cluster;
  readonly #queues: readonly Queue[];

  constructor({ connect, prefix }: RedisDeployment) {
    this.#connection = connect({ maxRetriesPerRequest: null });
    this.#connection.on('error', () => {});
    this.#queues = QUEUES.map((name) => new Queue(name, { connection: this.#connection, prefix }));
    // Redis is away now and then: that is what this is about, and BullMQ need not tell it.
    for (const queue of this.#queues) queue.on('error', () => {});
  }

  async read(): Promise<QueueDepths> {
    const depths: Record<string, number> = {};
    for (const queue of this.#queues) {
      const counts = await queue.getJobCounts(...STATES);
      for (const [state, count] of Object.entries(counts)) {
        if (count > 0) depths[`${queue.name}.${state}`] = count;
      }
    }
    return depths;
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.close().catch(() => {})));
    this.#connection.disconnect();
  }
}
