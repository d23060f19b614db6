import { AppError } from '../kernel/app-error';
import type { Clock } from '../kernel/clock';
import { hashKey, isSameKey } from '../model/api-key';
import { idOfCode, type PortalPage, type PortalSession } from '../model/portal-session';
import { newPortalToken } from './new-credential';
import type { FoundSession, PortalSessionStore } from './redis-portal-session-store';
import type { RequireLiveSession } from './require-live-session';

export interface ExchangeCodeDeps {
  readonly portalSessionStore: Pick<PortalSessionStore, 'find' | 'exchange' | 'readPage'>;
  readonly requireLiveSession: RequireLiveSession;
  readonly clock: Clock;
}

export interface OpenedSession {
  /** What the page sends from now on. It is not stored: this is the only time that it can be shown. */
  readonly token: string;
  readonly session: PortalSession;
  readonly page: PortalPage;
}

// Compared with when there is no such session, so that it takes as long as for a code whose secret part is wrong.
const NO_CODE = { sha256: '0'.repeat(64) };

/**
 * Exchanges the code in a link for the token of its session, once: of any number at the same time, one gets it. When its
 * answer is lost, so is the token, and another link is needed: a code that could be used again could be stolen.
 *
 * @throws AppError `unauthenticated`: its detail tells whoever has the whole code why it is not good any more.
 */
export function createExchangeCode(deps: ExchangeCodeDeps) {
  const { portalSessionStore, requireLiveSession, clock } = deps;

  return async function exchangeCode(code: string): Promise<OpenedSession> {
    const session = await findByCode(code);
    if (session.exchange) throw usedUp();
    if (session.codeExpiresAt <= clock())
      throw unauthenticated('The link was not used in time; ask for a new one.');
    await requireLiveSession(session);
    // What could fail comes before the one step that can't be repeated.
    const page = await portalSessionStore.readPage(session.id);
    const token = newPortalToken(session.id);
    const exchange = { tokenSha256: hashKey(token), exchangedAt: clock() };
    if (!(await portalSessionStore.exchange(session.id, exchange))) throw usedUp();
    return { token, session, page };
  };

  async function findByCode(code: string): Promise<FoundSession> {
    const id = idOfCode(code);
    const session = id === undefined ? undefined : await portalSessionStore.find(id);
    if (isSameKey(session ? { sha256: session.codeSha256 } : NO_CODE, code) && session) return session;
    throw unauthenticated('The link is not valid, or its session has ended; ask for a new one.');
  }
}

export type ExchangeCode = ReturnType<typeof createExchangeCode>;

function usedUp(): AppError {
  return unauthenticated('The link was used already. Each is good for one time: ask for a new one.');
}

function unauthenticated(detail: string): AppError {
  return new AppError('unauthenticated', detail);
}
