import type { Redis } from 'ioredis';

/** What has to be loaded before a drain. */
export interface Load {
  readonly redis: Redis;
  readonly redisUrl: string;
  readonly receiverUrl: string;
  readonly deliveries: number;
}

/** A worker that is measured: its program, and how its queue is filled. */
export interface Contender {
  readonly name: string;
  readonly script: string;
  fill(load: Load): Promise<void>;
}

export const ENDPOINTS = 10;
export const EVENT_TYPE = 'keyword.quick_win';

export function sampleData(i: number) {
  return { keyword: `red shoes ${i}`, position: (i % 100) + 1, volume: 2400 };
}
