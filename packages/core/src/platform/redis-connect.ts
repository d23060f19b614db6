import type { Duplex } from 'node:stream';
import {
  CLUSTER_QUEUE_PREFIX,
  parseRedisUrl,
  QUEUE_PREFIX,
  type RedisTarget,
} from '@hookferry/producer/contract';
import slotOf from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import { steadyClock } from './clock';
import { giveDeadlines } from './redis-deadline';
import {
  type BullmqWorkerOptions,
  type ClientOptions,
  type ConnectionHealth,
  KeptCluster,
  KeptRedis,
  type RedisReopenedSignal,
  reconnectDelay,
} from './redis-keeper';
import { waitPatiently } from './redis-patience';

export type RedisClient = Redis | Cluster;

/** A connection could not be opened, or broke. It is opened again. */
export interface RedisErrorSignal {
  readonly name: 'redis.error';
  readonly connection: string;
  readonly error: unknown;
}

/** A connection that had failed works again. */
export interface RedisBackSignal {
  readonly name: 'redis.back';
  readonly connection: string;
  readonly awayMs: number;
}

/**
 * - `answering`: for callers that wait for the reply (an HTTP request): fails within two seconds, and Redis runs no script
 *   that comes later than `RUN_WITHIN_MS`.
 * - `working`: for background work, which waits until Redis is back.
 * - `confirming`: for a wait for replicas: no command of it ever runs on a later connection.
 */
export type ConnectionRole = 'answering' | 'working' | 'confirming';

export interface ConnectOptions {
  readonly url: string;
  readonly role: ConnectionRole;
  /** For the log and for Redis' `CLIENT LIST`. */
  readonly name: string;
  readonly emit: (signal: RedisErrorSignal | RedisBackSignal | RedisReopenedSignal) => void;
  /** Where `/healthz` reads its state. */
  readonly health?: ConnectionHealth;
  /**
   * After this long without a reply to a command, the connection counts as dead and is replaced: nothing else would
   * notice. Default: five seconds, but never for `working`, whose commands may wait on purpose.
   */
  readonly silenceMs?: number;
}

const COMMAND_TIMEOUT_MS = 1_500;
// A client has its 503 by then. After the reconnect ioredis sends what it asked for once more: that must come soon.
const ANSWERING_SILENCE_MS = 5_000;
const CONNECT_TIMEOUT_MS = 1_500;
// More than one, because one may be on the wrong side of a network partition. Few, because each adds a connection to each of
// the process' own.
const SENTINELS_HEARD = 3;
// No command that matters is cut off; a silent Redis must not hold up the end of a process.
const DISCONNECT_TIMEOUT_MS = 200;

/**
 * Connect to a single Redis, to the master behind Sentinels or to a Cluster, as `url` says. The client, and
 * each duplicate of it, reconnects by itself until it is closed.
 */
export function connectRedis(options: ConnectOptions): RedisClient {
  const client = createClient(parseRedisUrl(options.url), optionsFor(options), options);
  // Without a listener an 'error' event would end the process; ioredis reconnects by itself.
  emitConnection(client, options);
  if (client instanceof Cluster) client.on('+node', prepareNode);
  else prepareNode(client);
  if (options.role === 'answering') giveDeadlines(client);
  return client;
}

function emitConnection(client: RedisClient, { name: connection, emit }: ConnectOptions): void {
  let awaySince: number | undefined;
  client.on('error', (error) => {
    awaySince ??= steadyClock();
    emit({ name: 'redis.error', connection, error });
  });
  client.on('ready', () => {
    if (awaySince === undefined) return;
    emit({ name: 'redis.back', connection, awayMs: Math.round(steadyClock() - awaySince) });
    awaySince = undefined;
  });
}

function prepareNode(node: Redis): void {
  gatherWritesOf(node);
  waitPatiently(node);
}

/** Send all commands of one turn of the event loop by one system call. */
function gatherWritesOf(node: Redis): void {
  node.on('connect', () => gatherWrites(node.stream));
}

/** Sends what a connection has gathered. */
const senders = new WeakMap<Duplex, () => void>();

/** Send now what was gathered in this turn: a caller that knows that no more follows spares it another turn. */
export function sendGathered(redis: RedisClient): void {
  // In a Cluster each node has a connection of its own.
  if (!(redis instanceof Cluster)) senders.get(redis.stream)?.();
}

