import type { Queue } from 'bullmq';
import { DEAD_LETTERS_QUEUE, workedQueues } from '../model/queue-names';
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

  constructor(connection: QueueConnection) {
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

  async close(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.close()));
  }
}
