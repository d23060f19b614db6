import type { AccountId } from '../domain/account';
import { MAX_OPEN_MS, PROBE_MS } from '../domain/breaker';
import {
  decodeAddress,
  type Endpoint,
  type EndpointAddress,
  type EndpointId,
  encodeAddress,
} from '../domain/endpoint';
import { keys } from '../domain/keys';
import { type RedisClient, throwStorageErrors } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { type Mark, readTimeline } from '../platform/redis-timeline';

/** An endpoint that is counted as disabled. */
export interface CountedAsDisabled {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  /** The version of the record that it was counted for: when that was written. */
  readonly since: number;
}

// Somebody may have disabled it once more meanwhile: that stays. KEYS: disabled. ARGV: endpoint, the latest version to go.
const LEAVE = defineScript(`
  local since = redis.call('ZSCORE', KEYS[1], ARGV[1])
  if since and tonumber(since) <= tonumber(ARGV[2]) then redis.call('ZREM', KEYS[1], ARGV[1]) end`);

/**
 * Which endpoints are disabled, for those who ask how many there are: whether one is disabled is for its own record to say,
 * which in a Cluster is on another node. An endpoint enters before its record changes and leaves after it, so a process that
 * dies in between leaves one too many, which `some` finds.
 */
export class DisabledEndpoints {
  constructor(private readonly redis: RedisClient) {}

  async enter({ accountId, id, updatedAt }: Endpoint): Promise<void> {
    await this.redis.zadd(
      keys.disabledEndpoints,
      'GT',
      updatedAt,
      encodeAddress({ accountId, endpointId: id }),
    );
  }

  /** @param until the version of the record until which it was disabled. */
  async leave(accountId: AccountId, endpointId: EndpointId, until: number): Promise<void> {
    await LEAVE(this.redis, [keys.disabledEndpoints], [encodeAddress({ accountId, endpointId }), until]);
  }

  async count(): Promise<number> {
    return await this.redis.zcard(keys.disabledEndpoints);
  }

  /** Addresses with since when, the latest first. `after` is the last one of the part before. */
  async list(limit: number, after?: Mark): Promise<readonly Mark[]> {
    return await readTimeline(this.redis, keys.disabledEndpoints, { order: 'newest_first', limit, after });
  }

  /** So many at most, by chance. */
  async some(limit: number): Promise<readonly CountedAsDisabled[]> {
    const pairs = await this.redis.zrandmember(keys.disabledEndpoints, limit, 'WITHSCORES');
    return pairs.flatMap((address, i) => (i % 2 === 0 ? [toCounted(address, pairs[i + 1])] : []));
  }
}

throwStorageErrors(DisabledEndpoints);

function toCounted(address: string, since: string | undefined): CountedAsDisabled {
  return { ...decodeAddress(address), since: Number(since) };
}

// KEYS: open breakers. ARGV: address, until when it counts, now, for how long any counts at most.
const ENTER = defineScript(`
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])`);

/**
 * Which endpoints' breakers are open, for those who ask how many there are: whether one is open is for its own record to
 * say. Each is here for as long as it is open and waits for its probe, a minute at most. So a worker that dies between the
 * two records leaves this one wrong for two minutes at most.
 */
export class OpenBreakers {
  constructor(private readonly redis: RedisClient) {}

  /** Both in milliseconds since the Unix epoch. */
  async enter(address: EndpointAddress, openUntil: number, now: number): Promise<void> {
    const args = [encodeAddress(address), openUntil + PROBE_MS, now, MAX_OPEN_MS + PROBE_MS];
    await ENTER(this.redis, [keys.openBreakers], args);
  }

  async leave(address: EndpointAddress): Promise<void> {
    await this.redis.zrem(keys.openBreakers, encodeAddress(address));
  }

  async count(now: number): Promise<number> {
    return await this.redis.zcount(keys.openBreakers, now, '+inf');
  }

  /** Addresses with until when they count, the latest first. `after` is the last one of the part before. */
  async list(now: number, limit: number, after?: Mark): Promise<readonly Mark[]> {
    const range = { since: now };
    return await readTimeline(this.redis, keys.openBreakers, { order: 'newest_first', range, limit, after });
  }
}

throwStorageErrors(OpenBreakers);