function gatherWrites(stream: Duplex): void {
  // oxlint-disable-next-line typescript/unbound-method -- called on the stream, below
  const write = stream.write;
  let isGathering = false;
  const flush = () => {
    if (!isGathering) return;
    isGathering = false;
    stream.uncork();
  };
  senders.set(stream, flush);
  stream.write = function gather(this: Duplex, ...args: unknown[]): boolean {
    if (!isGathering) {
      isGathering = true;
      stream.cork();
      setImmediate(flush);
    }
    return Reflect.apply(write, this, args);
  };
}

export function queuePrefix(url: string): string {
  return parseRedisUrl(url).kind === 'cluster' ? CLUSTER_QUEUE_PREFIX : QUEUE_PREFIX;
}

function createClient(
  target: RedisTarget,
  roleOptions: ClientOptions,
  keeping: BullmqWorkerOptions,
): RedisClient {
  const options: ClientOptions = { ...roleOptions, ...target.auth, ...(target.tls ? { tls: {} } : {}) };
  switch (target.kind) {
    case 'single':
      return new KeptRedis({ ...options, ...target.node, db: target.db }, keeping);
    case 'sentinel':
      return new KeptRedis({ ...options, ...sentinelOptionsFor(target) }, keeping);
    case 'cluster': {
      const enableOfflineQueue = options.enableOfflineQueue ?? true;
      const clusterOptions = { enableOfflineQueue, clusterRetryStrategy: reconnectDelay };
      return new KeptCluster(target.nodes, { redisOptions: options, ...clusterOptions }, keeping);
    }
  }
}

// Behind Sentinels ioredis ignores `tls` without these options.
const TLS_EVERYWHERE = { sentinelTLS: {}, enableTLSForSentinelMode: true };

/**
 * A master that was cut off from its replicas still replies, and all writes to it after another one was
 * promoted are lost when it comes back: the Sentinels' word counts, not whether the connection works.
 */
function sentinelOptionsFor({
  sentinels,
  sentinelAuth,
  master,
  db,
  tls,
}: Extract<RedisTarget, { kind: 'sentinel' }>) {
  return {
    sentinels: [...sentinels],
    ...sentinelAuth,
    name: master,
    db,
    ...(tls ? TLS_EVERYWHERE : {}),
    failoverDetector: true,
    sentinelMaxConnections: SENTINELS_HEARD,
    // A silent one is skipped: by default ioredis waits for its reply endlessly.
    sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
    // By default a minute: the Sentinels' announcements meanwhile would go unheard.
    sentinelReconnectStrategy: reconnectDelay,
  };
}

function optionsFor({ role, name, silenceMs }: ConnectOptions): ClientOptions {
  const common: ClientOptions = {
    connectionName: name,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    socketTimeout: silenceMs ?? (role === 'working' ? undefined : ANSWERING_SILENCE_MS),
    retryStrategy: reconnectDelay,
    // After a fail-over the old master replies READONLY: reconnect, to the new one, and repeat.
    reconnectOnError: (error) => (/(?:^|: -)READONLY\b/.test(error.message) ? 2 : false),
  };
  if (role === 'working') return { ...common, maxRetriesPerRequest: null };
  const answering = { ...common, enableOfflineQueue: false, commandTimeout: COMMAND_TIMEOUT_MS };
  return role === 'answering'
    ? { ...answering, maxRetriesPerRequest: 1 }
    : { ...answering, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
}

/** The servers that hold keys, by their addresses: one, unless it is a Cluster. */
export function mastersOf(redis: RedisClient): ReadonlyMap<string, Redis> {
  const masters = redis instanceof Cluster ? redis.nodes('master') : [redis];
  return new Map(masters.map((master) => [`${master.options.host}:${master.options.port}`, master]));
}

// With a hash tag each, they find every master of a Cluster that has more than a few slots.
const MOST_TAGS = 1_000;

/** For each master that has slots, by its address, a key in one of them. */
export function keysOfMasters(cluster: Cluster, keyOf: (tag: number) => string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const masters = cluster.nodes('master').length;
  for (let tag = 0; tag < MOST_TAGS && found.size < masters; tag += 1) {
    const key = keyOf(tag);
    const master = cluster.slots[slotOf(key)]?.[0];
    if (master !== undefined && !found.has(master)) found.set(master, key);
  }
  return found;
}
