import { createLru } from '../kernel/lru';
import { idOfKey } from '../model/api-key';
import type { AccountId } from '../model/event';
import type { Principal } from '../model/principal';
import { keyIn } from './authenticate';

const REMEMBERED_KEYS = 10_000;

/** Whose the API keys are that were good here: a key never changes its account. Says nothing of whether one still is good. */
export class KnownAccounts {
  readonly #accounts = createLru<string, AccountId>(REMEMBERED_KEYS);

  note({ id, accountId, capabilities }: Pick<Principal, 'id' | 'accountId' | 'capabilities'>): void {
    // Not of sessions, which come and go.
    if (capabilities === undefined) this.#accounts.set(id, accountId);
  }

  /** The account of the key that an `Authorization` header names. */
  of(authorization: string | undefined): AccountId | undefined {
    const id = idOfKey(keyIn(authorization) ?? '');
    return id === undefined ? undefined : this.#accounts.get(id);
  }
}
