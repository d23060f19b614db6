/** For other packages of Hookferry alone: it may change with any version. */
export { type Failure, JobSender } from './bullmq-job-sender';
export { type AnyEvent, type EventJob, toEventJob } from './event';
export { Patience } from './patience';
export { ConnectionBreaks } from './redis-breaks';
export { type ConnectionOptions, openRedis, type RedisConnection } from './redis-connection';
export { ReplicaWait } from './redis-replica-wait';
