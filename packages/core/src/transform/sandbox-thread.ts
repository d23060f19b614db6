/**
 * The program of a thread that runs customers' code. Each run has a QuickJS runtime of its own, in WebAssembly: it
 * sees its input, and nothing of the host. `TransformPool` starts these threads and ends one that hangs.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import type { CodeInput, CodePlace } from './code-runner';
import {
  type CodeError,
  type Envelope,
  type OutputBounds,
  preludeFor,
  readEnvelope,
  readError,
  readLogs,
} from './sandbox-prelude';

/** The input of one run. */
export interface SandboxRun extends OutputBounds {
  readonly code: string;
  /** Absent: the code is only loaded, to see whether it can be. */
  readonly input?: CodeInput | undefined;
  /** Of processor time, where the system tells it; else of time. */
  readonly timeoutMs: number;
}

/** The result of a run. Only texts come from the code. */
export type SandboxReply = SandboxEnd & {
  readonly logs: readonly string[];
  /** The processor time, or the time, that it took, and all that had to be started again after it. */
  readonly tookMs: number;
  /** Whether the code brought the sandbox down, and another one is in its place. */
  readonly isRenewed: boolean;
};

export type SandboxEnd =
  | { readonly kind: 'loaded' }
  | Exclude<Envelope, { kind: 'refused' }>
  | ({ readonly kind: 'threw'; readonly message: string } & CodePlace)
  | ({ readonly kind: 'took_too_long' | 'took_too_much_memory' } & CodePlace)
  /** It brought the sandbox down before it ended. */
  | { readonly kind: 'too_deep' };

const FILE = 'transformation.js';
// Less than what WebAssembly has of a thread's stack: deeper recursion is an error there, not the end of the thread.
const STACK_BYTES = 128 * 1024;
// For what describes an error, after the time of the code itself is over.
const DESCRIBE_MS = 20;
const JOBS_AT_ONCE = 100;
// A tenth of the weight of other threads.
const NICENESS = 10;

/** What a thread is told when it starts. */
export interface SandboxOptions {
  /** The most that a run may use. */
  readonly memoryBytes: number;
  /** Where there are too few processors for all. */
  readonly goesAfterEventLoop: boolean;
}

const WARM_UP: SandboxRun = {
  code: 'export default async (event) => { console.log(event.type); return { body: { ...event.data } }; }',
  input: { body: '{"type":"a.b","data":{"c":[1,"d",null]}}', rest: '{}', now: 0, seed: 0 },
  timeoutMs: 10_000,
  maxOutput: 1_024,
};

/** Runs the code of one run after another. */
class Sandbox {
  static async load({ memoryBytes }: SandboxOptions): Promise<Sandbox> {
    const compiled = await WebAssembly.compile(readFileSync(require.resolve(WASM)));
    const sandbox = new Sandbox(compiled, memoryBytes, await instantiate(compiled, memoryBytes));
    // What the engine compiles when it is used first takes longer than most code: it is nobody's run.
    await sandbox.run(WARM_UP);
    return sandbox;
  }

  private constructor(
    private readonly compiled: object,
    private readonly memoryBytes: number,
    private instance: Instance,
  ) {}

  async run(run: SandboxRun): Promise<SandboxReply> {
    const deadline = new Deadline(run.timeoutMs);
    let result: Result = { end: { kind: 'too_deep' }, logs: [] };
    let isWhole = false;
    try {
      const { quickJs, memory } = this.instance;
      const runtime = quickJs.newRuntime();
      runtime.setMaxStackSize(STACK_BYTES);
      runtime.setInterruptHandler(() => deadline.hasPassed());
      const context = runtime.newContext();
      result = evaluate({ context, runtime, memory, deadline, run });
      context.dispose();
      runtime.dispose();
      isWhole = !memory.hasRunOut;
    } catch {
      // WebAssembly has stopped: while the code ran, or over what was left of it.
    }
    // Two milliseconds; another thread would take sixty.
    if (!isWhole) this.instance = await instantiate(this.compiled, this.memoryBytes);
    const { end, logs } = result;
    return { ...end, logs, tookMs: deadline.tookMs(), isRenewed: !isWhole };
  }
}

