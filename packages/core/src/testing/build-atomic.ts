import { type Atomic, atomicOneByOne, type Tried } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';

type Run<Result> = (steps: readonly Step[], patienceMs?: number) => Promise<Result>;

/** An `atomic` that runs steps by a function of a test's own, and has no results beside an error. */
export function buildAtomic(run: Run<readonly unknown[]>, isOneScript = false): Atomic {
  return buildAtomicOf(async (...args) => {
    try {
      return { results: [...(await run(...args))], error: undefined };
    } catch (error) {
      return { results: [], error };
    }
  }, isOneScript);
}

/** One that has the results of the steps before an error. */
export function buildAtomicOf(run: Run<Tried<readonly Step[]>>, isOneScript = false): Atomic {
  async function atomic(...args: Parameters<typeof run>): Promise<never> {
    const { results, error } = await run(...args);
    if (error !== undefined) throw error;
    return results as never;
  }
  return Object.assign(atomic, {
    isOneScript,
    tried: run as (...args: Parameters<typeof run>) => Promise<never>,
  });
}

/** A step of a test in place of a guard. */
export function buildGuard<Reply>(step: Step<Reply>): Guard<Reply> {
  return step as Guard<Reply>;
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
  return buildAtomicOf(async (steps) => {
    const done: unknown[] = [];
    for (const step of steps) {
      await before();
      // The second one is left out when the first is a guard that stops.
      const { results, error } = await runOne.tried([step, async () => {}]);
      if (error !== undefined) return { results: done, error };
      done.push(results[0]);
      if (results.length < 2 || !goesOn()) break;
    }
    return { results: done, error: undefined };
  });
}
