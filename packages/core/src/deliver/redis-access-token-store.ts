import { type AccessToken, END_MARGIN_MS, MAX_PAUSE_MS, type TokenVersion } from '../domain/access-token';
import type { AccountId } from '../domain/account';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import type { OAuth2 } from '../domain/receiver-auth';
import { isUnreadableSecret, SEALED_PIECE, type SealedValue, type Sealer } from '../endpoints/seal';
import type { RedisClient } from '../platform/redis-connect';
import { pagesNewestFirst } from '../platform/redis-timeline';
import {
  askForToken,
  dropToken,
  failToFetch,
  type KeptToken,
  keepToken,
  refuseToken,
  unlockToken,
} from './redis-access-token-store.script';

export type TokenAnswer =
  | { readonly kind: 'token'; readonly token: AccessToken }
  /** Fetch it now. No other process does so until the lock ends. */
  | {
      readonly kind: 'fetch';
      /** The present one. */
      readonly present: AccessToken | undefined;
      /** Whether attempts may go on with the present one if there will be no other. */
      readonly isUsable: boolean;
    }
  /** Another process fetches it. */
  | { readonly kind: 'wait' }
  /** The breaker of the token URL is open. */
  | { readonly kind: 'paused'; readonly until: number };

type TokenOwner = Pick<Endpoint, 'accountId' | 'id'> & { readonly auth: Pick<OAuth2, 'changedAt'> };

export interface Lock {
  /** Unique to this fetch. */
  readonly owner: string;
  /** Longer than any token request. */
  readonly ms: number;
}

/**
 * The access token of each endpoint that has OAuth2, shared by all workers, and sealed. One process at a time fetches
 * the next one; the lock ends by itself when that process dies.
 */
export class AccessTokenStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly sealer: Sealer,
  ) {}

  /** A token that can't be opened, since it was sealed with a key that is gone, counts as none. */
  async ask(endpoint: TokenOwner, lock: Lock, now: number): Promise<TokenAnswer> {
    const asked = {
      endpoint: endpoint.id,
      authChangedAt: endpoint.auth.changedAt,
      now,
      owner: lock.owner,
      lockMs: lock.ms,
    };
    const { kind, pausedUntil = 0, isUsable, token: kept } = await askForToken(asked)(this.redis);
    if (kind === 'wait') return { kind };
    if (kind === 'paused') return { kind, until: pausedUntil };
    const token = kept && this.#open(endpoint, kept);
    if (kind === 'fetch') return { kind, present: token, isUsable: token !== undefined && isUsable };
    if (token) return { kind, token };
    if (kept) await dropToken({ endpoint: endpoint.id, version: kept.version })(this.redis);
    return await this.ask(endpoint, lock, now);
  }

  #open(
    endpoint: TokenOwner,
    { version, sealed, refreshAt, takenUntil }: KeptToken,
  ): AccessToken | undefined {
    try {
      const token = this.sealer.open(sealed, ownerOf(endpoint));
      return { version, token, refreshAt, expiresAt: takenUntil + END_MARGIN_MS };
    } catch (error) {
      if (isUnreadableSecret(error)) return undefined;
      throw error;
    }
  }

  /** Gives whether all workers use this token from now on, if it is valid for long enough. */
  async keep(endpoint: TokenOwner, owner: string, token: AccessToken, now: number): Promise<boolean> {
    const { version, refreshAt, expiresAt } = token;
    const kept = {
      endpoint: endpoint.id,
      authChangedAt: endpoint.auth.changedAt,
      owner,
      sealed: this.sealer.seal(token.token, ownerOf(endpoint)),
      version,
      refreshAt,
      takenUntil: expiresAt - END_MARGIN_MS,
      expiresIn: expiresAt - now,
    };
    return await keepToken(kept)(this.redis);
  }

  /** Gives the time before which no process asks again. Milliseconds since the Unix epoch; 0: another process holds the lock. */
  async fail(endpoint: TokenOwner, owner: string, pauseMs: number, now: number): Promise<number> {
    const leastPauseMs = Math.min(pauseMs, MAX_PAUSE_MS);
    const failed = {
      endpoint: endpoint.id,
      authChangedAt: endpoint.auth.changedAt,
      owner,
      now,
      leastPauseMs,
    };
    return await failToFetch(failed)(this.redis);
  }

  /** Since when token requests fail. Milliseconds since the Unix epoch. */
  async readFailingSince(endpointId: EndpointId): Promise<number | undefined> {
    const since = await this.redis.hget(keys.accessToken(endpointId), 'failing_since');
    return since === null ? undefined : Number(since);
  }

  async *sealedValues(accountId: AccountId): AsyncGenerator<readonly SealedValue[]> {
    for await (const ids of pagesNewestFirst(this.redis, keys.endpointIds(accountId), SEALED_PIECE)) {
      const found = await Promise.all(ids.map((id) => this.#sealedToken(accountId, id as EndpointId)));
      yield found.flat();
    }
  }

  async #sealedToken(accountId: AccountId, id: EndpointId): Promise<readonly SealedValue[]> {
    const key = keys.accessToken(id);
    const value = await this.redis.hget(key, SEALED);
    const reseal = (sealed: string) => this.sealer.reseal(sealed, ownerOf({ accountId, id }));
    return value === null ? [] : [{ key, field: SEALED, value, reseal }];
  }

  /** Let others fetch it. */
  async unlock(endpoint: TokenOwner, owner: string): Promise<void> {
    await unlockToken({ endpoint: endpoint.id, owner })(this.redis);
  }

  /** Note that the receiver refused it. */
  async refuse(endpoint: TokenOwner, version: TokenVersion): Promise<void> {
    const refused = { endpoint: endpoint.id, authChangedAt: endpoint.auth.changedAt, version };
    await refuseToken(refused)(this.redis);
  }
}

const SEALED = 'sealed';

function ownerOf({ accountId, id }: Pick<TokenOwner, 'accountId' | 'id'>): string {
  return `${accountId}/${id}/access-token`;
}