// Node has it, and its types are those of browsers.
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>;
  readonly Memory: new (pages: { initial: number; maximum: number }) => { grow(pages: number): number };
};
const WASM = '@jitl/quickjs-wasmfile-release-sync/wasm';
const PAGE_BYTES = 64 * 1024;
// What the module itself asks for.
const INITIAL_PAGES = 256;
// For the engine itself, and for what goes in and comes out.
const OVERHEAD_BYTES = 8 * 1024 * 1024;

interface Instance {
  readonly quickJs: QuickJSWASMModule;
  readonly memory: Memory;
}

/**
 * Memory that ends. The engine's own limit counts a few bytes of each allocation, however large it is: only this one
 * keeps code from taking gigabytes.
 */
class Memory {
  readonly wasm;
  /** Whether the code wanted more than there is. What is left may be in pieces. */
  hasRunOut = false;

  constructor(bytes: number) {
    const maximum = Math.max(Math.ceil((bytes + OVERHEAD_BYTES) / PAGE_BYTES), INITIAL_PAGES);
    this.wasm = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum });
    const grow = this.wasm.grow.bind(this.wasm);
    this.wasm.grow = (pages) => {
      try {
        return grow(pages);
      } catch (error) {
        this.hasRunOut = true;
        throw error;
      }
    };
  }
}

