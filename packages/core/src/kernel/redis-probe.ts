import { setTimeout as wait } from 'node:timers/promises';
import { CLUSTER_QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connect';
import { answerWithin } from './within';

// Below the second that Kubernetes gives a probe unless it is told otherwise.
const PATIENCE_MS = 800;
const ASK_AGAIN_MS = 100;

/**
 * Whether Redis answers within 0.8 s: in a Cluster each of its masters, since what is accepted or delivered may need any of
 * them. Never rejects, and never waits longer.
 */
export function createRedisProbe(redis: RedisClient): () => Promise<boolean> {
  return async () => {
    const masters = redis instanceof Cluster ? redis.nodes('master') : [];
    // Which masters there are is what it knew last: whether it finds the one of a key, this one tells.
    const asked = [redis.exists(CLUSTER_QUEUE_PREFIX), ...masters.map((master) => master.ping())];
    return (await answerWithin(PATIENCE_MS, Promise.all<unknown>(asked))) !== undefined;
  };
}

/** Resolves once Redis answers, however long that takes. */
export async function untilRedisAnswers(isAnswering: () => Promise<boolean>): Promise<void> {
  while (!(await isAnswering())) await wait(ASK_AGAIN_MS);
}
