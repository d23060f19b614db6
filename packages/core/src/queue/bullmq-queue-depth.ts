import { Queue } from 'bullmq';
import type { QueueConnection } from './queue-connection';
import { DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, EVENTS_QUEUE, GATES_QUEUE } from './queue-names';

export const jobStates = ['wait', 'active', 'delayed', 'failed'] as const;
export type JobState = (typeof jobStates)[number];

export interface QueueDepth {
  readonly queue: string;
  readonly state: JobState;
  readonly jobs: number;
}

/** How many jobs each queue has, by state. Each number is one counter in Redis: nothing is scanned. */
export class BullmqQueueDepth {
  readonly #queues: readonly Queue[];

  constructor({ redis, prefix }: QueueConnection) {
    this.#queues = [EVENTS_QUEUE, DELIVERIES_QUEUE, GATES_QUEUE, DEAD_LETTERS_QUEUE].map(
      (name) => new Queue(name, { connection: redis, prefix }),
    );
    for (const queue of this.#queues) queue.on('error', () => {});
  }

  async read(): Promise<QueueDepth[]> {
    const depths = await Promise.all(
      this.#queues.map(async (queue) => {
        const counts = await queue.getJobCounts(...jobStates);
        return jobStates.map((state) => ({ queue: queue.name, state, jobs: counts[state] ?? 0 }));
      }),
    );
    return depths.flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.close()));
  }
}
