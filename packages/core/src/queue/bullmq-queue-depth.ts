import type { Queue } from 'bullmq';
import { DEAD_LETTERS_QUEUE, type WorkedQueue, workedQueues } from '../model/queue-names';
import { createJobKeys } from './bullmq-layout';
import { openQueue, type QueueConnection } from './bullmq-open-queue';

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
