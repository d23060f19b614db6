import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connect';
import { ScriptBatch, type ScriptTarget } from './redis-script';

/** Calls its scripts on what it is given, before it waits for anything. */
export type Step = (target: ScriptTarget) => Promise<unknown>;

/** Takes steps one after the other: none takes effect unless all before it have, whenever and however it breaks off. */
export type InOrder = (steps: readonly Step[]) => Promise<void>;

/**
 * One server takes all steps as one script: nothing comes between them, neither a crash nor memory that runs out. In a
 * Cluster, where each node has its own keys, each step waits for those before.
 */
export function createInOrder(redis: RedisClient): InOrder {
  return redis instanceof Cluster ? oneByOne(redis) : asOne(redis);
}

export function asOne(redis: RedisClient): InOrder {
  return async function takeAsOne(steps) {
    const batch = new ScriptBatch();
    const taken = steps.map((step) => step(batch));
    await Promise.all([batch.sendTo(redis), ...taken]);
  };
}

export function oneByOne(redis: RedisClient): InOrder {
  return async function takeOneByOne(steps) {
    for (const step of steps) await step(redis);
  };
}
