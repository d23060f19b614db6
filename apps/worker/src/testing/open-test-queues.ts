import type { QueueShard } from '@hookferry/core/domain/queues';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { connectRedis } from '@hookferry/core/platform/redis-connect';
import { recordSignals, type SignalRecord } from '@hookferry/core/testing/record-signals';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import type { OpenWorkerParts } from '../consumers/bullmq-open-worker';

export interface TestQueues extends TestRedis {
  /** For a worker on them, over a connection of its own: while there are no jobs, it blocks. */
  readonly context: OpenWorkerParts;
  readonly shard: QueueShard;
  /** The worker's signals. */
  readonly signals: SignalRecord;
}

/** Queues for one test, in an empty database. */
export async function openTestQueues(): Promise<TestQueues> {
  const database = await openTestRedis();
  const signals = recordSignals();
  const emit = signals.listen;
  const redis = connectRedis({ url: database.url, role: 'working', name: 'test-queue', emit });
  return {
    ...database,
    context: { redis, atomic: createAtomic(redis), lockDurationMs: 30_000, emit },
    shard: { prefix: 'bull' },
    signals,
    async close() {
      redis.disconnect();
      await database.close();
    },
  };
}
