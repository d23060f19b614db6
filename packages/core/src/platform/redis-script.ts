import { Cluster, ReplyError } from 'ioredis';
import { atEndOfTurn } from './end-of-turn';
import { type RedisClient, sendGathered } from './redis-connect';
import { deadlineFor, forgetTimeOf, isLate } from './redis-deadline';
import { isUnavailable } from './redis-errors';
import {
  argumentOf,
  type Joined,
  join,
  locateIn,
  type Packed,
  pack,
  type Script,
  type ScriptCall,
} from './redis-script-text';

/** The target of a script: Redis, or a unit of scripts that goes there at the end of this turn. */
export type ScriptTarget = RedisClient | ScriptUnit;

/** A key as an expression of a script: `<name>` stands for the variable of that name. */
export function inLua(key: string): string {
  return `'${key.replaceAll(/<(\w+)>/g, `' .. $1 .. '`)}'`;
}

/**
 * What a script may do for many at once whose keys have hash tags of their own: all of it. In a Cluster, no command spans
 * two of them.
 */
export function groupsByCommand<Item>(
  redis: RedisClient,
  items: readonly Item[],
): readonly (readonly Item[])[] {
  if (redis instanceof Cluster) return items.map((each) => [each]);
  return items.length === 0 ? [] : [items];
}

/**
 * Run a script by its digest, with its keys before its arguments.
 *
 * @throws ReplyError also when the connection gives deadlines and Redis gets it too late: then nothing of it has run.
 */
async function runText(
  redis: RedisClient,
  { text, digest }: Pick<Script, 'text' | 'digest'>,
  keyCount: number,
  parameters: readonly (string | number | Buffer)[],
): Promise<unknown> {
  const next = deadlineFor(redis);
  const deadline = typeof next === 'string' ? next : await next;
  try {
    return await redis.evalsha(digest, keyCount, ...parameters, deadline);
  } catch (error) {
    if (isLate(error)) forgetTimeOf(redis);
    if (!isUnknownScript(error)) throw error;
    return await redis.eval(text, keyCount, ...parameters, deadline);
  }
}

/** Run a script by itself. Its error has the place in its file. */
export async function runAlone(redis: RedisClient, { script, keys, args }: ScriptCall): Promise<unknown> {
  try {
    return await runText(redis, script, keys.length, [...keys, pack(args)]);
  } catch (error) {
    if (error instanceof Error) error.message = locateIn(script.text, [script], error.message);
    throw error;
  }
}

// The first word of Redis' reply is its code.
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** Whether a script failed because of the data that it found: Redis itself could serve. */
export function isDataError(error: unknown): boolean {
  return error instanceof ReplyError && !isUnavailable(error);
}

/** Errors of whole commands: no unit of theirs is to blame by itself. */
const errorsOfAll = new WeakSet<object>();

/** The same, and it is the fault of the own data, not of what went to Redis together with it. */
export function isOwnDataError(error: unknown): error is Error {
  return error instanceof Error && isDataError(error) && !errorsOfAll.has(error);
}

/** Call its scripts on the target, before it waits for anything. */
export type Step<Reply = unknown> = (target: ScriptTarget) => Promise<Reply>;

interface Call extends ScriptCall {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Calls of scripts that Redis runs as one, in their order: all of them take effect or, when it can't accept
 * them, none. If a call fails because of the data it finds, those before it have taken effect and those after
 * it have not. Those behind a guard that stops them never settle.
 */
export class ScriptUnit {
  readonly calls: Call[] = [];
  /** The texts that replies refer to by their number, from 1 on: see `shared` in `redis-run-joined.lua`. */
  texts: readonly string[] = [];
  #isClosed = false;
  #parameters = 0;

  /** How many keys and arguments its calls have. */
  get parameters(): number {
    return this.#parameters;
  }

