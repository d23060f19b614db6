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
import type { ApiKeyStore } from './redis-api-key-store';
import type { PortalSessionStore } from './redis-portal-session-store';

export interface AuthenticateContext extends LiveSessionContext {
  readonly portalSessionStore: Pick<PortalSessionStore, 'find'>;
  readonly keyUses: Pick<KeyUses, 'note'>;
}

const BEARER = /^Bearer +(\S+)$/i;

// Compared with when no such key exists, so that it takes as long as for a key whose secret part is wrong.
const NO_KEY = { sha256: '0'.repeat(64) };

/**
 * Tell the principal of a request by its `Authorization` header, which has an API key or the token of a
 * portal session.
 *
 * @throws AppError `unauthenticated`; the same for an unknown key and for one whose secret part is wrong.
 *   Only a client that has the whole key is told that it has expired.
 */
export async function authenticate(
  context: AuthenticateContext,
  authorization: string | undefined,
): Promise<Principal> {
  const key = keyIn(authorization);
  if (key === undefined) throw unauthenticated('Send your API key as "Authorization: Bearer whk_…".');
  return await (idOfToken(key) === undefined
    ? authenticateKey(context, key)
    : authenticateSession(context, key));
}

async function authenticateKey(
  { apiKeyStore, keyUses, clock }: AuthenticateContext,
  key: string,
): Promise<ApiKey> {
  const id = idOfKey(key);
  const stored = id === undefined ? undefined : await apiKeyStore.find(id);
  if (!isSameKey(stored ?? NO_KEY, key) || !stored)
    throw unauthenticated('The API key is unknown or was revoked.');
  refuseExpired(stored, clock());
  keyUses.note(stored);
  return stored;
}

/** Whether this is the key with this record, and has not expired. */
export function isLiveKey(record: ApiKey, key: string, now: number): boolean {
  return isSameKey(record, key) && now < (record.expiresAt ?? Number.POSITIVE_INFINITY);
}

/** The key, or token, in an `Authorization` header, whatever its form. */
export function keyIn(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}

function refuseExpired({ expiresAt }: ApiKey, now: number): void {
  if (expiresAt === undefined || now < expiresAt) return;
  throw unauthenticated(`The API key expired at ${formatTime(expiresAt)}. Use another one.`);
}

function unauthenticated(detail: string): AppError {
  return new AppError('unauthenticated', detail);
}

// Compared with when no such session exists, so that it takes as long as for a token whose secret part is
// wrong.
const NO_TOKEN = { sha256: '0'.repeat(64) };

async function authenticateSession(context: AuthenticateContext, token: string): Promise<Principal> {
  const named = idOfToken(token);
  const session = named === undefined ? undefined : await context.portalSessionStore.find(named);
  const sha256 = session?.exchange?.tokenSha256;
  if (!isSameKey(sha256 === undefined ? NO_TOKEN : { sha256 }, token) || !session || !sha256)
    throw sessionEnded();
  await requireLiveSession(context, session);
  const { id, accountId, capabilities, label } = session;
  const who = { id, accountId, scopes: scopesOf(capabilities), sha256, capabilities };
  return label === undefined ? who : { ...who, label };
}

export interface LiveSessionContext {
  readonly apiKeyStore: Pick<ApiKeyStore, 'find'>;
  readonly clock: Clock;
}

/**
 * Require a session that may still be used. It ends with the API key that created it, when that key is
 * revoked or expires. So revoking a lost key ends every session that was made with it.
 *
 * @throws AppError `unauthenticated`.
 */
export async function requireLiveSession(
  { apiKeyStore, clock }: LiveSessionContext,
  { apiKeyId, expiresAt }: PortalSession,
): Promise<void> {
  if (expiresAt > clock()) {
    const apiKey = await apiKeyStore.find(apiKeyId);
    if (apiKey && (apiKey.expiresAt ?? Number.POSITIVE_INFINITY) > clock()) return;
  }
  throw sessionEnded();
}

function sessionEnded(): AppError {
  return new AppError('unauthenticated', 'The portal session has ended. Ask for a new link.');
}

const NOTE_EVERY_MS = 60_000;
const REMEMBERED_KEYS = 10_000;

/** Records that a key was used, at most once a minute for each key. Nothing waits for it. */
export class KeyUses {
  readonly #notedAt = createLru<string, number>(REMEMBERED_KEYS);

  constructor(
    private readonly apiKeyStore: Pick<ApiKeyStore, 'noteUse'>,
    private readonly clock: Clock,
  ) {}

  note({ id }: ApiKey): void {
    const now = this.clock();
    if (now - (this.#notedAt.get(id) ?? -Infinity) < NOTE_EVERY_MS) return;
    this.#notedAt.set(id, now);
    // The next note makes up for a lost one, and the connection announces its own errors.
    this.apiKeyStore.noteUse(id, now).catch(() => {});
  }
}
