import {
  type AccountId,
  type ApiKey,
  accountIdSchema,
  accountNotFound,
  DEFAULT_ACCOUNT,
  hasScope,
  idOfKey,
  idOfToken,
  isExpired,
  isSameKey,
  isThere,
  type PortalSession,
  type Principal,
  type Scope,
  scopesOf,
} from '../domain/account';
import { keys } from '../domain/keys';
import { AppError } from '../platform/app-error';
import { createLru, type Remembered } from '../platform/caches';
import { type Clock, formatTimeOrNull } from '../platform/clock';
import type { AuthFailures } from './auth-failures';
import type { AccountStore } from './redis-account-store';
import type { ApiKeyStore } from './redis-api-key-store';
import type { PortalSessionStore } from './redis-portal-session-store';

interface ConfigurationCopies {
  has(record: { readonly key: string }): Promise<boolean>;
}

export interface AuthenticationParts {
  readonly apiKeyStore: ApiKeyStore;
  readonly portalSessionStore: PortalSessionStore;
  readonly accountStore: AccountStore;
  /** Absent: failed authentications are not limited. */
  readonly authFailures?: AuthFailures | undefined;
  /** Whether Redis should have a record. Absent: only Redis knows. */
  readonly configurationCopy?: ConfigurationCopies | undefined;
  readonly clock: Clock;
}

const REMEMBERED_KEYS = 10_000;
const LOST_RETRY_MS = 2_000;
/** Whoever guesses keys is not to have PostgreSQL look up each: so many at once, and each key once in this time. */
const MOST_LOOKS = 8;
const UNKNOWN_FOR_MS = 10_000;

/** Tells who sends a request, and for which account: by an API key, or by the token of a portal session. */
export class Authentication {
  readonly #keyUses: KeyUses;
  /** Of API keys that were valid here: a key never changes its account. It may be invalid by now. */
  readonly #accounts = createLru<string, AccountId>(REMEMBERED_KEYS);
  /** Ids that PostgreSQL has no key of. */
  readonly #unknownUntil = createLru<string, number>(REMEMBERED_KEYS);
  #looks = 0;

  constructor(private readonly parts: AuthenticationParts) {
    this.#keyUses = new KeyUses(parts.apiKeyStore, parts.clock);
  }

  /**
   * Tell the principal of a request by its `Authorization` header, but refuse a client that failed too often
   * recently before anything is looked up, whatever key it names. Each process counts for itself. A client
   * with a whole key that this process has seen to be valid passes all the same: otherwise one broken client
   * could lock out all clients of its address, those behind the same NAT or an unknown proxy.
   *
   * @throws AppError `rate_limited`; `unauthenticated`, the same for an unknown key and for one whose secret
   *   part is wrong. Only a client that has the whole key is told that it has expired.
   */
  async authenticate(
    authorization: string | undefined,
    clientAddress: string | undefined,
  ): Promise<Principal> {
    const { authFailures } = this.parts;
    const key = keyIn(authorization);
    authFailures?.refuseBlocked(clientAddress, key);
    try {
      const principal = await this.#findPrincipal(key);
      authFailures?.noteGood(principal);
      this.#noteAccount(principal);
      return principal;
    } catch (error) {
      authFailures?.noteError(error, clientAddress, key);
      throw error;
    }
  }

  /**
   * The same for a request that was let in before and is still running. It counts no failure: a key that was
   * valid before is no attempt to guess one.
   *
   * @throws AppError `unauthenticated`.
   */
  async authenticateAgain(authorization: string | undefined): Promise<Principal> {
    return await this.#findPrincipal(keyIn(authorization));
  }

  /**
   * The API key of a request as this process read it last: it had this secret part, and has not expired. It
   * may be revoked by now. `undefined`: it has to be read.
   *
   * @throws AppError `rate_limited`.
   */
  assumeApiKey(
    authorization: string | undefined,
    clientAddress: string | undefined,
  ): Remembered<ApiKey> | undefined {
    const { apiKeyStore, authFailures, clock } = this.parts;
    const key = keyIn(authorization) ?? '';
    authFailures?.refuseBlocked(clientAddress, key);
    const known = apiKeyStore.lastRead(idOfKey(key) ?? '');
    if (!known || !isSameKey(known.parsed, key)) return undefined;
    return isExpired(known.parsed, clock()) ? undefined : known;
  }

  /** A request begins by such a key: that counts as its use. */
  noteUse(apiKey: ApiKey): void {
    this.parts.authFailures?.noteGood(apiKey);
    this.#keyUses.note(apiKey);
  }

  /** The account of the API key that a header names, if the key was valid here before. By its id alone. */
  accountOf(authorization: string | undefined): AccountId | undefined {
    const id = idOfKey(keyIn(authorization) ?? '');
    return id === undefined ? undefined : this.#accounts.get(id);
  }

  /**
   * Resolve the account that a request is for: the key's own, or the one that a key names which may act for
   * others. The scopes stay unchanged.
   *
   * @throws AppError `operator_only` for any other key, before the account is looked up; `not_found` when the
   *   account does not exist, or is being erased.
   */
  async resolveAccount(principal: Principal, account: string | undefined): Promise<Principal> {
    if (account === undefined || account === principal.accountId) return principal;
    requireOperator(principal, 'accounts:act');
    const id = accountIdSchema.safeParse(account).data;
    const found = id === undefined ? undefined : await this.parts.accountStore.find(id);
    if (id === undefined || !isThere(found)) throw accountNotFound(account);
    return { ...principal, accountId: id, ownAccountId: principal.accountId };
  }

