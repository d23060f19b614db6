import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { CLUSTER_QUEUE_PREFIX, parseRedisUrl, QUEUE_PREFIX } from './contract';
import { refusalIn } from './refusal';

export type RedisClient = Redis | Cluster;

// Left out, because ioredis' types allow no `undefined` there.
type ClientOptions = Omit<RedisOptions, 'replyMapping'>;

/** Where Redis is: as a URL, as ioredis' options, or as an ioredis client of your own, which you close yourself. */
export type ConnectionOptions =
  | {
      /** `redis://`, `rediss://`, `redis+sentinel://…host,host/master` or `redis+cluster://…host,host`. */
      readonly redisUrl: string;
      readonly connection?: never;
    }
  | { readonly connection: ClientOptions | RedisClient; readonly redisUrl?: never };

export interface RedisConnection {
  readonly client: RedisClient;
  /** BullMQ's prefix of the queue's keys. */
  readonly prefix: string;
  /** The last error, while the connection is not ready. */
  lastError(): unknown;
  /**
   * Resolves when commands can be sent. @throws the error with which Redis refuses the connection, such as a wrong password, and one
   * if it is closed.
   */
  untilReady(): Promise<void>;
  close(): void;
}

const MAX_RECONNECT_DELAY_MS = 1_000;
// After this long without a reply a connection counts as dead, and is made again: nothing else would notice.
const SILENCE_MS = 5_000;

/** Connects, and goes on trying by itself. @throws Error when `redisUrl` has none of its forms. */
export function openRedis(
  options: ConnectionOptions,
  patienceMs: number,
  onError: (error: Error) => void,
): RedisConnection {
  const own = createOwn(options, patienceMs);
  const client = own ?? (options.connection as RedisClient);
  let lastError: unknown;
  // One for all who wait.
  let waiting: Waiting | undefined;
  const noteReady = () => {
    lastError = undefined;
    waiting?.resolve();
    waiting = undefined;
  };
  const noteError = (error: Error) => {
    lastError = error;
    const refusal = refusalIn(error);
    if (refusal) {
      waiting?.reject(refusal);
      waiting = undefined;
    }
    onError(error);
  };
  client.on('ready', noteReady);
  // Without a listener an 'error' event would end the process.
  client.on('error', noteError);
  return {
    client,
    prefix: client.isCluster ? CLUSTER_QUEUE_PREFIX : QUEUE_PREFIX,
    lastError: () => lastError,
    async untilReady() {
      if (client.status === 'ready') return;
      const refusal = refusalIn(lastError);
      if (refusal) {
        // Otherwise callers that publish again at once, in a loop, would leave no time to connect.
        await nextTurn();
        throw refusal;
      }
      waiting ??= createWaiting();
      await waiting.over;
    },
    close() {
      waiting?.reject(new Error('The connection was closed.'));
      waiting = undefined;
      client.off('ready', noteReady);
      client.off('error', noteError);
      if (!own) return;
      own.on('error', () => {});
      own.disconnect();
    },
  };
}

interface Waiting {
  readonly over: Promise<void>;
  resolve(): void;
  reject(refusal: Error): void;
}

function createWaiting(): Waiting {
  let [resolve, reject]: [() => void, (refusal: Error) => void] = [() => {}, () => {}];
  const over = new Promise<void>((...settle) => {
    [resolve, reject] = settle;
  });
  return { over, resolve: () => resolve(), reject: (refusal) => reject(refusal) };
}

/** `undefined` for a client that the caller passed in. */
function createOwn({ redisUrl, connection }: ConnectionOptions, patienceMs: number): RedisClient | undefined {
  if (connection instanceof Redis || connection instanceof Cluster) return undefined;
  // Fails instead of waiting, so that publishing waits no longer than asked for.
  const settings = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: patienceMs,
    socketTimeout: SILENCE_MS,
    connectTimeout: patienceMs,
    retryStrategy: reconnectDelay,
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
  if (redisUrl === undefined) return new Redis({ ...connection, ...settings });
  const target = parseRedisUrl(redisUrl);
  const common = { ...settings, ...target.auth, ...(target.tls ? { tls: {} } : {}) };
  switch (target.kind) {
    case 'single':
      return new Redis({ ...common, ...target.node, db: target.db });
    case 'sentinel':
      return new Redis({
        ...common,
        sentinels: [...target.sentinels],
        ...target.sentinelAuth,
        name: target.master,
        db: target.db,
        // By default ioredis waits without end for a server that accepts the connection and never replies.
        sentinelCommandTimeout: patienceMs,
        ...(target.tls ? TLS_EVERYWHERE : {}),
      });
    case 'cluster':
      return new Cluster([...target.nodes], {
        redisOptions: common,
        enableOfflineQueue: false,
        clusterRetryStrategy: reconnectDelay,
      });
  }
}

// With Sentinels, ioredis ignores `tls` without this option.
const TLS_EVERYWHERE = { sentinelTLS: {}, enableTLSForSentinelMode: true };

function reconnectDelay(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 10), MAX_RECONNECT_DELAY_MS);
}
