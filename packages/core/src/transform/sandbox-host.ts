import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { BrokenPart } from '../domain/signals/deliveries';
import type { CodePlace, RunEnd, RunResult } from './code-runner';
import type { SandboxEnd, SandboxOptions, SandboxRun, ThreadMessage } from './sandbox-thread';

const THREAD_FILE = require.resolve('./sandbox-thread');
// Tests run the source as it is.
const TYPESCRIPT = ['--require', 'esbuild-register'];
// Of its own heap; what the code takes has a bound of its own.
const THREAD_HEAP_MB = 64;
// The sandbox looks at the time between two steps of the code. A step can take longer than that: to fill an array
// of millions, for example.
export const PATIENCE = 2;

type ThreadResult = RunResult & { readonly broke?: BrokenPart };

/** Has the sandbox in a thread of its own. It runs one thing after another, until one brings the thread down. */
export class SandboxHost {
  readonly #worker: Worker;
  readonly #startedAt = performance.now();
  readonly #ready: Promise<ThreadMessage | undefined>;
  #hear: (message: ThreadMessage | undefined) => void = () => {};
  #isRunning = false;
  #hasEnded = false;
  #isWanted = true;

  constructor(private readonly limits: SandboxOptions) {
    const { memoryBytes, goesAfterEventLoop } = limits;
    this.#worker = new Worker(THREAD_FILE, {
      workerData: { memoryBytes, goesAfterEventLoop } satisfies SandboxOptions,
      // Nothing of the environment, which has secrets.
      env: {},
      execArgv: THREAD_FILE.endsWith('.ts') ? TYPESCRIPT : [],
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB },
      // Its own, and nobody reads them: WebAssembly that is brought down says so there, as often as the code likes.
      stdout: true,
      stderr: true,
    });
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
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

  /** What its start took. */
  get startMs(): Promise<number> {
    return this.#ready.then((ready) =>
      ready?.kind === 'ready' && ready.thread !== undefined
        ? readUsedMs(ready.thread)
        : performance.now() - this.#startedAt,
    );
  }

  /** @throws Error when the thread can't be started, or is ended by `end`. */
  async run(run: SandboxRun): Promise<ThreadResult> {
    this.#isRunning = true;
    const ready = await this.#ready;
    if (ready?.kind !== 'ready') throw new Error('The thread of the sandbox did not start.');
    const watch = new Watch(ready.thread, run.timeoutMs, () => void this.#worker.terminate());
    this.#worker.postMessage(run);
    const message = await this.#nextMessage();
    watch.stop();
    this.#isRunning = false;
    // One that is being ended may still answer. It can take no other run.
    if (message?.kind === 'ended' && !watch.hasEnded) {
      const { logs, tookMs, isRenewed } = message.reply;
      return {
        ...endOf(message.reply, run, this.limits),
        logs,
        tookMs,
        ...(isRenewed && { broke: 'instance' }),
      };
    }
    if (!this.#isWanted) throw new Error('The thread of the sandbox has ended.');
    await this.end();
    const fault = watch.hasEnded ? tookTooLong(run) : TOO_DEEP;
    return { kind: 'failed', message: fault, logs: [], tookMs: watch.readMs(), broke: 'thread' };
  }

  async end(): Promise<void> {
    this.#isWanted = false;
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

const TOO_DEEP = 'The code nests calls or values too deeply for the sandbox.';

/** Ends a thread that uses the processor for so long that the sandbox itself can't have an eye on the time. */
class Watch {
  readonly #timer: NodeJS.Timeout;
  readonly #usedBefore: number;
  #usedMs = 0;
  hasEnded = false;

  constructor(
    private readonly thread: string | undefined,
    timeoutMs: number,
    onHang: () => void,
  ) {
    this.#usedBefore = readUsedMs(thread);
    this.#timer = setInterval(() => {
      if (this.readMs() < timeoutMs * PATIENCE) return;
      this.hasEnded = true;
      this.stop();
      onHang();
    }, timeoutMs / 2);
  }

  /** What the run has used so far, at least the last time that the thread was there. */
  readMs(): number {
    const usedMs = readUsedMs(this.thread) - this.#usedBefore;
    this.#usedMs = Math.max(this.#usedMs, usedMs);
    return this.#usedMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The processor time of a thread, or the time where the system does not tell it. 0: it has ended. Milliseconds. */
function readUsedMs(thread: string | undefined): number {
  if (thread === undefined) return performance.now();
  try {
    // In nanoseconds.
    return Number.parseInt(readFileSync(`${thread}/schedstat`, 'latin1'), 10) / 1e6;
  } catch {
    return 0;
  }
}

function endOf(reply: SandboxEnd, run: SandboxRun, { memoryBytes }: SandboxOptions): RunEnd {
  switch (reply.kind) {
    case 'loaded':
    case 'cancelled':
      return { kind: reply.kind };
    case 'returned':
      return { kind: 'returned', text: reply.text, headers: reply.headers };
    case 'too_deep':
      return { kind: 'failed', message: TOO_DEEP };
    case 'threw':
      return { kind: 'failed', message: reply.message, ...placeOf(reply) };
    case 'took_too_long':
      return { kind: 'failed', message: tookTooLong(run), ...placeOf(reply) };
    case 'took_too_much_memory': {
      const megabytes = Math.round(memoryBytes / 1024 / 1024);
      return { kind: 'failed', message: `It took more than ${megabytes} MB of memory.`, ...placeOf(reply) };
    }
  }
}

function placeOf({ line, column }: CodePlace) {
  return { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) };
}

function tookTooLong({ timeoutMs }: SandboxRun): string {
  return `It took longer than ${timeoutMs} ms.`;
}
