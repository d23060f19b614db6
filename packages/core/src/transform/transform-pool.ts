import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { AccountId } from '../domain/account';
import type { Emit } from '../domain/signal';
import type { BrokenPart } from '../domain/signals/deliveries';
import { AppError } from '../platform/app-error';
import type { CodePlace, CodeRun, CodeRunner, RunEnd, RunResult } from './code-runner';
import type { SandboxEnd, SandboxOptions, SandboxRun, ThreadMessage } from './sandbox-thread';

/** The bounds of a run, and of what runs at once. */
export interface TransformLimits extends SandboxOptions, WaitingLimits {
  /** Of processor time, for a run. */
  readonly timeoutMs: number;
  /** Of what a run returns, in characters. */
  readonly maxOutput: number;
  readonly threads: number;
}

/** The most runs that wait, of one account and of all; more are refused. */
export interface WaitingLimits {
  readonly maxWaitingOfAccount: number;
  readonly maxWaiting: number;
}

interface Waiting extends CodeRun {
  readonly resolve: (result: RunResult) => void;
  readonly reject: (error: unknown) => void;
}

interface Account {
  /** Processor time, for which it is others' turn. */
  usedMs: number;
  readonly waiting: Waiting[];
}

/** Threads that an account's code broke, one soon after the other. */
interface Breaks {
  readonly count: number;
  /** By `now`. */
  readonly lastAt: number;
  readonly pausedUntil: number;
}

// One may be a mistake that is soon corrected.
const BREAKS_BEFORE_PAUSE = 2;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 120_000;
const FORGOTTEN_AFTER_MS = 600_000;

// Several times what usual code takes.
const SLOW_FROM_MS = 25;
// The first run in a thread takes several times as long as the next ones.
const LAST_RUN_SHARE = 0.2;
const KNOWN_ACCOUNTS = 10_000;

export interface TransformPoolParts {
  readonly limits: TransformLimits;
  readonly emit: Emit;
  /** In milliseconds, since any time. */
  readonly now?: () => number;
}

/**
 * Runs customers' code in threads of its own, apart from the event loop. The threads start with the first run.
 *
 * Whose turn it is follows from the processor time that accounts have used: who has used little goes before who has
 * used much, so code that takes all its time delays another account's by what runs at that moment. Accounts that have
 * used the same take turns. All that a run costs is used by its account: also a thread that has to be ended, and the
 * start of the next one. An account whose code goes on breaking threads is paused.
 *
 * Accounts whose code usually takes long or breaks its sandbox leave one thread to the others, and so do those whose code never
 * ran here: it may hold a thread for many times as long as a usual run.
 */
export class TransformPool implements CodeRunner {
  readonly #threads = new Set<SandboxThread>();
  /** Whose turn was the longest ago is first. */
  readonly #accounts = new Map<AccountId, Account>();
  readonly #breaks = new Map<AccountId, Breaks>();
  /** What a run of an account takes, the last ones more than those before. Milliseconds. */
  readonly #usualMs = new LRUCache<AccountId, number>({ max: KNOWN_ACCOUNTS });
  #slowRuns = 0;
  /** Those whose code broke a thread that has no successor yet. */
  readonly #owing: AccountId[] = [];
  readonly #limits: TransformLimits;
  readonly #emit: Emit;
  readonly #now: () => number;
  #waiting = 0;
  /** What those had used that went last: who comes after a while begins there, and has nothing saved up. */
  #usedMs = 0;
  #isClosed = false;

  constructor({ limits, emit, now = () => performance.now() }: TransformPoolParts) {
    this.#limits = limits;
    this.#emit = emit;
    this.#now = now;
  }

