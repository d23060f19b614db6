import type { AccountId } from '../domain/account';
import { createLru } from '../platform/caches';
import type { AccountStore } from './redis-account-store';

const REMEMBERED_ACCOUNTS = 1_000;
/** The erasure of an account waits for longer than this for work that began with it. */
export const OPEN_REMEMBERED_FOR_MS = 1_000;

/** An account whose events are taken. */
export interface OpenAccount {
  /** For how many days the history keeps what moves there. `undefined`: as long as for any account. */
  readonly historyDays: number | undefined;
}

interface RememberedAccount extends OpenAccount {
  readonly since: number;
}

/**
 * The accounts whose events are taken off the queue: not one that is being erased, or was erased recently.
 * The result is cached for a second. Events of an account that never existed are taken: it has no endpoint to
 * send them to.
 */
export class OpenAccounts {
  readonly #known = createLru<AccountId, RememberedAccount>(REMEMBERED_ACCOUNTS);

  /** @param now milliseconds by a clock that never jumps, such as `steadyClock`. */
  constructor(
    private readonly accountStore: AccountStore,
    private readonly now: () => number,
  ) {}

  /** `undefined`: its events are not taken. */
  async find(accountId: AccountId): Promise<OpenAccount | undefined> {
    const since = this.now();
    const known = this.#known.get(accountId);
    if (known && since - known.since < OPEN_REMEMBERED_FOR_MS) return known;
    const { isErased, historyDays } = await this.accountStore.findStanding(accountId);
    if (isErased) return undefined;
    const account = { historyDays, since };
    this.#known.set(accountId, account);
    return account;
  }

  async takesEvents(accountId: AccountId): Promise<boolean> {
    return (await this.find(accountId)) !== undefined;
  }
}
