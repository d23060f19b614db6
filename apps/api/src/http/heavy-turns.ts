import { performance } from 'node:perf_hooks';
import { setImmediate as onNextTurn } from 'node:timers';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import type { AccountId } from '@hookferry/core/domain/account';
import { AppError } from '@hookferry/core/platform/app-error';

/** To parse and check a longer body may take the processor for tens of milliseconds. */
export const LARGE_BYTES = 16 * 1024;
// They are in memory while they wait.
const MOST_WAITING = 32;
const RETRY_AFTER_MS = 1_000;
// Nothing that is heavy takes longer to make; so a turn that nobody ends holds up the others for no longer than this.
const LONGEST_TURN_MS = 5_000;
// Several times the longest piece of work that is known (to parse a body of 5 MB with nothing but keys takes 0.1 s of processor
// time). What was measured may include time in which the whole process stood still.
const LONGEST_PAUSE_MS = 1_000;

/** @param blockedMs for how long nobody else could do anything: as long a pause follows, up to a second. */
type EndTurn = (blockedMs: number) => void;

/**
 * One at a time does what is heavy: accounts take turns, and after each turn the process has as much time for all others as
 * it took in one go, up to a second. So whatever an account sends, the others' requests wait for one piece of its work, not for all.
 */
export class HeavyTurns {
  readonly #waiting = new Map<AccountId, ((end: EndTurn) => void)[]>();
  #isTaken = false;

  /** @throws AppError `rate_limited` when too many of the account's wait already. */
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
 * A request's turn. It ends when the work is done: how long the answer then takes to be read is its client's to say, and
 * behind another answer on the same connection it may take as long as the client likes.
 */
export class Turn {
  readonly #begunAt = performance.eventLoopUtilization();
  #blockedMs: number | undefined;

  constructor(private readonly endTurn: EndTurn) {}

  /** From the next turn of the event loop on others can do something every few milliseconds. */
  letOthersInSoon(): void {
    onNextTurn(() => {
      this.#blockedMs ??= this.#busyMs();
    });
  }

  /** May be called twice. */
  end(): void {
    this.endTurn(this.#blockedMs ?? this.#busyMs());
  }

  // Of all requests together: what the others took meanwhile is given to them once more.
  #busyMs(): number {
    return performance.eventLoopUtilization(this.#begunAt).active;
  }
}
