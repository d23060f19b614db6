import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { positiveDurationSchema } from '../platform/duration';
import type { TransformLimits, WaitingLimits } from './transform-pool';

/** Of the code that webhooks have: for the API, which tries it, and the worker, which runs it for each delivery. */
export const transformSettings = {
  TRANSFORM_TIMEOUT: positiveDurationSchema
    .prefault('50ms')
    .describe("how long the code of a webhook's transformation may run for one event, in processor time"),
  TRANSFORM_MEMORY_MB: z.coerce
    .number()
    .int()
    .min(1)
    .max(512)
    .default(16)
    .describe('how much memory that code may use'),
  TRANSFORM_THREADS: z.coerce
    .number()
    .int()
    .min(1)
    .max(64)
    .optional()
    .describe(
      'how many run at the same time, each in a thread; unless set, half of the processors, at least two',
    ),
};

// One is for accounts whose code takes no time.
const LEAST_THREADS = 2;

/** Of a body that code makes, in characters: as long as an event may be by default. */
const MAX_TRANSFORMED = 256 * 1024;

export type TransformConfig = z.infer<z.ZodObject<typeof transformSettings>>;

export function transformLimitsOf(config: TransformConfig, waiting: WaitingLimits): TransformLimits {
  const { TRANSFORM_THREADS: threads = Math.max(Math.floor(availableParallelism() / 2), LEAST_THREADS) } =
    config;
  return {
    timeoutMs: config.TRANSFORM_TIMEOUT,
    memoryBytes: config.TRANSFORM_MEMORY_MB * 1024 * 1024,
    maxOutput: MAX_TRANSFORMED,
    threads,
    ...waiting,
  };
}
