import type { Redis } from 'ioredis';

/** Where the events of a benchmark go: one event makes one delivery. */
export interface Producer {
  /** Resolves once Redis has the event. `event` is found again in what is delivered. */
  publish(endpoint: number, event: number): Promise<void>;
  close(): Promise<void>;
}

/** A worker that is measured: its program, and how events get to it. */
export interface Contender {
  readonly name: string;
  readonly script: string;
  /** Registers an endpoint for each URL. */
  prepare(redis: Redis, urls: readonly string[]): Promise<Producer>;
}

export const EVENT_TYPE = 'keyword.quick_win';

export function dataOf(event: number) {
  return { keyword: `event ${event}`, position: 3, volume: 2400 };
}
