import {
  type ApiKey,
  idOfKey,
  idOfToken,
  isSameKey,
  type PortalSession,
  type Principal,
  scopesOf,
} from '../domain/account';
import { AppError } from '../platform/app-error';
import { createLru } from '../platform/caches';
import { type Clock, formatTime } from '../platform/clock';
import { answerWithin } from '../platform/timers';
import type { ApiKeyStore } from './redis-api-key-store';
import type { PortalSessionStore } from './redis-portal-session-store';

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

export interface RequireLiveSessionDeps {
  readonly apiKeyStore: Pick<ApiKeyStore, 'find'>;
  readonly clock: Clock;
}

/**
 * A session is never more than the API key that it was made with: it ends with that, be it revoked or expired. So whoever
 * revokes a key that was lost is rid of all that was made with it.
 *
 * @throws AppError `unauthenticated`.
 */
export function createRequireLiveSession({ apiKeyStore, clock }: RequireLiveSessionDeps) {
  return async function requireLiveSession({ apiKeyId, expiresAt }: PortalSession): Promise<void> {
    if (expiresAt > clock()) {
      const apiKey = await apiKeyStore.find(apiKeyId);
      if (apiKey && (apiKey.expiresAt ?? Number.POSITIVE_INFINITY) > clock()) return;
    }
    throw sessionEnded();
  };
}

export type RequireLiveSession = ReturnType<typeof createRequireLiveSession>;

function sessionEnded(): AppError {
  return new AppError('unauthenticated', 'The portal session has ended; ask for a new link.');
}

const NOTE_EVERY_MS = 60_000;
const REMEMBERED_KEYS = 10_000;

/** Notes that a key was used, at most once a minute for each key, without anybody waiting for it. */
export function createNoteUse(apiKeyStore: Pick<ApiKeyStore, 'noteUse'>, clock: Clock) {
  const notedAt = createLru<string, number>(REMEMBERED_KEYS);

  return function noteUse({ id }: ApiKey): void {
    const now = clock();
    if (now - (notedAt.get(id) ?? -Infinity) < NOTE_EVERY_MS) return;
    notedAt.set(id, now);
    // A note that is lost is made good by the next one, and the connection announces its own errors.
    apiKeyStore.noteUse(id, now).catch(() => {});
  };
}

export type NoteUse = ReturnType<typeof createNoteUse>;

/** `unauthenticated`: it was refused. `unverified`: nobody could say for too long, be it because Redis is away. */
export const recheckEnds = ['unauthenticated', 'unverified'] as const;
export type RecheckEnd = (typeof recheckEnds)[number];

export interface RecheckOptions {
  /** Whether it would still be let in; throws while nobody knows. */
  readonly isAllowed: () => Promise<boolean>;
  readonly onEnd: (why: RecheckEnd) => void;
}

// Refused: it ends three seconds later at most. Unanswered: five after it was last allowed, two checks and a wait.
const CHECK_EVERY_MS = 2_000;
const PATIENCE_MS = 1_000;
// A reply that was lost with its connection says nothing about the key.
const UNANSWERED_IN_A_ROW = 2;

/** Asks again and again whether something that goes on still may. Only a clear yes lets it. */
export class Recheck {
  #timer: NodeJS.Timeout | undefined;
  #unanswered = 0;

  constructor(private readonly options: RecheckOptions) {}

  start(): void {
    this.#timer ??= setInterval(() => void this.runOnce(), CHECK_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async runOnce(): Promise<void> {
    const { isAllowed, onEnd } = this.options;
    const answer = await answerWithin(PATIENCE_MS, isAllowed());
    this.#unanswered = answer === undefined ? this.#unanswered + 1 : 0;
    if (answer === false) onEnd('unauthenticated');
    if (this.#unanswered >= UNANSWERED_IN_A_ROW) onEnd('unverified');
  }
}
