import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { AppError } from '../platform/app-error';
import { parsedOrUndefined } from '../platform/json';
import type { SandboxEnd, SandboxInput, SandboxReply, SandboxRun, ThreadMessage } from './sandbox-thread';

/** The bounds of a run, and of what runs at once. */
export interface TransformLimits {
  /** Of processor time, for a run. */
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  /** Of what a run returns, in characters. */
  readonly maxOutput: number;
  readonly threads: number;
  /** The most runs that wait; more are refused. */
  readonly maxWaiting: number;
}

export interface TransformRun {
  /** Whose time is used. */
  readonly accountId: string;
  readonly code: string;
  /** Absent: the code is only loaded, to see whether it can be. */
  readonly input?: SandboxInput | undefined;
}

/** The result of a run, as far as the sandbox knows it. */
export type RunResult = RunEnd & {
  /** The output of the code's `console`, 4 KB at most. */
  readonly logs: readonly string[];
  /** Of processor time. */
  readonly tookMs: number;
};

export type RunEnd =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'returned'; readonly text: string; readonly headers: Readonly<Record<string, string>> }
  | ({ readonly kind: 'failed' } & CodeFault);

/** The error of the code, without facts about the host. */
export interface CodeFault {
  readonly message: string;
  /** 1, 2, …; absent: nobody knows where. */
  readonly line?: number;
  readonly column?: number;
}

const outputSchema = z.union([
  z.strictObject({ cancel: z.literal(true) }),
  z.strictObject({ text: z.string(), headers: z.record(z.string(), z.string()) }),
]);

interface Waiting extends TransformRun {
  readonly resolve: (result: RunResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs customers' code in threads of its own, apart from the event loop. The threads start with the first run.
 *
 * Whose turn it is follows from the processor time that accounts have used: who has used little goes before who has
 * used much, so code that takes all its time delays another account's by what runs at that moment.
 */
export class TransformPool {
  readonly #threads = new Set<SandboxThread>();
  readonly #accounts = new Map<string, { usedMs: number; readonly waiting: Waiting[] }>();
  #waiting = 0;
  /** What those had used that went last: who comes after a while begins there, and has nothing saved up. */
  #usedMs = 0;
  #isClosed = false;

  constructor(private readonly limits: TransformLimits) {}

  /** @throws AppError `rate_limited` when too many runs wait, or this process ends. */
  async run(run: TransformRun): Promise<RunResult> {
    if (this.#isClosed || this.#waiting >= this.limits.maxWaiting) throw tooBusy();
    return await new Promise((resolve, reject) => {
      this.#enter({ ...run, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { waiting } of this.#accounts.values()) for (const { reject } of waiting) reject(tooBusy());
    this.#accounts.clear();
    this.#waiting = 0;
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  #enter(run: Waiting): void {
    this.#waiting += 1;
    const known = this.#accounts.get(run.accountId);
    if (known) known.waiting.push(run);
    else this.#accounts.set(run.accountId, { usedMs: this.#usedMs, waiting: [run] });
  }

  #next(): void {
    while (this.#waiting > 0) {
      const thread = [...this.#threads].find(({ isFree }) => isFree) ?? this.#startThread();
      if (!thread) return;
      void this.#runIn(thread, this.#take());
    }
  }

  #startThread(): SandboxThread | undefined {
    if (this.#threads.size >= this.limits.threads) return undefined;
    const thread = new SandboxThread();
    this.#threads.add(thread);
    return thread;
  }

  #take(): Waiting {
    let [first] = this.#accounts.values();
    for (const account of this.#accounts.values()) {
      if (account.waiting.length > 0 && (!first?.waiting.length || account.usedMs < first.usedMs))
        first = account;
    }
    const run = first?.waiting.shift();
    if (!first || !run) throw new TypeError('Nothing waits.');
    this.#waiting -= 1;
    this.#usedMs = Math.max(this.#usedMs, first.usedMs);
    return run;
  }

  async #runIn(thread: SandboxThread, waiting: Waiting): Promise<void> {
    const { accountId, code, input, resolve, reject } = waiting;
    const { timeoutMs, memoryBytes, maxOutput } = this.limits;
    try {
      const result = await thread.run({ code, input, timeoutMs, memoryBytes, maxOutput });
      this.#charge(accountId, result.tookMs);
      resolve(result);
    } catch (error) {
      reject(error);
    }
    if (!thread.isFree) this.#threads.delete(thread);
    if (!this.#isClosed) this.#next();
  }

  #charge(accountId: string, tookMs: number): void {
    const account = this.#accounts.get(accountId);
    if (!account) return;
    account.usedMs += tookMs;
    // An account that has nothing waiting and is not ahead of the others can be forgotten.
    for (const [id, { usedMs, waiting }] of this.#accounts) {
      if (waiting.length === 0 && usedMs <= this.#usedMs) this.#accounts.delete(id);
    }
  }
}

function tooBusy(): AppError {
  return new AppError(
    'rate_limited',
    'Too many transformations wait for their turn: try again in a moment.',
    {
      retryAfterMs: 1_000,
    },
  );
}

const THREAD_FILE = require.resolve('./sandbox-thread');
// Tests run the source as it is.
const TYPESCRIPT = ['--require', 'esbuild-register'];
// Of its own heap; what the code takes has a bound of its own.
const THREAD_HEAP_MB = 64;
// The sandbox looks at the time between two steps of the code. A step can take longer than that: to fill an array
// of millions, for example.
const PATIENCE = 4;

/** A thread that runs one thing after another, until one brings it down. */
class SandboxThread {
  readonly #worker: Worker;
  readonly #ready: Promise<ThreadMessage | undefined>;
  #hear: (message: ThreadMessage | undefined) => void = () => {};
  #isRunning = false;
  #hasEnded = false;

  constructor() {
    this.#worker = new Worker(THREAD_FILE, {
      // Nothing of the environment, which has secrets.
      env: {},
      execArgv: THREAD_FILE.endsWith('.ts') ? TYPESCRIPT : [],
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
    });
    this.#worker.unref();
    this.#worker.on('message', (message: ThreadMessage) => this.#hear(message));
    // What it throws shows as its end.
    this.#worker.on('error', () => {});
    this.#worker.once('exit', () => {
      this.#hasEnded = true;
      this.#hear(undefined);
    });
    this.#ready = this.#nextMessage();
  }

