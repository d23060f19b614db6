import { type Atomic, atomicOneByOne } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';

/** An `atomic` that runs steps by a function of a test's own, and has no results beside an error. */
export function buildAtomic(
  run: (steps: readonly Step[], patienceMs?: number) => Promise<readonly unknown[]>,
): Atomic {
  const atomic = async (steps: readonly Step[], patienceMs?: number) =>
    (await run(steps, patienceMs)) as never;
  return Object.assign(atomic, {
    async tried(steps: readonly Step[], patienceMs?: number): Promise<never> {
      try {
        return { results: await run(steps, patienceMs), error: undefined } as never;
      } catch (error) {
        return { results: [], error } as never;
      }
    },
  });
}

/**
 * Each step by itself, as in a Cluster, with something between them.
 *
 * @param goesOn whether the next one runs, beside what a guard says.
 */
export function atomicStepByStep(
  redis: RedisClient,
  before: () => Promise<unknown>,
  goesOn: () => boolean = () => true,
): Atomic {
  const runOne = atomicOneByOne(redis);
  return buildAtomic(async (steps) => {
    const results: unknown[] = [];
    for (const step of steps) {
      await before();
      // The second one is left out when the first is a guard that stops.
      const ran = await runOne([step, async () => {}]);
      results.push(ran[0]);
      if (ran.length < 2 || !goesOn()) break;
    }
    return results;
  });
}
