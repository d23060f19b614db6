import { type AccountId, DEFAULT_ACCOUNT } from '../domain/account';
import { createLru } from '../platform/caches';
import type { AccountStanding, AccountStore } from './redis-account-store';

const REMEMBERED_ACCOUNTS = 1_000;
/** The erasure of an account waits for longer than this for work that began with it. */
export const OPEN_REMEMBERED_FOR_MS = 1_000;

/** An account whose events are taken. */
export interface OpenAccount {
  /** For how many days the history keeps what moves there. `undefined`: as long as for any account. */
  readonly historyDays: number | undefined;
}

interface RememberedAccount {
  readonly standing: AccountStanding;
  readonly since: number;
}

/** The standings of accounts, as workers need them for each event. That an account is open is cached for a second. */
export class OpenAccounts {
  readonly #known = createLru<AccountId, RememberedAccount>(REMEMBERED_ACCOUNTS);

  /** @param now milliseconds by a clock that never jumps, such as `steadyClock`. */
  constructor(
    private readonly accountStore: AccountStore,
    private readonly now: () => number,
  ) {}

  async standingOf(accountId: AccountId): Promise<AccountStanding> {
    const since = this.now();
    const known = this.#known.get(accountId);
    if (known && since - known.since < OPEN_REMEMBERED_FOR_MS) return known.standing;
    const standing = await this.accountStore.findStanding(accountId);
    if (standing.state === 'open') this.#known.set(accountId, { standing, since });
    // A producer may publish before the first API has started, which makes that account.
    const isStillToCome = standing.state === 'unknown' && accountId === DEFAULT_ACCOUNT;
    return isStillToCome ? { state: 'open', historyDays: undefined } : standing;
  }

  /** `undefined`: it is being erased, or was. An account that never existed has nothing that could be erased. */
  async find(accountId: AccountId): Promise<OpenAccount | undefined> {
    const standing = await this.standingOf(accountId);
    if (standing.state === 'erased') return undefined;
    return { historyDays: standing.state === 'open' ? standing.historyDays : undefined };
  }
}
