/**
 * The program of a thread that runs customers' code. Each run has a QuickJS runtime of its own, in WebAssembly: it
 * sees its input, and nothing of the host. `TransformPool` starts these threads and ends one that hangs.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';

/** The input of one run. */
export interface SandboxRun {
  readonly code: string;
  /** Absent: the code is only loaded, to see whether it can be. */
  readonly input?: SandboxInput | undefined;
  /** Of processor time, where the system tells it; else of time. */
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  /** Of what the function returns, in characters. */
  readonly maxOutput: number;
}

export interface SandboxInput {
  /** The event's `{"type", "data"}`, as a text of JSON. */
  readonly body: string;
  /** The event's other members, as a text of JSON. */
  readonly rest: string;
  /** The present for the code. Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Of its random numbers: the same seed gives the same ones. */
  readonly seed: number;
}

/** The result of a run. Only its text comes from the code. */
export type SandboxReply = SandboxEnd & {
  readonly logs: readonly string[];
  /** The processor time, or the time, that it took. */
  readonly tookMs: number;
};

export type SandboxEnd =
  /** JSON: what `PRELUDE` makes of what the function returned. Not there: the code was only loaded. */
  | { readonly kind: 'returned'; readonly output: string | undefined }
  | ({ readonly kind: 'threw'; readonly message: string } & Place)
  | ({ readonly kind: 'took_too_long' | 'took_too_much_memory' } & Place);

/** In the code: 1, 2, … */
interface Place {
  readonly line?: number;
  readonly column?: number;
}

const FILE = 'transformation.js';
const MAX_LOG = 4_096;
// Less than what WebAssembly has of a thread's stack: deeper recursion is an error there, not the end of the thread.
const STACK_BYTES = 128 * 1024;
const MAX_MESSAGE = 300;
// For what describes an error, after the time of the code itself is over.
const DESCRIBE_MS = 20;
const JOBS_AT_ONCE = 100;
// A tenth of the weight of other threads.
const NICENESS = 10;

/**
 * Runs inside, before the code: gives it a clock that stands still, random numbers that repeat, and a console, and
 * keeps what it needs itself from being replaced. Returns the functions that the host calls.
 */
const PRELUDE = `(now, seed, maxLog, maxOutput) => {
  'use strict';
  const { stringify, parse } = JSON;
  const { imul } = Math;
  const { apply, construct } = Reflect;
  const { hasOwn } = Object;
  const slice = String.prototype.slice, test = RegExp.prototype.test, join = Array.prototype.join;
  const loneSurrogate = /[\\uD800-\\uDBFF](?![\\uDC00-\\uDFFF])|(?<![\\uD800-\\uDBFF])[\\uDC00-\\uDFFF]/;
  const logs = [];
  let logged = 0;
  let state = seed;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const RealDate = Date;
  const StandingDate = function Date(...parts) {
    if (!new.target) return new RealDate(now).toString();
    return construct(RealDate, parts.length === 0 ? [now] : parts, new.target);
  };
  StandingDate.prototype = RealDate.prototype;
  StandingDate.prototype.constructor = StandingDate;
  StandingDate.now = () => now;
  StandingDate.parse = RealDate.parse;
  StandingDate.UTC = RealDate.UTC;
  globalThis.Date = StandingDate;
  const textOf = (value) => {
    if (typeof value === 'string') return value;
    try { return stringify(value) ?? String(value); } catch { return '[not shown]'; }
  };
  const log = (...values) => {
    if (logged >= maxLog) return;
    const texts = [];
    for (let i = 0; i < values.length; i += 1) texts[i] = textOf(values[i]);
    const line = apply(slice, apply(join, texts, [' ']), [0, maxLog - logged]);
    logged += line.length + 1;
    logs[logs.length] = line;
  };
  globalThis.console = { log, info: log, warn: log, error: log, debug: log };
  const fail = (message) => { throw new TypeError(message); };
  const envelopeOf = (result) => {
    if (typeof result !== 'object' || result === null) fail('The function returned no object: return { body }.');
    if (result.cancel === true) return '{"cancel":true}';
    const { body, headers } = result;
    if (headers !== undefined && (typeof headers !== 'object' || headers === null)) fail('"headers" is not an object.');
    let hasType = false;
    const sent = {};
    for (const name in headers) {
      if (!hasOwn(headers, name)) continue;
      const value = headers[name];
      if (typeof value !== 'string') fail('The header ' + textOf(name) + ' is no string.');
      if (apply(RegExp.prototype.test, /^content-type$/i, [name])) hasType = true;
      sent[name] = value;
    }
    const isText = typeof body === 'string' && hasType;
    const text = isText ? body : stringify(body);
    if (typeof text !== 'string') fail('"body" is nothing that JSON can say: ' + typeof body + '.');
    if (text.length > maxOutput) fail('"body" has ' + text.length + ' characters: ' + maxOutput + ' are the most.');
    if (apply(test, loneSurrogate, [text])) fail('"body" has half a surrogate pair, which UTF-8 cannot say.');
    return stringify({ text, headers: sent });
  };
  return {
    async call(transform, body, rest) {
      const { type, data } = parse(body);
      const { id, accepted_at, webhook, attempt } = parse(rest);
      return envelopeOf(await transform({ id, type, data, accepted_at, webhook, attempt }));
    },
    describe(error) {
      try {
        if (typeof error !== 'object' || error === null) return stringify({ message: textOf(error) });
        const { name, message, stack } = error;
        return stringify({ name: String(name), message: String(message), stack: apply(slice, String(stack), [0, 2000]) });
      } catch { return '{}'; }
    },
    logs: () => stringify(logs),
  };
}`;

