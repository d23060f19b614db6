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

/** How Redis is set up. `undefined`: it does not tell this user, or the masters of a Cluster don't agree. */
export interface RedisSafety {
  readonly isAppendOnly: boolean | undefined;
  readonly fsync: string | undefined;
  /** Whether its memory has a limit, at which it refuses writes and deletes nothing. */
  readonly keepsWithinMemory: boolean | undefined;
  /** Whether each master has a connected replica. */
  readonly hasReplicas: boolean | undefined;
  /** Whether its user `default`, as which it replays its append-only file, has all rights. Without, a restart loses what is in transactions. */
  readonly canReplay: boolean | undefined;
}

/** @throws Error of Redis when it can't be reached. */
export async function readRedisSafety(redis: RedisClient): Promise<RedisSafety> {
  const nodes = [...mastersOf(redis).values()];
  const [fsync, infos, replays] = await Promise.all([
    readSetting(nodes, 'appendfsync'),
    Promise.all(nodes.map(async (node) => (await unlessRefused(node.info())) ?? '')),
    Promise.all(nodes.map(canReplay)),
  ]);
  return { fsync, ...safetyIn(infos), canReplay: ofAll(replays, (reply) => reply) };
}

/** @param infos the text of INFO of each master; empty where it is refused. */
export function safetyIn(infos: readonly string[]): Omit<RedisSafety, 'fsync' | 'canReplay'> {
  return {
    isAppendOnly: ofAll(infos, (info) => isField(info, 'aof_enabled', (value) => value === '1')),
    keepsWithinMemory: ofAll(infos, keepsWithinMemory),
    hasReplicas: ofAll(infos, hasReplica),
  };
}

/** One master that has it not is enough to say no. One that does not tell is enough to say nothing. */
function ofAll<T>(replies: readonly T[], test: (reply: T) => boolean | undefined): boolean | undefined {
  const results = replies.map(test);
  if (results.includes(false)) return false;
  // The masters of a Cluster that was not reached yet are none.
  return results.length === 0 || results.includes(undefined) ? undefined : true;
}

function keepsWithinMemory(info: string): boolean | undefined {
  const hasLimit = isField(info, 'maxmemory', (value) => value !== '0');
  const deletesNothing = isField(info, 'maxmemory_policy', (value) => value === 'noeviction');
  if (hasLimit === false || deletesNothing === false) return false;
  return hasLimit && deletesNothing;
}

function hasReplica(info: string): boolean | undefined {
  const replicas = replicasIn(info);
  return replicas && replicas.length > 0;
}

function isField(info: string, field: string, test: (value: string) => boolean): boolean | undefined {
  const value = fieldOf(info, field);
  return value === undefined ? undefined : test(value);
}

async function readSetting(nodes: readonly Redis[], setting: string): Promise<string | undefined> {
  const found = await Promise.all(nodes.map((node) => unlessRefused(node.config('GET', setting))));
  const values = new Set(found.map((reply) => (Array.isArray(reply) ? reply[1] : undefined)));
  const [value] = values;
  return values.size === 1 && typeof value === 'string' ? value : undefined;
}

async function canReplay(node: Redis): Promise<boolean | undefined> {
  const reply: unknown = await unlessRefused(node.acl('GETUSER', 'default'));
  if (!Array.isArray(reply)) return undefined;
  const read = (field: string) => String(reply[reply.indexOf(field) + 1]);
  // Redis 6 names the keys without the `~`.
  return read('commands') === '+@all' && ['~*', '*'].includes(read('keys'));
}

// Services that host Redis have no CONFIG and no ACL at all.
async function unlessRefused<T>(reply: Promise<T>): Promise<T | undefined> {
  return await reply.catch((error: unknown) => {
    if (error instanceof ReplyError) return undefined;
    throw error;
  });
}

const FORGETS =
  'The user default of Redis lacks rights: Redis replays its append-only file as this user, and may forget nearly all when it restarts; run ACL SETUSER default ~* &* +@all, and put it into its aclfile.';

async function faultsOfNode(redis: Redis): Promise<readonly string[]> {
  try {
    const info = await redis.info();
    const forgets = fieldOf(info, 'aof_enabled') === '1' && (await canReplay(redis)) === false;
    return [...validationErrorsIn(info), ...(forgets ? [FORGETS] : [])];
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
  const read = (field: string) => fieldOf(info, field);
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

/** @param info the text of Redis' INFO. */
export function fieldOf(info: string, field: string): string | undefined {
  return new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
}

// `slave0:ip=127.0.0.1,port=6380,state=online,offset=42,lag=0`; a host may be a name or an IPv6 address. What copies the data and is
// no replica, such as a backup, has port 0 or another state; so has a replica that is being sent the data for the first time.
const REPLICA = /^slave\d+:.*\bport=[1-9]\d*,state=online,offset=(\d+),lag=(-?\d+)/gm;

export interface ReplicaLine {
  /** How much of its master's log it has confirmed. Bytes. */
  readonly offset: number;
  /** Seconds since it last confirmed anything. Below 0: it never has. */
  readonly lagS: number;
}

/** The replicas that have a master's data. `undefined`: it does not say. @param info the text of its INFO. */
export function replicasIn(info: string): readonly ReplicaLine[] | undefined {
  if (fieldOf(info, 'connected_slaves') === undefined) return undefined;
  return [...info.matchAll(REPLICA)].map(([, offset, lag]) => ({
    offset: Number(offset),
    lagS: Number(lag),
  }));
}

function isTooOld(version: string | undefined): boolean {
  const [major = 0, minor = 0] = version?.split('.').map(Number) ?? OLDEST;
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

// The first word of Redis' reply is its code.
function isForbidden(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOPERM');
}
