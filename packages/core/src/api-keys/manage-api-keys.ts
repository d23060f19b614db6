import { isThere } from '../accounts/account';
import { accountNotFound } from '../accounts/account-not-found';
import type { AccountStore } from '../accounts/redis-account-store';
import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { Clock } from '../runtime/clock';
import { type ApiKey, hashKey, idOfKey } from './api-key';
import type { NewApiKey } from './api-key-input';
import type { ApiKeyPage, ApiKeyStore } from './redis-api-key-store';

export interface ManageApiKeysDeps {
  readonly apiKeyStore: ApiKeyStore;
  readonly accountStore: Pick<AccountStore, 'find'>;
  readonly newKey: () => string;
  readonly clock: Clock;
}

/** What a new key is made of. From the same again the same key comes, once. */
export interface Issue {
  readonly key: string;
  readonly createdAt: number;
}

export interface IssuedApiKey {
  /** What the client sends. It is not stored: this is the only time that it can be shown. */
  readonly key: string;
  readonly apiKey: ApiKey;
}

/** What an account can do with its keys. Every change is in force once its promise has resolved. */
export function createManageApiKeys({ apiKeyStore, accountStore, newKey, clock }: ManageApiKeysDeps) {
  return {
    /** @throws AppError `not_found` when the account is gone, or being erased. */
    async issue(
      accountId: AccountId,
      input: NewApiKey,
      { key, createdAt }: Issue = { key: newKey(), createdAt: clock() },
    ): Promise<IssuedApiKey> {
      const id = idOfKey(key);
      if (id === undefined)
        throw new AppError('internal_error', 'A new API key does not have the form of one.');
      const apiKey: ApiKey = { ...input, id, accountId, sha256: hashKey(key), createdAt };
      await apiKeyStore.save(apiKey);
      // Only now: whoever erases the account first marks it and then removes its keys, so one of both sees this one. Of a
      // slow request it may be long gone.
      if (!isThere(await accountStore.find(accountId))) {
        await apiKeyStore.remove(apiKey);
        throw accountNotFound();
      }
      return { key, apiKey };
    },

    list(accountId: AccountId, limit: number, before?: string): Promise<ApiKeyPage> {
      return apiKeyStore.list(accountId, limit, before);
    },

    /** The last one of an account too: there is the command line to issue another. @throws AppError `not_found`. */
    async revoke(accountId: AccountId, id: string): Promise<void> {
      const apiKey = await apiKeyStore.find(id);
      if (apiKey?.accountId !== accountId || !(await apiKeyStore.remove(apiKey))) {
        throw new AppError('not_found', 'There is no API key with this id.');
      }
    },
  };
}

export type ManageApiKeys = ReturnType<typeof createManageApiKeys>;