  /**
   * Require a session that may still be used. It ends with the API key that created it, when that key is
   * revoked or expires, unless it was rotated. So revoking a lost key ends every session that was made with it.
   *
   * @throws AppError `unauthenticated`.
   */
  async requireLiveSession({ apiKeyId, expiresAt }: PortalSession): Promise<void> {
    const { apiKeyStore, clock } = this.parts;
    if (expiresAt > clock()) {
      // A key that was rotated has a successor, which may have been rotated as well.
      let apiKey = await apiKeyStore.find(apiKeyId);
      while (apiKey && isExpired(apiKey, clock()) && apiKey.rotatedTo !== undefined)
        apiKey = await apiKeyStore.find(apiKey.rotatedTo);
      if (apiKey && !isExpired(apiKey, clock())) return;
    }
    throw sessionEnded();
  }

  async #findPrincipal(key: string | undefined): Promise<Principal> {
    if (key === undefined) throw unauthenticated('Send your API key as "Authorization: Bearer whk_…".');
    return await (idOfToken(key) === undefined ? this.#findApiKey(key) : this.#findSession(key));
  }

  async #findApiKey(key: string): Promise<ApiKey> {
    const id = idOfKey(key);
    const stored = id === undefined ? undefined : await this.parts.apiKeyStore.find(id);
    if (id !== undefined && !stored) await this.#refuseLost(id);
    if (!isSameKey(stored, key)) throw unauthenticated('The API key is unknown or was revoked.');
    refuseExpired(stored, this.parts.clock());
    this.#keyUses.note(stored);
    return stored;
  }

  /** A key that Redis has lost is not unknown: nobody is to be locked out for it. */
  async #refuseLost(id: string): Promise<void> {
    const { configurationCopy, clock } = this.parts;
    if (!configurationCopy || (this.#unknownUntil.get(id) ?? 0) > clock()) return;
    if (await this.#mayBeLost(configurationCopy, id)) {
      const detail = 'The service has lost data, and gets them back. Try again in a moment.';
      throw new AppError('storage_unavailable', detail, { retryAfterMs: LOST_RETRY_MS });
    }
    this.#unknownUntil.set(id, clock() + UNKNOWN_FOR_MS);
  }

  /** Nobody knows while that can't be asked, or while many ask. */
  async #mayBeLost(copies: ConfigurationCopies, id: string): Promise<boolean> {
    if (this.#looks >= MOST_LOOKS) return true;
    this.#looks += 1;
    try {
      return await copies.has({ key: keys.apiKey(id) });
    } catch {
      return true;
    } finally {
      this.#looks -= 1;
    }
  }

  async #findSession(token: string): Promise<Principal> {
    const named = idOfToken(token);
    const session = named === undefined ? undefined : await this.parts.portalSessionStore.find(named);
    const known = session?.exchange && { sha256: session.exchange.tokenSha256 };
    if (!isSameKey(known, token) || !session) throw sessionEnded();
    await this.requireLiveSession(session);
    const { id, accountId, capabilities, label } = session;
    const who = { id, accountId, scopes: scopesOf(capabilities), ...known, capabilities };
    return label === undefined ? who : { ...who, label };
  }

  #noteAccount({ id, accountId, capabilities }: Principal): void {
    // Not of sessions, which come and go.
    if (capabilities === undefined && this.#accounts.get(id) === undefined) this.#accounts.set(id, accountId);
  }
}

const BEARER = /^Bearer +(\S+)$/i;

/** The key, or token, in an `Authorization` header, whatever its form. */
export function keyIn(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}

function refuseExpired(apiKey: ApiKey, now: number): void {
  if (!isExpired(apiKey, now)) return;
  throw unauthenticated(`The API key expired at ${formatTimeOrNull(apiKey.expiresAt)}. Use another one.`);
}

export function unauthenticated(detail: string): AppError {
  return new AppError('unauthenticated', detail);
}

function sessionEnded(): AppError {
  return unauthenticated('The portal session has ended. Ask for a new link.');
}

/**
 * Require a key of the operator's account.
 *
 * @param scope `admin` to administer any other account, `accounts:act` to act for it.
 * @throws AppError `operator_only`.
 */
export function requireOperator(principal: Principal, scope: OperatorScope = 'admin'): void {
  if (!isOperator(principal, scope)) throw operatorOnly(scope);
}

export function isOperator(principal: Principal, scope: OperatorScope = 'admin'): boolean {
  return principal.accountId === DEFAULT_ACCOUNT && hasScope(principal, scope);
}

export function operatorOnly(scope: OperatorScope = 'admin'): AppError {
  const needed = scope === 'admin' ? '"admin"' : `"${scope}" or "admin"`;
  return new AppError(
    'operator_only',
    `Only a key of the account "${DEFAULT_ACCOUNT}" with the scope ${needed} may do this.`,
  );
}

type OperatorScope = Extract<Scope, 'admin' | 'accounts:act'>;

const NOTE_EVERY_MS = 60_000;

/** Records that a key was used, at most once a minute for each key. Nothing waits for it. */
class KeyUses {
  readonly #notedAt = createLru<string, number>(REMEMBERED_KEYS);

  constructor(
    private readonly apiKeyStore: ApiKeyStore,
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