  /** Whether it can take a run. One that is not free after its run never will be. */
  get isFree(): boolean {
    return !this.#isRunning && !this.#hasEnded;
  }

  /** @throws Error when the thread can't be started, or is ended by `end`. */
  async run(run: SandboxRun): Promise<RunResult> {
    this.#isRunning = true;
    const ready = await this.#ready;
    if (ready?.kind !== 'ready') throw new Error('The thread of the sandbox did not start.');
    const watch = new Watch(ready.thread, run.timeoutMs * PATIENCE, () => void this.#worker.terminate());
    this.#worker.postMessage(run);
    const message = await this.#nextMessage();
    watch.stop();
    this.#isRunning = false;
    if (message?.kind === 'ended') return { ...endOf(message.reply, run), ...takenBy(message.reply) };
    await this.end();
    if (message === undefined && !watch.hasEnded) throw new Error('The thread of the sandbox has ended.');
    const fault =
      message === undefined ? tookTooLong(run) : 'The code nests calls or values too deeply for the sandbox.';
    return { kind: 'failed', message: fault, logs: [], tookMs: watch.usedMs };
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#worker.terminate();
  }

  #nextMessage(): Promise<ThreadMessage | undefined> {
    if (this.#hasEnded) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#hear = resolve;
    });
  }
}

/** Ends a thread that uses the processor for so long that the sandbox itself can't have an eye on the time. */
class Watch {
  readonly #timer: NodeJS.Timeout;
  readonly #usedBefore: number;
  /** As of when it last looked. */
  usedMs = 0;
  hasEnded = false;

  constructor(
    private readonly thread: string | undefined,
    limitMs: number,
    onHang: () => void,
  ) {
    this.#usedBefore = readUsedMs(thread);
    this.#timer = setInterval(() => {
      this.usedMs = readUsedMs(this.thread) - this.#usedBefore;
      if (this.usedMs < limitMs) return;
      this.hasEnded = true;
      this.stop();
      onHang();
    }, limitMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The processor time of a thread, or the time where the system does not tell it. Milliseconds. */
function readUsedMs(thread: string | undefined): number {
  if (thread === undefined) return performance.now();
  try {
    // In nanoseconds.
    return Number.parseInt(readFileSync(`${thread}/schedstat`, 'latin1'), 10) / 1e6;
  } catch {
    return performance.now();
  }
}

function takenBy({ logs, tookMs }: SandboxReply): Pick<RunResult, 'logs' | 'tookMs'> {
  return { logs, tookMs };
}

function endOf(reply: SandboxEnd, run: SandboxRun): RunEnd {
  switch (reply.kind) {
    case 'returned':
      return reply.output === undefined ? { kind: 'loaded' } : readOutput(reply.output);
    case 'threw':
      return { kind: 'failed', message: reply.message, ...placeOf(reply) };
    case 'took_too_long':
      return { kind: 'failed', message: tookTooLong(run), ...placeOf(reply) };
    case 'took_too_much_memory': {
      const megabytes = Math.round(run.memoryBytes / 1024 / 1024);
      return { kind: 'failed', message: `It took more than ${megabytes} MB of memory.`, ...placeOf(reply) };
    }
  }
}

function placeOf({ line, column }: Omit<CodeFault, 'message'>) {
  return { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
}

function tookTooLong({ timeoutMs }: SandboxRun): string {
  return `It took longer than ${timeoutMs} ms.`;
}

// The code can have changed what makes this text: nothing of it is taken on trust.
function readOutput(output: string): RunEnd {
  const read = outputSchema.safeParse(parsedOrUndefined(output));
  if (!read.success)
    return { kind: 'failed', message: 'The value that the function returned cannot be read.' };
  if ('cancel' in read.data) return { kind: 'cancelled' };
  const { text, headers } = read.data;
  return { kind: 'returned', text, headers };
}