/** Runs the code of one run after another. */
export class Sandbox {
  static async load(): Promise<Sandbox> {
    return new Sandbox(await newQuickJSWASMModuleFromVariant(variant));
  }

  private constructor(private readonly quickJs: QuickJSWASMModule) {}

  /** @throws RangeError and others when the code brought WebAssembly down: this sandbox is of no use any more. */
  run({ code, input, timeoutMs, memoryBytes, maxOutput }: SandboxRun): SandboxReply {
    const deadline = new Deadline(timeoutMs);
    const runtime = this.quickJs.newRuntime();
    runtime.setMemoryLimit(memoryBytes);
    runtime.setMaxStackSize(STACK_BYTES);
    runtime.setInterruptHandler(() => deadline.isOver());
    const context = runtime.newContext();
    const parts = preludeOf(context, input, maxOutput);
    const end = runIn({ context, runtime, parts, code, input, deadline });
    deadline.extend(DESCRIBE_MS);
    const logs = readLogs(context, parts);
    for (const part of Object.values(parts)) part.dispose();
    context.dispose();
    runtime.dispose();
    return { ...judge(end, deadline), logs, tookMs: deadline.tookMs() };
  }
}

/** The processor time of this thread, or the time where the system does not tell it. Milliseconds. */
function readTimeMs(): number {
  try {
    // In nanoseconds; on Linux. The time alone would count what other processes took.
    return Number.parseInt(readFileSync('/proc/thread-self/schedstat', 'latin1'), 10) / 1e6;
  } catch {
    return performance.now();
  }
}

/** Reads the expensive clock only once the cheap one says that the time may be over. */
class Deadline {
  readonly #startedAt = readTimeMs();
  #nextLookAt: number;
  #limitMs: number;
  /** Whether the code was stopped for it. */
  wasReached = false;

  constructor(timeoutMs: number) {
    this.#limitMs = timeoutMs;
    this.#nextLookAt = performance.now() + timeoutMs;
  }

  tookMs(): number {
    return readTimeMs() - this.#startedAt;
  }

