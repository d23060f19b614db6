import { performance } from 'node:perf_hooks';
import { setImmediate as onNextTurn } from 'node:timers';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import type { AccountId } from '../domain/account';
import { AppError } from '../platform/app-error';

/** Parsing and checking a longer body may take tens of milliseconds of processor time. */
export const LARGE_BYTES = 16 * 1024;
// Their bodies are in memory while they wait.
const MOST_WAITING = 32;
const RETRY_AFTER_MS = 1_000;
/** Longer than any heavy work takes. A turn that is never ended blocks the others for this long at most. */
export const LONGEST_TURN_MS = 5_000;
// Several times the longest known piece of work: parsing a body of 5 MB with nothing but keys takes 0.1 s of
// processor time. A measurement may include time in which the whole process stood still.
const LONGEST_PAUSE_MS = 1_000;

/** @param blockedMs for how long other work was blocked: an equal pause follows, up to a second. */
type EndTurn = (blockedMs: number) => void;

/**
 * Does heavy work one at a time: accounts take turns, and after each turn the process has as much time for
 * other work as the turn took in one go, up to a second. So whatever an account sends, other requests wait
 * for one piece of its work, not for all.
 */
export class HeavyTurns {
  readonly #waiting = new Map<AccountId, ((end: EndTurn) => void)[]>();
  #isTaken = false;

  /** @throws AppError `rate_limited` when too many requests of the account wait already. */
  async take(accountId: AccountId): Promise<EndTurn> {
    const others = this.#waiting.get(accountId) ?? [];
    if (others.length >= MOST_WAITING) {
      throw new AppError(
        'rate_limited',
        `${MOST_WAITING} large requests of the account are waiting already. Send them one after the other.`,
        { retryAfterMs: RETRY_AFTER_MS },
      );
    }
    const turn = new Promise<EndTurn>((begin) => others.push(begin));
    this.#waiting.set(accountId, others);
    this.#beginNext();
    return await turn;
  }

  /** Do one piece of work. @throws as `take` does. */
  async run<Result>(accountId: AccountId, work: () => Promise<Result>): Promise<Result> {
    const turn = new Turn(await this.take(accountId));
    try {
      return await work();
    } finally {
      turn.end();
    }
  }

  #beginNext(): void {
    if (this.#isTaken) return;
    for (const [accountId, [begin, ...others]] of this.#waiting) {
      // Behind the other accounts.
      this.#waiting.delete(accountId);
      if (others.length > 0) this.#waiting.set(accountId, others);
      if (begin === undefined) continue;
      this.#isTaken = true;
      begin(this.#endOnce());
      return;
    }
  }

  #endOnce(): EndTurn {
    let hasEnded = false;
    const end: EndTurn = (blockedMs) => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      void this.#pause(blockedMs);
    };
    const timer = setTimeout(end, LONGEST_TURN_MS, 0);
    timer.unref();
    return end;
  }

  async #pause(ms: number): Promise<void> {
    await (ms < 1 ? setImmediate() : wait(Math.min(ms, LONGEST_PAUSE_MS), undefined, { ref: false }));
    this.#isTaken = false;
    this.#beginNext();
  }
}

/**
 * A request's turn. It ends when the work is done. The client decides how long the response then takes to be
 * read, and behind another response on the same connection it may take as long as the client likes.
 */
export class Turn {
  readonly #begunAt = performance.eventLoopUtilization();
  #blockedMs: number | undefined;

  constructor(private readonly endTurn: EndTurn) {}

  /** From the next turn of the event loop on, other work can run every few milliseconds. */
  letOthersInSoon(): void {
    onNextTurn(() => {
      this.#blockedMs ??= this.#busyMs();
    });
  }

  /** May be called twice. */
  end(): void {
    this.endTurn(this.#blockedMs ?? this.#busyMs());
  }

  // Over all requests: time that other requests took meanwhile is given to them once more.
  #busyMs(): number {
    return performance.eventLoopUtilization(this.#begunAt).active;
  }
}
