import type { TransformLimits } from '../transform/transform-pool';

/** As by default, with one thread. */
export const testTransformLimits: TransformLimits = {
  timeoutMs: 200,
  memoryBytes: 16 * 1024 * 1024,
  maxOutput: 100_000,
  threads: 1,
  maxWaitingOfAccount: 50,
  maxWaiting: 100,
};
