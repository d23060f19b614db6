/** For other packages of Hookferry alone: it may change with any version. */
export { type AnyEvent, toEventJob } from './event';
export { ConnectionBreaks } from './redis-breaks';
export { type ConnectionOptions, openRedis, type RedisConnection } from './redis-connection';
