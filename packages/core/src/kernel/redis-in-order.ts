import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connect';

/** Each sends its commands when it is called, before it waits for anything. */
export type Step = () => Promise<unknown>;

/**
 * Takes steps one after the other: none takes effect unless all before it have, whenever it breaks off. What Redis itself
 * refuses, such as for want of memory, need not keep it from the rest.
 */
export type InOrder = (steps: readonly Step[]) => Promise<void>;

/**
 * Over one connection Redis does what it is told in that order, and a connection that breaks loses the end of it: so all
 * steps go out together, and are one round trip. In a Cluster, where each node has its own, each waits for those before.
 */
export function createInOrder(redis: RedisClient): InOrder {
  return redis instanceof Cluster ? oneByOne : together;
}

export async function together(steps: readonly Step[]): Promise<void> {
  await Promise.all(steps.map((step) => step()));
}

export async function oneByOne(steps: readonly Step[]): Promise<void> {
  for (const step of steps) await step();
}
