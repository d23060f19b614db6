import { z } from 'zod';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import type { OAuth2 } from '../domain/receiver-auth';
import { isUnreadableSecret, type Sealer } from '../endpoints/seal';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';

/** The least time between two fetches of a token that the receiver refuses. The first fetch does not count. */
export const REFETCH_MS = 60_000;
/** After a failure, and twice as long after each further one in a row. */
export const FIRST_PAUSE_MS = 1_000;
export const MAX_PAUSE_MS = 60_000;
// How long the state is kept without a token: longer than any pause.
const KEPT_MS = 600_000;
// The start of the failures is kept from one try to the next, even if tries are rare.
const FAILING_KEPT_MS = 7 * 86_400_000;

/** The id of one token of an endpoint. It reveals nothing about the token. */
export type TokenVersion = string;

export interface AccessToken {
  readonly version: TokenVersion;
  readonly token: string;
  /** The time from which a process fetches the next one. Milliseconds since the Unix epoch. */
  readonly refreshAt: number;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

/**
 * No attempt takes a token that ends within this, so that it is valid when the receiver looks at it: as long as a connection
 * may take (`DELIVERY_CONNECT_TIMEOUT`, 5 s by default), and the same again for the way there and for clocks that differ.
 */
export const END_MARGIN_MS = 10_000;

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

// When the endpoint's `auth` changes, its earlier state is discarded. Only the time of the last fetch after a receiver's
// refusal is kept. An attempt that has read the endpoint before the change waits until it has read it again.
//
// KEYS: access-token. ARGV: state of the auth, now, owner of the lock, its time.
const ASK = defineScript(`
  local key, state, now = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
  local known = tonumber(redis.call('HGET', key, 'state') or 0)
  if known > state then return {'paused', string.format('%d', now + ${FIRST_PAUSE_MS}), '', '', '0', '0'} end
  if known < state then
    local refetched_at = redis.call('HGET', key, 'refetched_at') or '0'
    redis.call('DEL', key)
    redis.call('HSET', key, 'state', ARGV[1], 'refetched_at', refetched_at)
  end
  local fields = redis.call('HMGET', key, 'sealed', 'version', 'refresh_at', 'expires_at', 'refused', 'refetched_for',
    'refetched_at', 'open_until', 'lock', 'lock_until')
  local sealed, version, refused, refetched_for, lock = fields[1], fields[2], fields[5], fields[6], fields[9]
  local function number(i) return tonumber(fields[i] or 0) end
  local refresh_at, expires_at, refetched_at, open_until, lock_until = number(3), number(4), number(7), number(8), number(10)

  local is_valid = sealed and expires_at > now
  local is_refused = is_valid and refused == version
  local is_refetch = is_refused and refetched_for ~= version and now - refetched_at >= ${REFETCH_MS}
  local is_wanted = not is_valid or is_refetch or now >= refresh_at
  local is_locked = lock and lock_until > now
  local token = is_valid and {version, sealed, fields[3], fields[4]} or {'', '', '0', '0'}
  if is_locked and (not is_valid or is_refused) then return {'wait', '0', unpack(token)} end
  if is_locked or not is_wanted then return {'token', '0', unpack(token)} end
  if open_until > now then return {is_valid and 'token' or 'paused', fields[8], unpack(token)} end
  redis.call('HSET', key, 'lock', ARGV[3], 'lock_until', string.format('%d', now + tonumber(ARGV[4])))
  if is_refetch then redis.call('HSET', key, 'refetched_for', version, 'refetched_at', ARGV[2]) end
  redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), ${KEPT_MS}))
  return {'fetch', is_refused and '0' or '1', unpack(token)}`);

// ARGV: state of the auth, owner of the lock, sealed token, version, refresh at, until when attempts take it, how long to keep it.
const KEEP = defineScript(`
  local known = redis.call('HMGET', KEYS[1], 'state', 'lock')
  if known[1] ~= ARGV[1] or known[2] ~= ARGV[2] then return 0 end
  redis.call('HSET', KEYS[1], 'sealed', ARGV[3], 'version', ARGV[4], 'refresh_at', ARGV[5], 'expires_at', ARGV[6])
  redis.call('HDEL', KEYS[1], 'lock', 'lock_until', 'failures', 'open_until', 'failing_since')
  redis.call('PEXPIRE', KEYS[1], ARGV[7])
  return 1`);

// After a failed fetch, the next one may begin after a pause. ARGV: state of the auth, owner of the lock, now, the least
// pause.
const FAIL = defineScript(`
  local known = redis.call('HMGET', KEYS[1], 'state', 'lock')
  if known[1] ~= ARGV[1] or known[2] ~= ARGV[2] then return '0' end
  local failures = redis.call('HINCRBY', KEYS[1], 'failures', 1)
  local pause = math.min(${FIRST_PAUSE_MS} * 2 ^ math.min(failures - 1, 20), ${MAX_PAUSE_MS})
  local open_until = string.format('%d', tonumber(ARGV[3]) + math.max(pause, tonumber(ARGV[4])))
  redis.call('HSET', KEYS[1], 'open_until', open_until)
  redis.call('HSETNX', KEYS[1], 'failing_since', ARGV[3])
  redis.call('HDEL', KEYS[1], 'lock', 'lock_until', 'refetched_for')
  redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ${FAILING_KEPT_MS}))
  return open_until`);

// ARGV: owner of the lock.
const UNLOCK = defineScript(`
  if redis.call('HGET', KEYS[1], 'lock') == ARGV[1] then redis.call('HDEL', KEYS[1], 'lock', 'lock_until') end`);

// ARGV: version.
const DROP = defineScript(`
  if redis.call('HGET', KEYS[1], 'version') == ARGV[1] then redis.call('HDEL', KEYS[1], 'sealed', 'version') end`);

// ARGV: state of the auth, version.
const REFUSE = defineScript(`
  local known = redis.call('HMGET', KEYS[1], 'state', 'version')
  if known[1] == ARGV[1] and known[2] == ARGV[2] then redis.call('HSET', KEYS[1], 'refused', ARGV[2]) end`);

const answerSchema = z.tuple([
  z.enum(['token', 'fetch', 'wait', 'paused']),
  z.coerce.number(),
  z.string(),
  z.string(),
  z.coerce.number(),
  z.coerce.number(),
]);

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
    const key = keys.accessToken(endpoint.id);
    const args = [endpoint.auth.changedAt, now, lock.owner, lock.ms];
    const [kind, value, version, sealed, refreshAt, takenUntil] = answerSchema.parse(
      await ASK(this.redis, [key], args),
    );
    const expiresAt = takenUntil + END_MARGIN_MS;
    if (kind === 'wait') return { kind };
    if (kind === 'paused') return { kind, until: value };
    const text = sealed === '' ? undefined : this.#open(endpoint, sealed);
    const token = text === undefined ? undefined : { version, token: text, refreshAt, expiresAt };
    if (kind === 'fetch') return { kind, present: token, isUsable: token !== undefined && value === 1 };
    if (token) return { kind, token };
    await DROP(this.redis, [key], [version]);
    return await this.ask(endpoint, lock, now);
  }

  #open(endpoint: TokenOwner, sealed: string): string | undefined {
    try {
      return this.sealer.open(sealed, ownerOf(endpoint));
    } catch (error) {
      if (isUnreadableSecret(error)) return undefined;
      throw error;
    }
  }

  /** Gives whether all workers use this token from now on, if it is valid for long enough. */
  async keep(endpoint: TokenOwner, owner: string, token: AccessToken, now: number): Promise<boolean> {
    const sealed = this.sealer.seal(token.token, ownerOf(endpoint));
    const keptMs = Math.max(token.expiresAt - now, KEPT_MS);
    const { version, refreshAt, expiresAt } = token;
    const takenUntil = expiresAt - END_MARGIN_MS;
    const args = [endpoint.auth.changedAt, owner, sealed, version, refreshAt, takenUntil, keptMs];
    return (await KEEP(this.redis, [keys.accessToken(endpoint.id)], args)) === 1;
  }

  /** Gives the time before which no process asks again. Milliseconds since the Unix epoch; 0: another process holds the lock. */
  async fail(endpoint: TokenOwner, owner: string, leastPauseMs: number, now: number): Promise<number> {
    const args = [endpoint.auth.changedAt, owner, now, Math.min(leastPauseMs, MAX_PAUSE_MS)];
    return Number(await FAIL(this.redis, [keys.accessToken(endpoint.id)], args));
  }

  /** Since when token requests fail. Milliseconds since the Unix epoch. */
  async readFailingSince(endpointId: EndpointId): Promise<number | undefined> {
    const since = await this.redis.hget(keys.accessToken(endpointId), 'failing_since');
    return since === null ? undefined : Number(since);
  }

  /** Let others fetch it. */
  async unlock(endpoint: TokenOwner, owner: string): Promise<void> {
    await UNLOCK(this.redis, [keys.accessToken(endpoint.id)], [owner]);
  }

  /** Note that the receiver refused it. */
  async refuse(endpoint: TokenOwner, version: TokenVersion): Promise<void> {
    await REFUSE(this.redis, [keys.accessToken(endpoint.id)], [endpoint.auth.changedAt, version]);
  }
}

function ownerOf({ accountId, id }: TokenOwner): string {
  return `${accountId}/${id}/access-token`;
}
