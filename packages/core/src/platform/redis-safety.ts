import { type Redis, ReplyError } from 'ioredis';
import { mastersOf, type RedisClient } from './redis-connect';

/** Redis is too old, or its settings can lose acknowledged data. All faults in one line. */
export interface RedisUnsafeSignal {
  readonly name: 'redis.unsafe';
  readonly detail: string;
}

// For ZADD's LT and ZMSCORE; older versions fail in the middle of the work.
const OLDEST = [6, 2] as const;

/**
 * Check whenever a connection is ready whether Redis is set up as needed, and report once what is not: at the
 * start, and after a fail-over to a server with other settings.
 */
export function watchRedisSafety(redis: RedisClient, emit: (signal: RedisUnsafeSignal) => void): void {
  let said: string | undefined;
  const look = async () => {
    const detail = await describeUnsafe(redis);
    if (detail !== undefined && detail !== said) emit({ name: 'redis.unsafe', detail });
    said = detail;
  };
  redis.on('ready', () => void look());
}

/** What is unsafe about Redis, in one line; for a Cluster, about any of its masters. Never rejects. */
export async function describeUnsafe(redis: RedisClient): Promise<string | undefined> {
  const nodes = [...mastersOf(redis).values()];
  const validationErrors = await Promise.all(nodes.map(faultsOfNode));
  const distinct = [...new Set(validationErrors.flat())];
  return distinct.length === 0 ? undefined : distinct.join(' ');
}

/**
 * `undefined`: Redis does not tell this user, or not all masters of a Cluster agree.
 *
 * @throws Error of Redis when it can't be reached.
 */
export async function readPersistence(
  redis: RedisClient,
): Promise<{ readonly isAppendOnly: boolean | undefined; readonly fsync: string | undefined }> {
  const nodes = [...mastersOf(redis).values()];
  const [appendOnly, fsync] = await Promise.all(
    ['appendonly', 'appendfsync'].map((setting) => readSetting(nodes, setting)),
  );
  return { isAppendOnly: appendOnly === undefined ? undefined : appendOnly === 'yes', fsync };
}

async function readSetting(nodes: readonly Redis[], setting: string): Promise<string | undefined> {
  try {
    const found = await Promise.all(nodes.map((node) => node.config('GET', setting)));
    const values = new Set(found.map((reply) => (Array.isArray(reply) ? reply[1] : undefined)));
    const [value] = values;
    return values.size === 1 && typeof value === 'string' ? value : undefined;
  } catch (error) {
    // Services that host Redis have no CONFIG at all.
    if (error instanceof ReplyError) return undefined;
    throw error;
  }
}

async function faultsOfNode(redis: Redis): Promise<readonly string[]> {
  try {
    return validationErrorsIn(await redis.info());
  } catch (error) {
    // Its connection reports an absent server, which is checked when that is ready again.
    return isForbidden(error)
      ? [
          'The user of REDIS_URL may not run INFO, so version, eviction and persistence were not checked: permit it (ACL +info).',
        ]
      : [];
  }
}

/** @param info the text of Redis' INFO. */
export function validationErrorsIn(info: string): readonly string[] {
  const read = (field: string) => new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
  const version = read('redis_version');
  const policy = read('maxmemory_policy');
  return [
    isTooOld(version) && `Redis ${version} is too old: use ${OLDEST.join('.')} or later.`,
    policy !== undefined &&
      policy !== 'noeviction' &&
      `maxmemory-policy is ${policy}: when its memory is full, Redis deletes deliveries; set it to noeviction.`,
    read('aof_enabled') === '0' &&
      'appendonly is no: when Redis restarts, the events since its last snapshot are lost; set it to yes.',
    read('role') === 'slave' &&
      'This Redis is a replica, which takes no writes: let REDIS_URL name its master, or the Sentinels.',
  ].filter((fault) => fault !== false);
}

function isTooOld(version: string | undefined): boolean {
  const [major = 0, minor = 0] = version?.split('.').map(Number) ?? OLDEST;
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

// The first word of Redis' reply is its code.
function isForbidden(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOPERM');
}
