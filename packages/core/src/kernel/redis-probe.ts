import { setTimeout as wait } from 'node:timers/promises';
import { CLUSTER_QUEUE_PREFIX } from '@hookferry/producer/contract';
import type { RedisClient } from './redis-connect';
import { answerWithin } from './within';

// Below the second that Kubernetes gives a probe unless it is told otherwise.
const PATIENCE_MS = 800;
const ASK_AGAIN_MS = 100;

/**
 * Whether Redis answers within 0.8 s: in a Cluster the node that has the queues, without which nothing can be taken in or
 * delivered. Never rejects, and never waits longer.
 */
export function createRedisProbe(redis: RedisClient): () => Promise<boolean> {
  return async () => (await answerWithin(PATIENCE_MS, redis.exists(CLUSTER_QUEUE_PREFIX))) !== undefined;
}

/** Resolves once Redis answers, however long that takes. */
export async function untilRedisAnswers(isAnswering: () => Promise<boolean>): Promise<void> {
  while (!(await isAnswering())) await wait(ASK_AGAIN_MS);
}
