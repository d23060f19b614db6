import { randomBytes } from 'node:crypto';
import { type ApiKey, DEFAULT_ACCOUNT, hashKey, scopes } from '../domain/account';
import { uniqueAccountId } from './unique-ids';

export interface IssuedApiKey {
  /** The key as the client sends it. */
  readonly key: string;
  /** The stored record. */
  readonly record: ApiKey;
}

/** A key with every scope that its account gives, in an account of its own, unless `change` says otherwise. */
export function buildApiKey(
  change: Partial<Pick<ApiKey, 'accountId' | 'scopes' | 'createdAt' | 'expiresAt'>> = {},
): IssuedApiKey {
  const id = randomBytes(8).toString('hex');
  const key = `whk_${id}_${randomBytes(20).toString('hex')}`;
  return {
    key,
    record: {
      id,
      accountId: uniqueAccountId(),
      sha256: hashKey(key),
      // Only the operator's can act for accounts.
      scopes: scopes.filter((scope) => scope !== 'accounts:act' || change.accountId === DEFAULT_ACCOUNT),
      name: 'test',
      createdAt: 1_700_000_000_000,
      ...change,
    },
  };
}
