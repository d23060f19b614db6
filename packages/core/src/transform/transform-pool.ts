import { LRUCache } from 'lru-cache';
import type { AccountId } from '../domain/account';
import type { Emit } from '../domain/signal';
import type { BrokenPart } from '../domain/signals/deliveries';
import { AppError } from '../platform/app-error';
import type { CodeRun, CodeRunner, RunResult } from './code-runner';
import { PATIENCE, SandboxHost } from './sandbox-host';
import type { SandboxOptions } from './sandbox-thread';

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
  readonly #threads = new Set<SandboxHost>();
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
      if (!id) return;
      let thread: SandboxHost | undefined;
      try {
        thread = [...this.#threads].find(({ isFree }) => isFree) ?? this.#startThread();
      } catch (cause) {
        // The machine allows no more threads. Those that there are go on; without one, nobody would ever run this.
        if (this.#threads.size > 0) return;
        this.#take(id).reject(tooBusy(cause));
        continue;
      }
      if (!thread) return;
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

  /** @returns `undefined`: there are as many as there may be. @throws Error when the machine allows no more. */
  #startThread(): SandboxHost | undefined {
    if (this.#threads.size >= this.#limits.threads) return undefined;
    const thread = new SandboxHost(this.#limits);
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

  async #runIn(thread: SandboxHost, waiting: Waiting): Promise<void> {
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

function tooBusy(cause?: unknown): AppError {
  const detail = 'Too many transformations wait for their turn: try again in a moment.';
  return new AppError('rate_limited', detail, {
    retryAfterMs: 1_000,
    ...(cause === undefined ? {} : { cause }),
  });
}

function paused(retryAfterMs: number): AppError {
  const detail =
    "The account's transformations are paused, because its code did not end in time and could not be stopped several times. Correct the code.";
  return new AppError('rate_limited', detail, { retryAfterMs });
}
