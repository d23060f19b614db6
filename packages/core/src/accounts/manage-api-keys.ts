import { AppError } from '../kernel/app-error';
import type { Clock } from '../kernel/clock';
import { accountNotFound, isThere } from '../model/account';
import { type ApiKey, hashKey, idOfKey } from '../model/api-key';
import type { AccountId } from '../model/event';
import type { NewApiKey } from './api-key-input';
import type { AccountStore } from './redis-account-store';
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

export interface Revocation {
  /** Whether it may be the last key of its account that can issue others. */
  readonly mayBeLast?: boolean;
}

const KEYS_AT_ONCE = 100;

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

    /**
     * @throws AppError `not_found`; `last_admin_key` if nobody but the operator could issue a key for the account then.
     */
    async revoke(accountId: AccountId, id: string, { mayBeLast = false }: Revocation = {}): Promise<void> {
      const apiKey = await apiKeyStore.find(id);
      if (apiKey?.accountId !== accountId) throw keyNotFound();
      if (canIssue(apiKey)) await leave(apiKey, mayBeLast);
      if (!(await apiKeyStore.remove(apiKey))) throw keyNotFound();
    },
  };

  async function leave(apiKey: ApiKey, mayBeLast: boolean): Promise<void> {
    if (mayBeLast) return void (await apiKeyStore.leave(apiKey));
    for await (const other of keysOf(apiKey.accountId)) {
      const isAnother = other.id !== apiKey.id && canIssue(other);
      if (isAnother && (await apiKeyStore.leave(apiKey, other.id))) return;
    }
    throw lastAdminKey();
  }

  async function* keysOf(accountId: AccountId): AsyncGenerator<ApiKey> {
    let cursor: string | undefined;
    do {
      const page = await apiKeyStore.list(accountId, KEYS_AT_ONCE, cursor);
      yield* page.apiKeys;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  function canIssue({ scopes, expiresAt = Number.POSITIVE_INFINITY }: ApiKey): boolean {
    return scopes.includes('admin') && expiresAt > clock();
  }
}

function keyNotFound(): AppError {
  return new AppError('not_found', 'There is no API key with this id.');
}

function lastAdminKey(): AppError {
  return new AppError(
    'last_admin_key',
    'It is the last key of the account that can issue others: without it, only the operator can.',
  );
}

export type ManageApiKeys = ReturnType<typeof createManageApiKeys>;
