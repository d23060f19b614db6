import type { components } from '@hookferry/client';

export type Operations = components['schemas']['Operations'];

/** The state of all queues at one moment. */
export interface Reading {
  readonly attemptsPerSecond: number;
  readonly waiting: number;
  readonly oldestWaitingSeconds: number;
  readonly held: number;
}

export function readingOf({ queues, held, attempts_per_second: attemptsPerSecond }: Operations): Reading {
  return {
    attemptsPerSecond,
    waiting: queues.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestWaitingSeconds: Math.max(0, ...queues.map((queue) => queue.oldest_waiting_seconds)),
    held,
  };
}
