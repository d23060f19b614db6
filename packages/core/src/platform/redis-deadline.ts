import { ReplyError } from 'ioredis';
import { steadyClock } from './clock';

/**
 * How long after a script was called Redis may still run it, by Redis' own clock, for callers that wait for the reply. They
 * are told after two seconds that Redis does not answer. After that a script is of no use to them, and may undo what others
 * have done since: ioredis sends it again once the connection is back, however long the process has stood still.
 */
export const RUN_WITHIN_MS = 10_000;

// Clocks drift apart by milliseconds in this time. A process that runs no scripts asks nothing.
const ASK_AGAIN_MS = 10_000;

/** The first word of the error of a script that came too late: `redis-run.lua` has it too. Nothing of it has run. */
export const LATE = 'LATE';

export function isLate(error: unknown): boolean {
  return error instanceof ReplyError && (error as Error).message.startsWith(`${LATE} `);
}

interface TimeSource {
  time(): Promise<readonly (number | string)[]>;
  on(event: 'close', listener: () => void): unknown;
}

/**
 * The deadlines of a connection's scripts. What Redis said last, plus the time since then, is never later than Redis' clock:
 * the reply took some time, and a machine that stood still has counted too little. So a deadline may come too early, never
 * too late.
 */
class Deadlines {
  #known: { readonly redisMs: number; readonly atMs: number } | undefined;
  #asking: Promise<number> | undefined;

  constructor(private readonly redis: TimeSource) {
    // The next connection may lead to another server.
    redis.on('close', () => this.forget());
  }

  /** The deadline of a script that is called now. Only the first one after a connection was made has to be waited for. */
  next(): string | Promise<string> {
    if (this.#known === undefined) return this.#ask().then(deadlineAt);
    const sinceMs = steadyClock() - this.#known.atMs;
    // It goes together with the script. Without its reply, the connection tells what is the matter.
    if (sinceMs > ASK_AGAIN_MS) this.#ask().catch(() => {});
    return deadlineAt(this.#known.redisMs + sinceMs);
  }

  forget(): void {
    this.#known = undefined;
  }

  #ask(): Promise<number> {
    this.#asking ??= this.#measure().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #measure(): Promise<number> {
    const [seconds, microseconds] = await this.redis.time();
    const redisMs = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    this.#known = { redisMs, atMs: steadyClock() };
    return redisMs;
  }
}

function deadlineAt(redisMs: number): string {
  return String(Math.floor(redisMs) + RUN_WITHIN_MS);
}

const deadlines = new WeakMap<object, Deadlines>();

/** Let all scripts of this connection have a deadline. */
export function giveDeadlines(redis: TimeSource): void {
  deadlines.set(redis, new Deadlines(redis));
}

/** The last argument of a script that is called now. */
export function deadlineFor(redis: object): string | Promise<string> {
  return deadlines.get(redis)?.next() ?? '';
}

/** Called when a script was late: maybe because what is known of Redis' clock is wrong. */
export function forgetTimeOf(redis: object): void {
  deadlines.get(redis)?.forget();
}