  isOver(): boolean {
    if (performance.now() < this.#nextLookAt) return false;
    const leftMs = this.#limitMs - this.tookMs();
    this.#nextLookAt = performance.now() + leftMs;
    if (leftMs > 0) return false;
    this.wasReached = true;
    return true;
  }

  /** From now on, this much more. */
  extend(moreMs: number): void {
    this.#limitMs = this.tookMs() + moreMs;
    this.#nextLookAt = performance.now() + moreMs;
  }
}

interface Prelude {
  readonly call: QuickJSHandle;
  readonly describe: QuickJSHandle;
  readonly logs: QuickJSHandle;
}

function preludeOf(context: QuickJSContext, input: SandboxInput | undefined, maxOutput: number): Prelude {
  const { now = 0, seed = 0 } = input ?? {};
  const source = `(${PRELUDE})(${now}, ${seed}, ${MAX_LOG}, ${maxOutput})`;
  const made = context.unwrapResult(context.evalCode(source, 'prelude.js'));
  const functionOf = (name: string) => context.getProp(made, name);
  const parts = { call: functionOf('call'), describe: functionOf('describe'), logs: functionOf('logs') };
  made.dispose();
  return parts;
}

interface Running {
  readonly context: QuickJSContext;
  readonly runtime: QuickJSRuntime;
  readonly parts: Prelude;
  readonly code: string;
  readonly input: SandboxInput | undefined;
  readonly deadline: Deadline;
}

type InnerEnd =
  | Extract<SandboxEnd, { kind: 'returned' }>
  | { readonly kind: 'threw'; readonly error: Described };

function runIn(running: Running): InnerEnd {
  const { context, parts, code, input } = running;
  const loaded = context.evalCode(code, FILE, { type: 'module' });
  if (loaded.error) return threw(running, loaded.error);
  const exported = context.getProp(loaded.value, 'default');
  loaded.value.dispose();
  if (context.typeof(exported) !== 'function') {
    exported.dispose();
    return { kind: 'threw', error: { message: NO_FUNCTION } };
  }
  if (!input) {
    exported.dispose();
    return { kind: 'returned', output: undefined };
  }
  const [body, rest] = [context.newString(input.body), context.newString(input.rest)];
  const called = context.callFunction(parts.call, context.undefined, exported, body, rest);
  for (const handle of [exported, body, rest]) handle.dispose();
  if (called.error) return threw(running, called.error);
  return settle(running, called.value);
}

const NO_FUNCTION =
  'It exports no function: begin with `export default function (event) {`. The module itself may not wait for anything.';
const NO_MESSAGE = 'It threw something without a message.';
const NEVER_SETTLED = 'The function returned a promise that nothing settles.';

/** Run what waits until the promise of the call is settled, or nothing is left that could settle it. */
function settle(running: Running, promise: QuickJSHandle): InnerEnd {
  const { context, runtime } = running;
  for (let ran = 1; ran > 0; ) {
    const jobs = runtime.executePendingJobs(JOBS_AT_ONCE);
    if (jobs.error) {
      promise.dispose();
      return threw(running, jobs.error);
    }
    ran = jobs.value;
  }
  const state = context.getPromiseState(promise);
  promise.dispose();
  if (state.type === 'pending') return { kind: 'threw', error: { message: NEVER_SETTLED } };
  if (state.type === 'rejected') return threw(running, state.error);
  const output = context.getString(state.value);
  state.value.dispose();
  return { kind: 'returned', output };
}

/** The code can have changed what makes these. */
interface Described {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly stack?: unknown;
}

function threw({ context, parts, deadline }: Running, error: QuickJSHandle): InnerEnd {
  const { wasReached } = deadline;
  deadline.extend(DESCRIBE_MS);
  const described = context.callFunction(parts.describe, context.undefined, error);
  error.dispose();
  deadline.wasReached = wasReached;
  if (described.error) {
    described.error.dispose();
    return { kind: 'threw', error: {} };
  }
  const text = context.getString(described.value);
  described.value.dispose();
  return { kind: 'threw', error: parsedObject(text) };
}

function readLogs(context: QuickJSContext, { logs }: Prelude): readonly string[] {
  const read = context.callFunction(logs, context.undefined);
  if (read.error) {
    read.error.dispose();
    return [];
  }
  const lines: unknown = JSON.parse(context.getString(read.value));
  read.value.dispose();
  return Array.isArray(lines) ? lines.map(String) : [];
}

function parsedObject(text: string): Described {
  const value: unknown = JSON.parse(text);
  return typeof value === 'object' && value !== null ? value : {};
}

function judge(end: InnerEnd, { wasReached }: Deadline): SandboxEnd {
  if (end.kind === 'returned') return end;
  const { name = '', message = '', stack = '' } = end.error;
  const place = placeIn(String(stack));
  if (wasReached) return { kind: 'took_too_long', ...place };
  if (name === 'InternalError' && message === 'out of memory')
    return { kind: 'took_too_much_memory', ...place };
  const kind = String(name);
  const text = kind === '' || kind === 'undefined' ? String(message) : `${kind}: ${String(message)}`;
  return { kind: 'threw', message: text.slice(0, MAX_MESSAGE) || NO_MESSAGE, ...place };
}

// The first line of the code's own, if the stack names one.
function placeIn(stack: string): Place {
  const place = /transformation\.js:(\d+)(?::(\d+))?/.exec(stack);
  if (!place) return {};
  const [, line, column] = place;
  return { line: Number(line), ...(column === undefined ? {} : { column: Number(column) }) };
}

/** A message of the thread. */
export type ThreadMessage =
  /** Its folder in `/proc/self/task`, where there is one. */
  | { readonly kind: 'ready'; readonly thread: string | undefined }
  | { readonly kind: 'ended'; readonly reply: SandboxReply }
  /** The code brought the sandbox down; the thread is of no use any more. */
  | { readonly kind: 'broken'; readonly error: string };

/** A run may take all of its time: the event loop of the service goes first where there are too few processors for both. */
function goAfterEventLoop(): void {
  // Only Linux takes it as the priority of the thread that calls; elsewhere it is that of the process.
  if (process.platform === 'linux')
    setPriority(0, Math.min(getPriority() + NICENESS, constants.priority.PRIORITY_LOW));
}

async function serve(port: NonNullable<typeof parentPort>): Promise<void> {
  // The C library inside asks this Date for the local time: nothing must hang on where a worker runs.
  // oxlint-disable-next-line eslint/no-extend-native -- this thread runs nothing else
  Object.defineProperty(Date.prototype, 'getTimezoneOffset', { value: () => 0 });
  const sandbox = await Sandbox.load();
  goAfterEventLoop();
  const say = (message: ThreadMessage) => port.postMessage(message);
  port.on('message', (run: SandboxRun) => {
    try {
      say({ kind: 'ended', reply: sandbox.run(run) });
    } catch (error) {
      say({ kind: 'broken', error: String(error) });
    }
  });
  say({ kind: 'ready', thread: threadFolder() });
}

function threadFolder(): string | undefined {
  try {
    return `/proc/${readlinkSync('/proc/thread-self')}`;
  } catch {
    return undefined;
  }
}

if (parentPort) void serve(parentPort);
