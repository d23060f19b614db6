import { isSameKey } from '../model/api-key';
import { idOfToken, scopesOf } from '../model/portal-session';
import type { Principal } from '../model/principal';
import type { PortalSessionStore } from './redis-portal-session-store';
import { type RequireLiveSession, sessionEnded } from './require-live-session';

export interface AuthenticateSessionDeps {
  readonly portalSessionStore: Pick<PortalSessionStore, 'find'>;
  readonly requireLiveSession: RequireLiveSession;
}

// Compared with when there is no such session, so that it takes as long as for a token whose secret part is wrong.
const NO_TOKEN = { sha256: '0'.repeat(64) };

/** @throws AppError `unauthenticated`; the same for a token that was never good and for one that is so no more. */
export function createAuthenticateSession(deps: AuthenticateSessionDeps) {
  const { portalSessionStore, requireLiveSession } = deps;

  return async function authenticateSession(token: string): Promise<Principal> {
    const id = idOfToken(token);
    const session = id === undefined ? undefined : await portalSessionStore.find(id);
    const sha256 = session?.exchange?.tokenSha256;
    if (!isSameKey(sha256 === undefined ? NO_TOKEN : { sha256 }, token) || !session || !sha256)
      throw sessionEnded();
    await requireLiveSession(session);
    const { accountId, capabilities } = session;
    return { id: session.id, accountId, scopes: scopesOf(capabilities), sha256, capabilities };
  };
}

export type AuthenticateSession = ReturnType<typeof createAuthenticateSession>;
