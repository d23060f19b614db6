import {
  type AccountId,
  accountIdSchema,
  accountNotFound,
  DEFAULT_ACCOUNT,
  idOfKey,
  isThere,
  type Principal,
} from '../domain/account';
import { AppError } from '../platform/app-error';
import { createLru } from '../platform/caches';
import { keyIn } from './authenticate';
import type { AccountStore } from './redis-account-store';

export interface ResolveAccountContext {
  readonly accountStore: Pick<AccountStore, 'find'>;
}

/**
 * Resolve the account that a request is for: the key's own, or the one that an operator names. The scopes
 * stay unchanged.
 *
 * @throws AppError `operator_only` for any other key, before the account is looked up; `not_found` when the
 *   account does not exist, or is being erased.
 */
export async function resolveAccount(
  { accountStore }: ResolveAccountContext,
  principal: Principal,
  account: string | undefined,
): Promise<Principal> {
  if (account === undefined || account === principal.accountId) return principal;
  requireOperator(principal);
  const id = accountIdSchema.safeParse(account).data;
  const found = id === undefined ? undefined : await accountStore.find(id);
  if (id === undefined || !isThere(found)) throw accountNotFound();
  return { ...principal, accountId: id };
}

/**
 * Require a key that may administer any other account.
 *
 * @throws AppError `operator_only`.
 */
export function requireOperator({ accountId, scopes }: Principal): void {
  if (accountId === DEFAULT_ACCOUNT && scopes.includes('admin')) return;
  throw new AppError(
    'operator_only',
    `Only a key of the account "${DEFAULT_ACCOUNT}" with the scope "admin" may do this.`,
  );
}

const REMEMBERED_KEYS = 10_000;

/**
 * The accounts of API keys that were valid here: a key never changes its account. Says nothing about whether
 * a key is still valid.
 */
export class KnownAccounts {
  readonly #accounts = createLru<string, AccountId>(REMEMBERED_KEYS);

  note({ id, accountId, capabilities }: Pick<Principal, 'id' | 'accountId' | 'capabilities'>): void {
    // Not of sessions, which come and go.
    if (capabilities === undefined && this.#accounts.get(id) === undefined) this.#accounts.set(id, accountId);
  }

  /** The account of the key that an `Authorization` header names. */
  of(authorization: string | undefined): AccountId | undefined {
    const id = idOfKey(keyIn(authorization) ?? '');
    return id === undefined ? undefined : this.#accounts.get(id);
  }
}

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
    private readonly accountStore: Pick<AccountStore, 'findStanding'>,
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
