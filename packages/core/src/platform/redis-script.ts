import { createHash } from 'node:crypto';
import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-connect';

/** The target of a script: Redis, or a batch that goes there later. */
export type ScriptTarget = RedisClient | ScriptBatch;

/** Run a script over keys that share one hash tag. Numbers are passed as texts. */
export type RunScript = (
  target: ScriptTarget,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

interface Script {
  readonly text: string;
  readonly digest: string;
}

/** A script that is called by its digest: its text is sent only to a server that does not know it yet. */
export function defineScript(text: string): RunScript {
  const digest = createHash('sha1').update(text).digest('hex');
  const script = { text, digest };
  return async function runScript(target, keys, args) {
    if (target instanceof ScriptBatch) return await target.add(script, keys, args);
    const parameters = [...keys, ...args.map(String)];
    try {
      return await target.evalsha(digest, keys.length, ...parameters);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return await target.eval(text, keys.length, ...parameters);
    }
  };
}

// The first word of Redis' reply is its code.
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

interface Call {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Calls of scripts that Redis runs as one, in their order: all of them take effect or, when it can't accept
 * them, none. If a call fails because of the data it finds, those before it have taken effect and those after
 * it have not. Not for a Cluster, whose scripts see one node.
 */
export class ScriptBatch {
  readonly #calls: Call[] = [];
  #isSent = false;

  /** Resolves with the script's reply once the batch was sent. @throws Error when it was sent before. */
  add(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    if (this.#isSent) throw new Error('A script was called after its batch was sent.');
    return new Promise((resolve, reject) => this.#calls.push({ script, keys, args, resolve, reject }));
  }

  /** If it fails, all its calls fail with the same error. */
  async sendTo(redis: RedisClient): Promise<void> {
    this.#isSent = true;
    const calls = this.#calls;
    if (calls.length === 0) return;
    const scripts = new Map<Script, number>();
    const counts: number[] = [calls.length];
    const allKeys: string[] = [];
    const allArgs: (string | number)[] = [];
    for (const { script, keys, args } of calls) {
      const place = scripts.get(script) ?? scripts.size;
      scripts.set(script, place);
      counts.push(place, keys.length, args.length);
      allKeys.push(...keys);
      allArgs.push(...args);
    }
    try {
      const run = joined([...scripts.keys()]);
      const replies = (await run(redis, allKeys, [...counts, ...allArgs])) as readonly unknown[];
      for (const [i, { resolve }] of calls.entries()) resolve(replies[i]);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}

// One for each order in which scripts come first: a handful.
const joinedScripts = new Map<string, RunScript>();

function joined(scripts: readonly Script[]): RunScript {
  const name = scripts.map(({ digest }) => digest).join();
  const known = joinedScripts.get(name);
  if (known) return known;
  const functions = scripts.map(({ text }) => `function(KEYS, ARGV)\n${text}\nend`).join(',\n');
  const script = defineScript(joinedText(functions));
  joinedScripts.set(name, script);
  return script;
}

// ARGV: how many calls; which script, how many keys and arguments of each; then the arguments of all.
function joinedText(functions: string): string {
  return `
  local scripts = {${functions}}
  local function part_of(list, from, count)
    local part = {}
    for i = 1, count do part[i] = list[from + i] end
    return part
  end
  local calls, replies = tonumber(ARGV[1]), {}
  local key, arg = 0, 1 + 3 * calls
  for call = 1, calls do
    local script = scripts[tonumber(ARGV[3 * call - 1]) + 1]
    local key_count, arg_count = tonumber(ARGV[3 * call]), tonumber(ARGV[3 * call + 1])
    local reply = script(part_of(KEYS, key, key_count), part_of(ARGV, arg, arg_count))
    if type(reply) == 'table' and reply.err then return reply end
    replies[call] = reply or false
    key, arg = key + key_count, arg + arg_count
  end
  return replies`;
}

/** Call its scripts on the target, before it waits for anything. */
export type Step = (target: ScriptTarget) => Promise<unknown>;

/**
 * Run steps one after the other: no step takes effect unless all before it have, whenever and however it
 * breaks off.
 */
export type InOrder = (steps: readonly Step[]) => Promise<void>;

/**
 * One server runs all steps as one script: nothing comes between them, neither a crash nor a lack of memory.
 * In a Cluster, where each node has its own keys, each step waits for those before.
 */
export function createInOrder(redis: RedisClient): InOrder {
  return redis instanceof Cluster ? oneByOne(redis) : asOne(redis);
}

export function asOne(redis: RedisClient): InOrder {
  return async function takeAsOne(steps) {
    const batch = new ScriptBatch();
    const taken = steps.map((step) => step(batch));
    await Promise.all([batch.sendTo(redis), ...taken]);
  };
}

export function oneByOne(redis: RedisClient): InOrder {
  return async function takeOneByOne(steps) {
    for (const step of steps) await step(redis);
  };
}