  async run(run: CodeRun): Promise<RunResult> {
    const { maxWaiting, maxWaitingOfAccount } = this.#limits;
    const pauseMs = this.#pauseMsOf(run.accountId);
    if (pauseMs > 0) throw paused(pauseMs);
    const { waiting } = this.#accountOf(run.accountId);
    if (this.#isClosed || this.#waiting >= maxWaiting || waiting.length >= maxWaitingOfAccount)
      throw tooBusy();
    return await new Promise((resolve, reject) => {
      this.#waiting += 1;
      waiting.push({ ...run, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const account of this.#accounts.values()) this.#refuseWaiting(account, tooBusy());
    this.#accounts.clear();
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  #accountOf(id: AccountId): Account {
    const known = this.#accounts.get(id);
    if (known) return known;
    const account = { usedMs: this.#usedMs, waiting: [] };
    this.#accounts.set(id, account);
    return account;
  }

  #next(): void {
    while (this.#waiting > 0) {
      const id = this.#findNext();
      const thread = id && ([...this.#threads].find(({ isFree }) => isFree) ?? this.#startThread());
      if (!id || !thread) return;
      void this.#runIn(thread, this.#take(id));
    }
  }

  /** Whose turn it is. `undefined`: nobody's that may begin now. */
  #findNext(): AccountId | undefined {
    const mayBeSlow = this.#slowRuns < Math.max(this.#limits.threads - 1, 1);
    let next: { readonly id: AccountId; readonly usedMs: number } | undefined;
    for (const [id, { waiting, usedMs }] of this.#accounts) {
      const isBefore = next === undefined || usedMs < next.usedMs;
      if (waiting.length > 0 && isBefore && (mayBeSlow || !this.#isSlow(id))) next = { id, usedMs };
    }
    return next?.id;
  }

  #isSlow(id: AccountId): boolean {
    return (this.#usualMs.get(id) ?? Number.POSITIVE_INFINITY) >= SLOW_FROM_MS;
  }

  #startThread(): SandboxThread | undefined {
    if (this.#threads.size >= this.#limits.threads) return undefined;
    const thread = new SandboxThread(this.#limits);
    this.#threads.add(thread);
    const breaker = this.#owing.shift();
    if (breaker !== undefined) void thread.startMs.then((startMs) => this.#charge(breaker, startMs));
    return thread;
  }

  #take(id: AccountId): Waiting {
    const account = this.#accountOf(id);
    const run = account.waiting.shift();
    if (!run) throw new TypeError('Nothing waits.');
    // Behind those who have used as much.
    this.#accounts.delete(id);
    this.#accounts.set(id, account);
    this.#waiting -= 1;
    this.#usedMs = Math.max(this.#usedMs, account.usedMs);
    return run;
  }

  async #runIn(thread: SandboxThread, waiting: Waiting): Promise<void> {
    const { accountId, code, input, resolve, reject } = waiting;
    const { timeoutMs, maxOutput } = this.#limits;
    const wasSlow = this.#isSlow(accountId);
    if (wasSlow) this.#slowRuns += 1;
    try {
      const { broke, ...result } = await thread.run({ code, input, timeoutMs, maxOutput });
      this.#charge(accountId, result.tookMs);
      this.#noteUsual(accountId, broke ? Math.max(result.tookMs, timeoutMs * PATIENCE) : result.tookMs);
      if (broke) this.#noteBreak(accountId, broke, result.tookMs);
      resolve(result);
    } catch (error) {
      reject(error);
    }
    if (wasSlow) this.#slowRuns -= 1;
    if (!thread.isFree) this.#threads.delete(thread);
    if (!this.#isClosed) this.#next();
  }

  #charge(accountId: AccountId, tookMs: number): void {
    this.#accountOf(accountId).usedMs += tookMs;
    this.#emit({ name: 'transformation.charged', accountId, tookMs });
    // An account that has nothing waiting and is not ahead of the others can be forgotten.
    for (const [id, { usedMs, waiting }] of this.#accounts) {
      if (waiting.length === 0 && usedMs <= this.#usedMs) this.#accounts.delete(id);
    }
  }

  #noteUsual(accountId: AccountId, tookMs: number): void {
    const usualMs = this.#usualMs.get(accountId) ?? tookMs;
    this.#usualMs.set(accountId, usualMs + (tookMs - usualMs) * LAST_RUN_SHARE);
  }

  #noteBreak(accountId: AccountId, part: BrokenPart, tookMs: number): void {
    const pausedForMs = part === 'thread' ? this.#countBreak(accountId) : 0;
    this.#emit({ name: 'transformation.broke_sandbox', accountId, part, tookMs, pausedForMs });
    if (pausedForMs > 0) this.#refuseWaiting(this.#accountOf(accountId), paused(pausedForMs));
  }

  /** @returns for how long the account is paused */
  #countBreak(accountId: AccountId): number {
    const now = this.#now();
    for (const [id, { lastAt }] of this.#breaks)
      if (now - lastAt >= FORGOTTEN_AFTER_MS) this.#breaks.delete(id);
    const count = (this.#breaks.get(accountId)?.count ?? 0) + 1;
    const doubled = FIRST_PAUSE_MS * 2 ** Math.min(count - BREAKS_BEFORE_PAUSE, 10);
    const pauseMs = count < BREAKS_BEFORE_PAUSE ? 0 : Math.min(doubled, LONGEST_PAUSE_MS);
    this.#breaks.set(accountId, { count, lastAt: now, pausedUntil: now + pauseMs });
    this.#owing.push(accountId);
    return pauseMs;
  }

  #pauseMsOf(accountId: AccountId): number {
    const { pausedUntil = 0 } = this.#breaks.get(accountId) ?? {};
    return pausedUntil - this.#now();
  }

  #refuseWaiting({ waiting }: Account, error: AppError): void {
    this.#waiting -= waiting.length;
    for (const { reject } of waiting.splice(0)) reject(error);
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

function paused(retryAfterMs: number): AppError {
  const detail =
    "The account's transformations are paused, because its code did not end in time and could not be stopped several times. Correct the code.";
  return new AppError('rate_limited', detail, { retryAfterMs });
}

const THREAD_FILE = require.resolve('./sandbox-thread');
// Tests run the source as it is.
const TYPESCRIPT = ['--require', 'esbuild-register'];
// Of its own heap; what the code takes has a bound of its own.
const THREAD_HEAP_MB = 64;
// The sandbox looks at the time between two steps of the code. A step can take longer than that: to fill an array
// of millions, for example.
const PATIENCE = 2;

type ThreadResult = RunResult & { readonly broke?: BrokenPart };

/** A thread that runs one thing after another, until one brings it down. */
class SandboxThread {
  readonly #worker: Worker;
  readonly #startedAt = performance.now();
  readonly #ready: Promise<ThreadMessage | undefined>;
  #hear: (message: ThreadMessage | undefined) => void = () => {};
  #isRunning = false;
  #hasEnded = false;
  #isWanted = true;

  constructor(private readonly limits: SandboxOptions) {
    const { memoryBytes } = limits;
    this.#worker = new Worker(THREAD_FILE, {
      workerData: { memoryBytes } satisfies SandboxOptions,
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
