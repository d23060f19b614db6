import { connectRedis } from '@hookferry/core/platform/redis-connect';
import { recordSignals, type SignalRecord } from '@hookferry/core/testing/record-signals';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import type { ConsumerOptions } from '../consumers/bullmq-open-worker';
import { SharedCapacity } from '../consumers/bullmq-worker';

export interface TestQueues extends TestRedis {
  /** For a consumer of their jobs, one at a time, over a connection of its own: while there are none, it blocks. */
  readonly options: ConsumerOptions;
  /** What that announces. */
  readonly signals: SignalRecord;
}

/** Queues of a test's own, in an empty database. */
export async function openTestQueues(): Promise<TestQueues> {
  const database = await openTestRedis();
  const signals = recordSignals();
  const emit = signals.listen;
  const redis = connectRedis({ url: database.url, role: 'working', name: 'test-queue', emit });
  return {
    ...database,
    options: {
      redis,
      prefix: 'bull',
      capacity: new SharedCapacity(1),
      lockDurationMs: 30_000,
      stalledCheckMs: 30_000,
      emit,
    },
    signals,
    async close() {
      redis.disconnect();
      await database.close();
    },
  };
}
