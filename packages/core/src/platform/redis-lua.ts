import { ReplyError } from 'ioredis';
import type { RedisClient } from './redis-connect';
import { inLua, runText, type ScriptTarget, ScriptUnit, type Step } from './redis-script';
import {
  type Library,
  type LuaSource,
  locateIn,
  type Packed,
  pack,
  type Script,
  toTypedScript,
} from './redis-script-text';

/** What the modules that `npm run scripts` writes are made of. */
export { inLua, type Library, type Step };

declare const guard: unique symbol;
/** A step that decides whether those after it run. */
export type Guard<Reply = unknown> = Step<Reply> & { readonly [guard]: true };

export function defineLua(source: LuaSource): Script {
  return toTypedScript(source);
}

/** @param read makes the reply of what the script gives; `texts` are those that it has shared. */
type Read<Reply> = (reply: never, texts: readonly string[]) => Reply;

export function stepOf<Reply>(
  script: Script,
  keys: readonly string[],
  args: readonly Packed[],
  read: Read<Reply>,
): Step<Reply> {
  return async function runScript(target) {
    const reply = await run(target, script, keys, args);
    return read(reply as never, target instanceof ScriptUnit ? target.texts : NO_TEXTS);
  };
}

export function guardOf<Reply>(
  script: Script,
  keys: readonly string[],
  args: readonly Packed[],
  read: Read<Reply>,
): Guard<Reply> {
  return stepOf(script, keys, args, read) as Guard<Reply>;
}

const NO_TEXTS: readonly string[] = [];

async function run(
  target: ScriptTarget,
  script: Script,
  keys: readonly string[],
  args: readonly Packed[],
): Promise<unknown> {
  if (target instanceof ScriptUnit) return await target.add(script, keys, args);
  return await runAlone(target, script, keys, args);
}

async function runAlone(
  redis: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly Packed[],
): Promise<unknown> {
  try {
    return await runText(redis, script, keys.length, [...keys, pack(args)]);
  } catch (error) {
    if (!(error instanceof ReplyError)) throw error;
    throw locateError(error as Error, script);
  }
}

function locateError(error: Error, script: Script): Error {
  return Object.assign(error, { message: locateIn(script.text, [script], error.message) });
}

/** A constant in a script. */
export function lua(value: string | number | readonly (string | number)[]): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return `{${value.map(lua).join(', ')}}`;
  return `'${value.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`;
}

/** A text that several calls may reply with: its number, where they have run together. */
export function sharedText(texts: readonly string[], given: unknown): string | undefined {
  if (typeof given === 'string') return given;
  return typeof given === 'number' ? texts[given - 1] : undefined;
}
