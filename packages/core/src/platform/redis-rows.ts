import { Cluster, ReplyError } from 'ioredis';
import type { RedisClient } from './redis-connect';
import { isUnavailable } from './redis-errors';
import { isStop, type RunScript, runText } from './redis-script';
import { joinRows, type RowCallShape } from './redis-script-text';

type Parameter = string | number;

/** A script that is called for each row. */
interface RowCall extends RowCallShape {
  /** Those of all rows, one after the other. */
  readonly allKeys: readonly string[];
  readonly allArgs: readonly Parameter[];
  readonly resolve: (replies: readonly unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

/** The target of scripts that run for each of many rows. */
export class ScriptRows {
  readonly calls: RowCall[] = [];

  /**
   * @param rows those that the step was given.
   * @returns the reply for each row; `undefined` where it has not run, or has failed.
   */
  call<Row>(
    { script }: RunScript,
    rows: readonly Row[],
    keysOf: (row: Row) => readonly string[],
    argsOf: (row: Row) => readonly Parameter[],
  ): Promise<readonly unknown[]> {
    const allKeys: string[] = [];
    const allArgs: Parameter[] = [];
    for (const row of rows) {
      for (const key of keysOf(row)) allKeys.push(key);
      for (const arg of argsOf(row)) allArgs.push(arg);
    }
    const [keys, args] = [allKeys.length / rows.length, allArgs.length / rows.length];
    return new Promise((resolve, reject) =>
      this.calls.push({ script, keys, args, allKeys, allArgs, resolve, reject }),
    );
  }

  /** Settle the calls with their replies. */
  settle(replies: readonly RowReply[]): void {
    for (const [at, { resolve }] of this.calls.entries()) resolve(replies.map((reply) => reply[at + 1]));
  }

  fail(error: unknown): void {
    for (const { reject } of this.calls) reject(error);
  }
}

/** An error or `null`, then the reply of each call that ran. */
type RowReply = readonly unknown[];

/** Call its scripts on the target for each of these rows, before it waits for anything. There is at least one. */
export type RowStep<Row> = (rows: readonly Row[], target: ScriptRows) => Promise<unknown>;

/** `stopped`: a guard kept the later steps from it. An error: its data made a script fail. */
export type RowEnd = 'ran' | 'stopped' | Error;

/**
 * Run steps one after the other for each of many rows, as `Atomic` does for one: no step takes effect on a row
 * unless all before it have. The rows know nothing of each other. Gives how it ended for each of them.
 *
 * @throws an error when Redis is away. Some rows may be done then, and others not.
 */
export type InOrderForEach = <Row>(
  rows: readonly Row[],
  steps: readonly RowStep<Row>[],
) => Promise<readonly RowEnd[]>;

/**
 * One server runs all steps for a hundred rows or so as one script. In a Cluster each step waits for the one
 * before, and gets the rows that are left.
 */
export function createForEach(redis: RedisClient): InOrderForEach {
  return redis instanceof Cluster ? rowsOneByOne(redis) : rowsAsOne(redis);
}

export function rowsAsOne(redis: RedisClient): InOrderForEach {
  return async function takeRowsAsOne(rows, steps) {
    if (rows.length === 0) return [];
    const target = new ScriptRows();
    const results = steps.map((step) => step(rows, target));
    // They are awaited below, maybe after one has failed.
    for (const result of results) result.catch(() => {});
    let replies: readonly RowReply[] = [];
    try {
      replies = await sendRows(redis, target.calls, rows.length);
      target.settle(replies);
    } catch (error) {
      target.fail(error);
    }
    for (const result of results) await result;
    return replies.map((reply) => endOf(reply, target.calls));
  };
}

export function rowsOneByOne(redis: RedisClient): InOrderForEach {
  return async function takeRowsOneByOne(rows, steps) {
    const ends: RowEnd[] = rows.map(() => 'ran');
    for (const step of steps) {
      const left = [...rows.keys()].filter((at) => ends[at] === 'ran');
      if (left.length === 0) break;
      const target = new ScriptRows();
      const result = step(
        left.flatMap((at) => rows.slice(at, at + 1)),
        target,
      );
      result.catch(() => {});
      try {
        const replies = await Promise.all(left.map((_at, row) => runEach(redis, target.calls, row)));
        target.settle(replies);
        for (const [i, at] of left.entries()) ends[at] = endOf(replies[i] ?? [], target.calls);
      } catch (error) {
        target.fail(error);
      }
      await result;
    }
    return ends;
  };
}

function endOf([error, ...replies]: RowReply, calls: readonly RowCall[]): RowEnd {
  if (error instanceof Error) return error;
  if (typeof error === 'string') return new ReplyError(error);
  const isLastOne = replies.length === calls.length;
  return isLastOne && !stops(calls[replies.length - 1], replies.at(-1)) ? 'ran' : 'stopped';
}

function stops(call: RowCall | undefined, reply: unknown): boolean {
  return call?.script.isGuard === true && isStop(reply);
}

/** The calls of a row, each by itself. */
async function runEach(redis: RedisClient, calls: readonly RowCall[], row: number): Promise<RowReply> {
  const replies: unknown[] = [null];
  for (const call of calls) {
    const keys = call.allKeys.slice(row * call.keys, (row + 1) * call.keys);
    const args = call.allArgs.slice(row * call.args, (row + 1) * call.args);
    try {
      const reply = await runText(redis, call.script, keys.length, [...keys, ...args]);
      replies.push(reply);
      if (stops(call, reply)) break;
    } catch (error) {
      if (isUnavailable(error)) throw error;
      return [error];
    }
  }
  return replies;
}

// Redis serves nobody else while a script runs: this many take it a millisecond or two.
const MOST_PARAMETERS = 2_000;

async function sendRows(
  redis: RedisClient,
  calls: readonly RowCall[],
  rows: number,
): Promise<readonly RowReply[]> {
  const joined = joinRows(calls);
  const parameters = calls.reduce((sum, { keys, args }) => sum + keys + args, 0);
  const atOnce = Math.max(Math.floor(MOST_PARAMETERS / Math.max(parameters, 1)), 1);
  const sent: Promise<unknown>[] = [];
  for (let from = 0; from < rows; from += atOnce) {
    const until = Math.min(from + atOnce, rows);
    const keys: Parameter[] = [];
    const args: Parameter[] = [until - from];
    for (const call of calls) {
      for (let i = from * call.keys; i < until * call.keys; i += 1) keys.push(call.allKeys[i] ?? '');
      for (let i = from * call.args; i < until * call.args; i += 1) args.push(call.allArgs[i] ?? '');
    }
    sent.push(runText(redis, joined, keys.length, keys.concat(args)));
  }
  // All of them, so that nothing of this is on its way when the caller goes on after an error.
  const settled = await Promise.allSettled(sent);
  return settled.flatMap((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value as readonly RowReply[];
  });
}

/** Ask the same for each row. Gives what was read, or the error that the row's data made. */
export async function askForEach<Row, Answer>(
  forEach: InOrderForEach,
  rows: readonly Row[],
  ask: (rows: readonly Row[], target: ScriptRows) => Promise<readonly Answer[]>,
): Promise<readonly (Answer | Error)[]> {
  let answers: readonly Answer[] = [];
  const ends = await forEach(rows, [
    async (all, target) => {
      answers = await ask(all, target);
    },
  ]);
  return ends.map((end, i) => (end instanceof Error ? end : (answers[i] as Answer)));
}
