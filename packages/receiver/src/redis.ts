import { DEFAULT_REMEMBERED_MS, type DedupeStore } from './dedupe-store';

/** A client such as that of ioredis. For node-redis: `{ call: (...command) => client.sendCommand(command) }`. */
export interface RedisClient {
  call(command: string, ...parameters: string[]): Promise<unknown>;
}

export interface RedisStoreOptions {
  /** The prefix of each key. Default `webhook:`. */
  readonly prefix?: string;
  /** How long a handled event is remembered, in milliseconds. Default 14 days, which is how long the service keeps events. */
  readonly ttlMs?: number;
}

const CLAIMED = 'claimed';
const DONE = 'done';
// In one step, so that a commit in between is not lost.
const RELEASE = /* lua */ `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/**
 * Stores ids in Redis, for any number of processes: one key for each event, which expires. If a process dies between claim
 * and commit, its claim ends with the lease.
 */
export function redisStore(
  client: RedisClient,
  { prefix = 'webhook:', ttlMs = DEFAULT_REMEMBERED_MS }: RedisStoreOptions = {},
): DedupeStore {
  return {
    async claim(id, leaseMs) {
      const key = prefix + id;
      const claimed = await client.call('SET', key, CLAIMED, 'PX', String(leaseMs), 'NX');
      if (claimed !== null) return 'claimed';
      // The key is missing if its lease has just ended. The next delivery will get the claim.
      return String(await client.call('GET', key)) === DONE ? 'done' : 'busy';
    },
    async commit(id) {
      await client.call('SET', prefix + id, DONE, 'PX', String(ttlMs));
    },
    async release(id) {
      await client.call('EVAL', RELEASE, '1', prefix + id, CLAIMED);
    },
  };
}
