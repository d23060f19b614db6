import { AppError } from '../kernel/app-error';
import { type Clock, formatTime } from '../kernel/clock';
import { type ApiKey, idOfKey, isSameKey } from '../model/api-key';
import { idOfToken } from '../model/portal-session';
import type { Principal } from '../model/principal';
import type { AuthenticateSession } from './authenticate-session';
import type { NoteUse } from './note-use';
import type { ApiKeyStore } from './redis-api-key-store';

export interface AuthenticateDeps {
  readonly apiKeyStore: Pick<ApiKeyStore, 'find'>;
  readonly noteUse: NoteUse;
  readonly authenticateSession: AuthenticateSession;
  readonly clock: Clock;
}

const BEARER = /^Bearer +(\S+)$/i;

// Compared with when there is no such key, so that it takes as long as for one whose secret part is wrong.
const NO_KEY = { sha256: '0'.repeat(64) };

/**
 * Tells whose request it is by its `Authorization` header, which has an API key or the token of a portal session.
 *
 * @throws AppError `unauthenticated`; the same for a key that is not known and for one whose secret part is wrong.
 * That it has expired is told to those only who have the whole key.
 */
export function createAuthenticate(deps: AuthenticateDeps) {
  const { apiKeyStore, noteUse, authenticateSession, clock } = deps;

  return async function authenticate(authorization: string | undefined): Promise<Principal> {
    const key = keyIn(authorization);
    if (key === undefined) throw unauthenticated('Send your API key as "Authorization: Bearer whk_…".');
    return idOfToken(key) === undefined ? await authenticateKey(key) : await authenticateSession(key);
  };

  async function authenticateKey(key: string): Promise<ApiKey> {
    const id = idOfKey(key);
    const stored = id === undefined ? undefined : await apiKeyStore.find(id);
    if (!isSameKey(stored ?? NO_KEY, key) || !stored) throw unauthenticated('The API key is not valid.');
    refuseExpired(stored, clock());
    noteUse(stored);
    return stored;
  }
}

export type Authenticate = ReturnType<typeof createAuthenticate>;

/** The key, or token, in an `Authorization` header, whatever its form. */
export function keyIn(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}

function refuseExpired({ expiresAt }: ApiKey, now: number): void {
  if (expiresAt === undefined || now < expiresAt) return;
  throw unauthenticated(`The API key expired at ${formatTime(expiresAt)}; use another one.`);
}

function unauthenticated(detail: string): AppError {
  return new AppError('unauthenticated', detail);
}