async function instantiate(wasmModule: object, memoryBytes: number): Promise<Instance> {
  const memory = new Memory(memoryBytes);
  const quickJs = await newQuickJSWASMModuleFromVariant(
    newVariant(variant, { wasmModule, wasmMemory: memory.wasm }),
  );
  return { quickJs, memory };
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

  hasPassed(): boolean {
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

function preludeOf(context: QuickJSContext, { input, maxOutput }: SandboxRun): Prelude {
  const source = preludeFor(input ?? NO_INPUT, { maxOutput });
  const made = context.unwrapResult(context.evalCode(source, 'prelude.js'));
  const functionOf = (name: string) => context.getProp(made, name);
  const parts = { call: functionOf('call'), describe: functionOf('describe'), logs: functionOf('logs') };
  made.dispose();
  return parts;
}

const NO_INPUT = { now: 0, seed: 0 };

interface Running {
  readonly context: QuickJSContext;
  readonly runtime: QuickJSRuntime;
  readonly memory: Memory;
  readonly deadline: Deadline;
  readonly run: SandboxRun;
}

interface Result {
  readonly end: SandboxEnd;
  readonly logs: readonly string[];
}

/** What the code gave. */
type InnerEnd =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'returned'; readonly output: string }
  | { readonly kind: 'threw'; readonly error: CodeError };

function evaluate(running: Running): Result {
  const { context, deadline, run } = running;
  const parts = preludeOf(context, run);
  const end = classifyEnd(runIn(running, parts), running);
  deadline.extend(DESCRIBE_MS);
  const logs = readLogs(textGivenBy(context, parts.logs) ?? '');
  for (const part of Object.values(parts)) part.dispose();
  return { end, logs };
}

function runIn(running: Running, parts: Prelude): InnerEnd {
  const { context, run } = running;
  const loaded = context.evalCode(run.code, FILE, { type: 'module' });
  if (loaded.error) return threw(running, parts, loaded.error);
  const exported = context.getProp(loaded.value, 'default');
  loaded.value.dispose();
  if (context.typeof(exported) !== 'function') {
    exported.dispose();
    return failed(NO_FUNCTION);
  }
  if (!run.input) {
    exported.dispose();
    return { kind: 'loaded' };
  }
  const [body, rest] = [context.newString(run.input.body), context.newString(run.input.rest)];
  const called = context.callFunction(parts.call, context.undefined, exported, body, rest);
  for (const handle of [exported, body, rest]) handle.dispose();
  if (called.error) return threw(running, parts, called.error);
  return settle(running, parts, called.value);
}

const NO_FUNCTION =
  'It exports no function: begin with `export default function (event) {`. The module itself may not wait for anything.';
const NO_MESSAGE = 'It threw something without a message.';
const NEVER_SETTLED = 'The function returned a promise that nothing settles.';

/** Run what waits until the promise of the call is settled, or nothing is left that could settle it. */
function settle(running: Running, parts: Prelude, promise: QuickJSHandle): InnerEnd {
  const { context, runtime, deadline } = running;
  for (let ran = 1; ran > 0; ) {
    const jobs = runtime.executePendingJobs(JOBS_AT_ONCE);
    if (jobs.error) {
      promise.dispose();
      return threw(running, parts, jobs.error);
    }
    // A job that is stopped for its time may be no error of the one that waits for it.
    ran = deadline.hasPassed() ? 0 : jobs.value;
  }
  const state = context.getPromiseState(promise);
  promise.dispose();
  if (state.type === 'pending') return failed(NEVER_SETTLED);
  if (state.type === 'rejected') return threw(running, parts, state.error);
  const output = context.getString(state.value);
  state.value.dispose();
  return { kind: 'returned', output };
}

function threw({ context, deadline }: Running, { describe }: Prelude, error: QuickJSHandle): InnerEnd {
  const { wasReached } = deadline;
  deadline.extend(DESCRIBE_MS);
  const described = textGivenBy(context, describe, error);
  error.dispose();
  deadline.wasReached = wasReached;
  return { kind: 'threw', error: readError(described ?? '') };
}

function failed(message: string): InnerEnd {
  return { kind: 'threw', error: { name: '', message } };
}

/** The text of JSON that a function of the prelude gives. */
function textGivenBy(context: QuickJSContext, part: QuickJSHandle, ...args: QuickJSHandle[]) {
  const given = context.callFunction(part, context.undefined, ...args);
  if (given.error) {
    given.error.dispose();
    return undefined;
  }
  const text = context.getString(given.value);
  given.value.dispose();
  return text;
}

function classifyEnd(end: InnerEnd, { deadline: { wasReached }, memory, run: bounds }: Running): SandboxEnd {
  const { line, column, ...error } = end.kind === 'threw' ? end.error : NO_ERROR;
  const place = { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
  if (wasReached) return { kind: 'took_too_long', ...place };
  if (end.kind === 'loaded') return end;
  if (end.kind === 'returned') {
    const envelope = readEnvelope(end.output, bounds);
    return envelope.kind === 'refused' ? { kind: 'threw', message: envelope.message } : envelope;
  }
  const { name, message } = error;
  // Where there is no memory for an error either, the engine throws nothing that has a name.
  if ((name === 'InternalError' && message === 'out of memory') || (memory.hasRunOut && name === ''))
    return { kind: 'took_too_much_memory', ...place };
  const text = name === '' || name === 'undefined' ? message : `${name}: ${message}`;
  return { kind: 'threw', message: withHint(text) || NO_MESSAGE, ...place };
}

/** Names that a CommonJS module has. */
const COMMONJS = /'(module|exports|require)' is not defined$/;

function withHint(text: string): string {
  const [, name] = COMMONJS.exec(text) ?? [];
  if (name === undefined) return text;
  if (name === 'require') return `${text}: the code can load no other module.`;
  return `${text}: export a function instead, such as export default (event) => ({ body: event.data })`;
}

const NO_ERROR: CodeError = { name: '', message: '' };

/** A message of the thread. */
export type ThreadMessage =
  /** Its folder in `/proc/self/task`, where there is one. */
  | { readonly kind: 'ready'; readonly thread: string | undefined }
  | { readonly kind: 'ended'; readonly reply: SandboxReply };

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
  const options = workerData as SandboxOptions;
  const sandbox = await Sandbox.load(options);
  if (options.goesAfterEventLoop) goAfterEventLoop();
  const say = (message: ThreadMessage) => port.postMessage(message);
  port.on('message', (run: SandboxRun) => {
    void sandbox.run(run).then((reply) => say({ kind: 'ended', reply }));
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
