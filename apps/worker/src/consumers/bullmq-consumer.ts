import type { Processor } from 'bullmq';
import { type ConsumerOptions, openWorker } from './bullmq-open-worker';

/** Takes jobs off a queue once it is started. */
export interface Consumer {
  start(): void;
  /** Counts up whenever a job is begun, or comes to its end. */
  steps(): number;
  stop(): Promise<void>;
}

/** For jobs that are short: when told to stop it takes no more of them, and has stopped when those under way are done. */
export function createConsumer<Data>(
  queue: string,
  process: Processor<Data>,
  options: ConsumerOptions,
): Consumer {
  const worker = openWorker<Data>(queue, process, options);
  return {
    start: () => void worker.run(),
    steps: () => worker.steps,
    stop: () => worker.close(),
  };
}
