import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connect';
import type { Guard } from './redis-lua';
import { ScriptTurn, ScriptUnit, type Step } from './redis-script';

/**
 * Run steps one after the other: no step takes effect unless all before it have, whenever and however it breaks off.
 *
 * Gives what each step gives. Those behind a guard that stops are left out: `undefined`.
 *
 * @param patienceMs how long steps that are not urgent may wait, so that they go to Redis together with others. What waits goes
 *   at once when steps without patience are run, even if there are none. Default: 0.
 * @throws the error of the first step that fails.
 */
export interface Atomic {
  <const Steps extends readonly Step[]>(steps: Steps, patienceMs?: number): Promise<Results<Steps>>;

  /** Whether all steps run as one script, as on one server. */
  readonly isOneScript: boolean;

  /**
   * For steps whose failure does not undo what the ones before it did: gives those results beside the error.
   */
  tried<const Steps extends readonly Step[]>(steps: Steps, patienceMs?: number): Promise<Tried<Steps>>;
}

export interface Tried<Steps extends readonly Step[]> {
  readonly results: Results<Steps, true>;
  /** Of the first step that failed; `undefined`: none. */
  readonly error: unknown;
}

/** What steps give. What follows a guard may be left out. */
export type Results<
  Steps extends readonly Step[],
  MayBeLeftOut extends boolean = false,
> = Steps extends readonly [infer First extends Step, ...infer Rest extends readonly Step[]]
  ? [
      ReplyOf<First> | (MayBeLeftOut extends true ? undefined : never),
      ...Results<Rest, First extends Guard ? true : MayBeLeftOut>,
    ]
  : Steps extends readonly []
    ? []
    : (ReplyOf<Steps[number]> | undefined)[];

type ReplyOf<Each> = Each extends Step<infer Reply> ? Reply : never;

/**
 * One server runs all steps as one script: nothing comes between them, neither a crash nor a lack of memory. The steps of all
 * callers of one turn of the event loop go there as one command. In a Cluster, where each node has its own keys, each step
 * waits for those before.
 */
export function createAtomic(redis: RedisClient): Atomic {
  return redis instanceof Cluster ? atomicOneByOne(redis) : atomicAsOne(redis);
}

export function atomicAsOne(redis: RedisClient): Atomic {
  const turn = new ScriptTurn(redis);
  return atomicBy(true, async (steps, patienceMs) => {
    const unit = new ScriptUnit();
    const begun = steps.map((step) => {
      const reply = step(unit);
      // It is awaited below, maybe after it has failed.
      reply.catch(() => {});
      return { reply, callsSoFar: unit.calls.length };
    });
    const settled = await turn.send(unit, patienceMs);
    const results: unknown[] = [];
    for (const { reply, callsSoFar } of begun) {
      if (callsSoFar > settled) break;
      try {
        results.push(await reply);
      } catch (error) {
        return { results, error };
      }
    }
    return { results, error: undefined };
  });
}

export function atomicOneByOne(redis: RedisClient): Atomic {
  return atomicBy(false, async (steps) => {
    const results: unknown[] = [];
    for (const step of steps) {
      const unit = new ScriptUnit();
      const reply = step(unit);
      reply.catch(() => {});
      const goesOn = await unit.runEach(redis);
      try {
        results.push(await reply);
      } catch (error) {
        return { results, error };
      }
      if (!goesOn) break;
    }
    return { results, error: undefined };
  });
}

type Try = (
  steps: readonly Step[],
  patienceMs: number,
) => Promise<{ readonly results: readonly unknown[]; readonly error: unknown }>;

// The types say for whom it is called what the list of results has.
function atomicBy(isOneScript: boolean, tryAll: Try): Atomic {
  async function atomic(steps: readonly Step[], patienceMs = 0): Promise<never> {
    const { results, error } = await tryAll(steps, patienceMs);
    if (error !== undefined) throw error;
    return results as never;
  }
  return Object.assign(atomic, {
    isOneScript,
    tried: (steps: readonly Step[], patienceMs = 0) => tryAll(steps, patienceMs) as Promise<never>,
  });
}

/** A step whose reply is made into something else. */
export function mapReply<From, To>(step: Guard<From>, to: (reply: From) => To): Guard<To>;
export function mapReply<From, To>(step: Step<From>, to: (reply: From) => To): Step<To>;
export function mapReply<From, To>(step: Step<From>, to: (reply: From) => To): Step<To> {
  return async (target) => to(await step(target));
}

/** Several steps as one: they know nothing of each other, and in a Cluster they run at the same time. */
export function together<Reply>(steps: readonly Guard<Reply>[]): Guard<readonly Reply[]>;
export function together<Reply>(steps: readonly Step<Reply>[]): Step<readonly Reply[]>;
export function together<Reply>(steps: readonly Step<Reply>[]): Step<readonly Reply[]> {
  return (target) => Promise.all(steps.map((step) => step(target)));
}
