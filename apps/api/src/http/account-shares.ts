import { performance } from 'node:perf_hooks';
import type { AccountId } from '@hookferry/core/domain/account';

// Each request takes several turns of the event loop. In each it waits for one piece of every other request that
// is worked on, so this many cost others a few milliseconds. It is enough to keep the process and Redis at work.
const MOST_BESIDE_OTHERS = 16;
const OTHERS_REMEMBERED_MS = 1_000;

interface Share {
  /** Requests that are worked on. */
  underWay: number;
  readonly waiting: (() => void)[];
}

/** Slow reads are not to keep an account from publishing. */
export type ShareKind = 'reading' | 'changing';

/**
 * Limits how many requests of one account are worked on at once while other accounts send some too. The rest wait
 * in a line of the account, one for each kind, and the other accounts' requests pass them. An account that is alone has
 * no limit.
 */
export class AccountShares {
  readonly #shares = new Map<string, Share>();
  #lastAccount: AccountId | undefined;
  #othersUntil = 0;

  /** @param now in milliseconds, since any time. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Every request that has begun calls `end`. @returns `undefined`: it may begin at once. */
  take(accountId: AccountId, kind: ShareKind): Promise<void> | undefined {
    const share = this.#shareOf(`${kind} ${accountId}`);
    this.#noteAccount(accountId);
    if (this.#hasRoom(share) && share.waiting.length === 0) {
      share.underWay += 1;
      return undefined;
    }
    return new Promise((begin) => share.waiting.push(begin));
  }

  end(accountId: AccountId, kind: ShareKind): void {
    const name = `${kind} ${accountId}`;
    const share = this.#shareOf(name);
    share.underWay -= 1;
    while (share.waiting.length > 0 && this.#hasRoom(share)) {
      share.underWay += 1;
      share.waiting.shift()?.();
    }
    if (share.underWay === 0) this.#shares.delete(name);
  }

  #shareOf(name: string): Share {
    const known = this.#shares.get(name);
    if (known) return known;
    const share: Share = { underWay: 0, waiting: [] };
    this.#shares.set(name, share);
    return share;
  }

  #noteAccount(accountId: AccountId): void {
    if (this.#lastAccount === accountId) return;
    if (this.#lastAccount !== undefined) this.#othersUntil = this.now() + OTHERS_REMEMBERED_MS;
    this.#lastAccount = accountId;
  }

  #hasRoom({ underWay }: Share): boolean {
    return underWay < MOST_BESIDE_OTHERS || this.now() >= this.#othersUntil;
  }
}
