/** The queue of the events that producers and the API publish. */
export const EVENTS_QUEUE = 'events';

/** What BullMQ puts before its keys: its own default, so that producers need not know it. */
export const QUEUE_PREFIX = 'bull';

/** In a Cluster all keys of a queue must have one hash tag. */
export const CLUSTER_QUEUE_PREFIX = '{bull}';

/** What a job of the queue has as its data; its name is the event's type. */
export interface PublishedEventJob {
  readonly account_id: string;
  readonly type: string;
  readonly data: unknown;
  /** Unique in the account; the same id again is the same event. Left out, the job's own identity is used. */
  readonly id?: string;
  /** Only these endpoints get it, whichever types they asked for; each by its id or its uid. */
  readonly webhook_ids?: readonly string[];
  /** When to send it, by RFC 3339: see `SCHEDULE_MAX`. `v` must be 2 then. Left out, or up to a minute ago: at once. */
  readonly deliver_at?: string;
  /** What it belongs to, such as an order: 1 to 256 bytes. Webhooks may ask for a group's events in order. `v` must be 3 then. */
  readonly group?: string;
  /** A `traceparent` (W3C Trace Context): what is done for the event is traced below it. What is none is passed over. */
  readonly trace?: string;
  /** Which form these data have. Left out, the first. A worker that does not know it leaves the job to those that do. */
  readonly v?: 1 | 2 | 3;
}

/** An event's job id: adding an event twice makes one job. BullMQ allows no colon and no bare integer. */
export function eventJobId(accountId: string, eventId: string): string {
  return `${accountId}.${eventId}`;
}

export { isRedisUrl, parseRedisUrl, type RedisTarget } from './redis-url';
