import { LRUCache } from 'lru-cache';
import type { AccountId } from '../domain/account';
import type { Emit } from '../domain/signal';
import type { BrokenPart } from '../domain/signals/deliveries';
import { AppError } from '../platform/app-error';
import type { CodeRun, CodeRunner, RunResult } from './code-runner';
import { PATIENCE, SandboxHost } from './sandbox-host';
import type { SandboxOptions } from './sandbox-thread';

/** The bounds of a run, and of what runs at once. */
export interface TransformLimits extends Omit<SandboxOptions, 'goesAfterEventLoop'>, WaitingLimits {
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
const BUSY_FOR_MS = 1_000;

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

/** Threads of one priority, as many as there may be. Each starts when it is needed. */
class Threads {
  readonly #started = new Set<SandboxHost>();
  /** Why the machine allowed no more, the last time that one was to start. */
  refusal: unknown;

  constructor(
    private readonly most: number,
    private readonly options: SandboxOptions,
    private readonly onStart: (thread: SandboxHost) => void,
  ) {}

  get count(): number {
    return this.#started.size;
  }

  get haveRoom(): boolean {
    return this.#started.size < this.most || this.#findFree() !== undefined;
  }

  /** @returns `undefined`: all are at work, and there may be no more. */
  take(): SandboxHost | undefined {
    return this.#findFree() ?? this.#start();
  }

  /** One that its run has brought down has a successor. */
  forgetIfEnded(thread: SandboxHost): void {
    if (!thread.isFree) this.#started.delete(thread);
  }

  async end(): Promise<void> {
    await Promise.all([...this.#started].map((thread) => thread.end()));
  }

  #findFree(): SandboxHost | undefined {
    return [...this.#started].find(({ isFree }) => isFree);
  }

  #start(): SandboxHost | undefined {
    if (this.#started.size >= this.most) return undefined;
    try {
      const thread = new SandboxHost(this.options);
      this.#started.add(thread);
      this.onStart(thread);
      return thread;
    } catch (refusal) {
      this.refusal = refusal;
      return undefined;
    }
  }
}

/**
 * Runs customers' code in threads of its own, apart from the event loop. The threads start with the first run.
 *
 * Whose turn it is follows from the processor time that accounts have used: who has used little goes before who has
 * used much, so code that takes all its time delays another account's by what runs at that moment. Accounts that have
 * used the same take turns. All that a run costs is used by its account: also a thread that has to be ended, and the
 * start of the next one. An account whose code goes on breaking threads is paused.
 *
 * One thread is for accounts whose code is known to be quick, and goes on as the event loop does. Code that usually takes long or
 * breaks its sandbox, or never ran here, has the other threads, which go after the event loop: it may hold one for many times as
 * long as a usual run. With a single thread, all share it.
 */
export class TransformPool implements CodeRunner {
  readonly #quickThreads: Threads;
  readonly #threads: Threads;
  /** Whose turn was the longest ago is first. */
  readonly #accounts = new Map<AccountId, Account>();
  readonly #breaks = new Map<AccountId, Breaks>();
  /** What a run of an account takes, the last ones more than those before. Milliseconds. */
  readonly #usualMs = new LRUCache<AccountId, number>({ max: KNOWN_ACCOUNTS });
  /** When a thread would come to the next run of an account that is refused. By `now`. */
  readonly #turnAt = new LRUCache<AccountId, number>({ max: KNOWN_ACCOUNTS });
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
    const quick = limits.threads > 1 ? 1 : 0;
    // Who broke a thread pays for its successor.
    const chargeStart = (thread: SandboxHost) => {
      const breaker = this.#owing.shift();
      if (breaker !== undefined) void thread.startMs.then((startMs) => this.#charge(breaker, startMs));
    };
    const common = limits.threads - quick;
    this.#quickThreads = new Threads(quick, { ...limits, goesAfterEventLoop: false }, chargeStart);
    this.#threads = new Threads(common, { ...limits, goesAfterEventLoop: true }, chargeStart);
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
      throw tooBusy(this.#nextTurnMsOf(run.accountId));
    return await new Promise((resolve, reject) => {
      this.#waiting += 1;
      waiting.push({ ...run, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const account of this.#accounts.values()) this.#refuseWaiting(account, tooBusy(BUSY_FOR_MS));
    this.#accounts.clear();
    await Promise.all([this.#quickThreads.end(), this.#threads.end()]);
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
      if (!id) return;
      const thread = this.#findThread(id);
      if (thread) {
        void this.#runIn(thread, this.#take(id));
        continue;
      }
      // The machine allows no more threads. Those that there are go on; without one, nobody would ever run this.
      if (this.#quickThreads.count + this.#threads.count > 0) return;
      this.#take(id).reject(tooBusy(BUSY_FOR_MS, this.#threads.refusal));
    }
  }

  /** Whose turn it is. `undefined`: nobody's that may begin now. */
  #findNext(): AccountId | undefined {
    const mayBeSlow = this.#threads.haveRoom;
    if (!mayBeSlow && !this.#quickThreads.haveRoom) return undefined;
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

  /** @returns `undefined`: the machine allows no more. */
  #findThread(id: AccountId): SandboxHost | undefined {
    const quick = this.#isSlow(id) ? undefined : this.#quickThreads.take();
    return quick ?? this.#threads.take();
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

  async #runIn(thread: SandboxHost, waiting: Waiting): Promise<void> {
    const { accountId, code, input, resolve, reject } = waiting;
    const { timeoutMs, maxOutput } = this.#limits;
    try {
      const { broke, ...result } = await thread.run({ code, input, timeoutMs, maxOutput });
      this.#charge(accountId, result.tookMs);
      this.#noteUsual(accountId, broke ? Math.max(result.tookMs, timeoutMs * PATIENCE) : result.tookMs);
      if (broke) this.#noteBreak(accountId, broke, result.tookMs);
      resolve(result);
    } catch (error) {
      reject(error);
    }
    for (const threads of [this.#quickThreads, this.#threads]) threads.forgetIfEnded(thread);
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

  /**
   * In how long a run that is refused would have its turn. Those of one account are told one turn after the other: if all came
   * back at once, they would be refused again, which takes more than to run them.
   */
  #nextTurnMsOf(accountId: AccountId): number {
    const now = this.#now();
    const turnMs =
      (this.#usualMs.get(accountId) ?? this.#limits.timeoutMs) / Math.max(this.#limits.threads - 1, 1);
    const wishedAt = Math.max(this.#turnAt.get(accountId) ?? 0, now + BUSY_FOR_MS);
    const at = Math.min(wishedAt, now + LONGEST_PAUSE_MS);
    this.#turnAt.set(accountId, at + turnMs);
    return Math.ceil(at - now);
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

function tooBusy(retryAfterMs: number, cause?: unknown): AppError {
  const detail = 'Too many transformations wait for their turn: try again in a moment.';
  return new AppError('rate_limited', detail, {
    retryAfterMs,
    ...(cause === undefined ? {} : { cause }),
  });
}

function paused(retryAfterMs: number): AppError {
  const detail =
    "The account's transformations are paused, because its code did not end in time and could not be stopped several times. Correct the code.";
  return new AppError('rate_limited', detail, { retryAfterMs });
}
