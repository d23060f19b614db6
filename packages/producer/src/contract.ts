/** The queue of the events that producers and the API publish. */
export const EVENTS_QUEUE = 'events';

/** The prefix of BullMQ's keys: BullMQ's default, so that producers need not set it. */
export const QUEUE_PREFIX = 'bull';

/** In a Cluster all keys of a queue must have one hash tag. */
export const CLUSTER_QUEUE_PREFIX = '{bull}';

/** The data of a job on the queue. The name of the job is the event's type. */
export interface PublishedEventJob {
  readonly account_id: string;
  readonly type: string;
  readonly data: unknown;
  /** Unique in the account: a second job with the same id is the same event. Default: made from the job's own id. */
  readonly id?: string;
  /** Only these webhooks get it, whichever types they asked for. Each is named by its id or its uid. */
  readonly webhook_ids?: readonly string[];
  /** When to send it (RFC 3339), at most `SCHEDULE_MAX` ahead. Needs `v` 2. Default, and if up to a minute ago: at once. */
  readonly deliver_at?: string;
  /** The thing that it belongs to, such as an order: 1 to 256 bytes. Webhooks can get a group's events in order. Needs `v` 3. */
  readonly group?: string;
  /** A `traceparent` (W3C Trace Context), the parent of the event's spans. An invalid one is ignored. */
  readonly trace?: string;
  /** The version of this form. Default 1. A worker that does not know the version leaves the job to newer workers. */
  readonly v?: 1 | 2 | 3;
}

/** An event's job id: adding an event twice makes one job. BullMQ allows no colon and no bare integer. */
export function eventJobId(accountId: string, eventId: string): string {
  return `${accountId}.${eventId}`;
}

export { isRedisUrl, parseRedisUrl, type RedisTarget } from './redis-url';
