import { AppError } from '../errors/app-error';
import { type ApiKey, idOfKey, isSameKey } from './api-key';
import type { ApiKeyStore } from './redis-api-key-store';

const BEARER = /^Bearer +(\S+)$/i;

/**
 * Tells whose request it is by its `Authorization` header.
 *
 * @throws AppError `unauthenticated`; the same for a key that is not known and for one whose secret part is wrong.
 */
export function createAuthenticate(apiKeyStore: Pick<ApiKeyStore, 'find'>) {
  return async function authenticate(authorization: string | undefined): Promise<ApiKey> {
    const key = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
    if (key === undefined) throw unauthenticated('Send your API key as "Authorization: Bearer whk_…".');
    const id = idOfKey(key);
    const stored = id === undefined ? undefined : await apiKeyStore.find(id);
    if (!stored || !isSameKey(stored, key)) throw unauthenticated('The API key is not valid.');
    return stored;
  };
}

export type Authenticate = ReturnType<typeof createAuthenticate>;

function unauthenticated(detail: string): AppError {
  return new AppError('unauthenticated', detail);
}
