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
import type { RedisClient } from '../platform/redis-connect';
import { type Mark, readTimeline } from '../platform/redis-timeline';
import { enterOpenBreakers, leaveDisabled } from './redis-stopped-endpoints.script';

/** An endpoint in the index of disabled ones. */
export interface CountedAsDisabled {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  /** The version of the record that it was entered for: the time of that change. */
  readonly since: number;
}

/**
 * An index of the disabled endpoints, to count and list them. The endpoint's own record decides whether it is
 * disabled; in a Cluster that is on another node. An endpoint enters before its record changes and leaves
 * after it, so a process that dies in between leaves a stale entry, which `some` finds.
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
    const address = encodeAddress({ accountId, endpointId });
    await leaveDisabled({ address, untilVersion: until })(this.redis);
  }

  async count(): Promise<number> {
    return await this.redis.zcard(keys.disabledEndpoints);
  }

  /** Addresses with the time of disabling, the latest first. `after` is the last one of the part before. */
  async list(limit: number, after?: Mark): Promise<readonly Mark[]> {
    return await readTimeline(this.redis, keys.disabledEndpoints, { order: 'newest_first', limit, after });
  }

  /** At most `limit`, chosen at random. */
  async some(limit: number): Promise<readonly CountedAsDisabled[]> {
    const pairs = await this.redis.zrandmember(keys.disabledEndpoints, limit, 'WITHSCORES');
    return pairs.flatMap((address, i) => (i % 2 === 0 ? [toCounted(address, pairs[i + 1])] : []));
  }
}

function toCounted(address: string, since: string | undefined): CountedAsDisabled {
  return { ...decodeAddress(address), since: Number(since) };
}

/**
 * An index of the endpoints with an open breaker, to count and list them. The breaker's own record decides
 * whether it is open. Each endpoint is here while its breaker is open and waits for its probe, a minute at
 * most. So a worker that dies between the two records leaves this one wrong for two minutes at most.
 */
export class OpenBreakers {
  constructor(private readonly redis: RedisClient) {}

  /** Both times in milliseconds since the Unix epoch. */
  async enter(address: EndpointAddress, openUntil: number, now: number): Promise<void> {
    await enterOpenBreakers({
      address: encodeAddress(address),
      countsUntil: openUntil + PROBE_MS,
      now,
      longestMs: MAX_OPEN_MS + PROBE_MS,
    })(this.redis);
  }

  async leave(address: EndpointAddress): Promise<void> {
    await this.redis.zrem(keys.openBreakers, encodeAddress(address));
  }

  async count(now: number): Promise<number> {
    return await this.redis.zcount(keys.openBreakers, now, '+inf');
  }

  /**
   * Addresses with the time until which they count, the latest first. `after` is the last one of the part
   * before.
   */
  async list(now: number, limit: number, after?: Mark): Promise<readonly Mark[]> {
    const range = { since: now };
    return await readTimeline(this.redis, keys.openBreakers, { order: 'newest_first', range, limit, after });
  }
}