  /** Resolves with the script's reply. @throws Error when the unit is on its way. */
  add(script: Script, keys: readonly string[], args: readonly Packed[]): Promise<unknown> {
    if (this.#isClosed) throw new Error('A script was called after its unit was sent.');
    this.#parameters += keys.length + countOf(args);
    return new Promise((resolve, reject) => this.calls.push({ script, keys, args, resolve, reject }));
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Run each call by itself. Gives whether no guard stops what comes after. */
  async runEach(redis: RedisClient): Promise<boolean> {
    this.close();
    const runs = this.calls.map(async ({ script, keys, args, resolve, reject }) => {
      try {
        const reply = await runAlone(redis, { script, keys, args });
        resolve(reply);
        return !(script.isGuard && isStop(reply));
      } catch (error) {
        reject(error);
        return false;
      }
    });
    return (await Promise.all(runs)).every(Boolean);
  }

  /** Settle the calls that have run. @param replies an error or `null`, then the reply of each. */
  settle([error, ...replies]: readonly unknown[], { text, scripts }: Joined): void {
    for (const [i, reply] of replies.entries()) this.calls[i]?.resolve(reply);
    if (typeof error !== 'string') return;
    const file = this.calls[replies.length]?.script.files.at(-1)?.file;
    const message = locateIn(text, scripts, error);
    // A command's own error has no line here.
    this.fail(
      new ReplyError(file === undefined || /\.lua:\d/.test(message) ? message : `${message} (${file})`),
    );
  }

  /** Settle the calls that are not settled yet. */
  fail(error: unknown): void {
    for (const { reject } of this.calls) reject(error);
  }
}

// A list counts as what it has: its script has work with each of them.
function countOf(args: readonly Packed[]): number {
  let count = args.length;
  for (const arg of args) if (Array.isArray(arg)) count += countOf(arg);
  return count;
}

/** Whether a guard with this reply keeps the later steps from running. */
function isStop(reply: unknown): boolean {
  const first: unknown = Array.isArray(reply) ? reply[0] : reply;
  return first === 0 || first === null;
}

// Redis serves nobody else while a script runs: this many take it a millisecond or two.
const MOST_PARAMETERS = 2_000;

interface Sending {
  readonly unit: ScriptUnit;
  /** Called with how many of its calls have been settled, the first ones. */
  readonly settled: (calls: number) => void;
}

/**
 * What a process asks of Redis in one turn of the event loop: one script, and one reply. The units know
 * nothing of each other: one that fails because of the data that it finds leaves the others alone.
 */
export class ScriptTurn {
  #units: Sending[] = [];
  #parameters = 0;
  /** All that this process has ever sent, so that the text of the script changes a few times only. */
  readonly #scripts = new Set<Script>();
  #joined: Joined | undefined;
  #isAtEndOfTurn = false;
  #patience: NodeJS.Timeout | undefined;

  constructor(private readonly redis: RedisClient) {}

  /** Resolves with how many of its calls have been settled, the first ones. */
  send(unit: ScriptUnit, patienceMs: number): Promise<number> {
    unit.close();
    if (this.#parameters + unit.parameters > MOST_PARAMETERS) this.#flush();
    // Nothing that waits like this keeps a process from its end.
    if (patienceMs > 0) this.#patience ??= setTimeout(this.#flush, patienceMs).unref();
    else this.#flushAtEndOfTurn();
    if (unit.calls.length === 0) return Promise.resolve(0);
    this.#parameters += unit.parameters;
    return new Promise((settled) => this.#units.push({ unit, settled }));
  }

  #flushAtEndOfTurn(): void {
    if (this.#isAtEndOfTurn) return;
    this.#isAtEndOfTurn = true;
    atEndOfTurn(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isAtEndOfTurn = false;
    clearTimeout(this.#patience);
    this.#patience = undefined;
    const units = this.#units;
    this.#units = [];
    this.#parameters = 0;
    void this.#sendAll(units);
  };

  async #sendAll(units: readonly Sending[]): Promise<void> {
    if (units.length === 0) return;
    const joined = this.#joinedFor(units);
    const calls = units.map(({ unit }) => unit.calls);
    try {
      const running = runText(this.redis, joined, 0, [argumentOf(calls, joined)]);
      // The end of this turn is now: the next one would be that of the reply.
      sendGathered(this.redis);
      const [replies, texts] = (await running) as JoinedReply;
      for (const [i, { unit, settled }] of units.entries()) {
        const reply = replies[i] ?? [];
        unit.texts = texts;
        unit.settle(reply, joined);
        settled(reply[0] === null ? reply.length - 1 : unit.calls.length);
      }
    } catch (error) {
      if (error instanceof Error) errorsOfAll.add(error);
      for (const { unit, settled } of units) {
        unit.fail(error);
        settled(unit.calls.length);
      }
    }
  }

  #joinedFor(units: readonly Sending[]): Joined {
    const before = this.#scripts.size;
    for (const { unit } of units) for (const { script } of unit.calls) this.#scripts.add(script);
    if (this.#joined && this.#scripts.size === before) return this.#joined;
    this.#joined = join([...this.#scripts].toSorted((a, b) => a.number - b.number));
    return this.#joined;
  }
}

type JoinedReply = readonly [replies: readonly (readonly unknown[])[], texts: readonly string[]];
