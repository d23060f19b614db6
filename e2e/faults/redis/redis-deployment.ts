import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { RedisServer } from '../../support/redis-server';

// Left out, because ioredis' types allow no `undefined` there.
export type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** The Redis of a run, whatever it consists of. */
export interface RedisDeployment {
  /** As a REDIS_URL. */
  readonly url: string;
  /** BullMQ's prefix there. */
  readonly prefix: string;
  /** Where it is one server: processes then reach it through proxies. */
  readonly server?: RedisServer;
  /** Connects past all proxies. */
  connect(options: ConnectionOptions): Redis | Cluster;
  remove(): Promise<void>;
}
