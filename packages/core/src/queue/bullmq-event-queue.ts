import { eventJobId } from '@hookferry/producer/contract';
import { z } from 'zod';
import type { OldestEventsPort } from '../deliver/flow/releaser';
import { type AccountId, accountIdSchema } from '../domain/account';
import { endpointIdSchema, endpointRefsSchema } from '../domain/endpoint';
import { type AcceptedEvent, type EventId, eventIdSchema } from '../domain/event';
import { EVENTS_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import { formatTraceparent, parseTraceparent } from '../domain/trace';
import { eventTypeNameSchema } from '../event-types/custom-event-type';
import type { EventHead } from '../events/redis-event-store';
import type { QueuedEvents } from '../operations/erase-payload';
import { parsedOrUndefined } from '../platform/json';
import { type RedisClient, storageUnavailable } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import type { EventQueue } from '../publish/accept-events';
import { createJobKeys, type JobKeys, jobFields } from './bullmq-layout';
import { OldestEvents } from './bullmq-oldest-events';
import { BullmqOnDemandQueue, type NewJob, type QueueConnection } from './bullmq-on-demand-queue';
import { byShard, PerShard } from './shards-in-force';

/** Where events of an account may wait: in its shards, and where producers push, who know of no shards. */
function shardsOfAccount(shards: QueueShards, accountId: AccountId): readonly QueueShard[] {
  const homes = shards.homeShardsOf(accountId);
  return homes.some(({ prefix }) => prefix === shards.first.prefix) ? homes : [...homes, shards.first];
}

/** The end of the events queue where events are accepted: an account's go into one shard. */
export class ShardedEventQueue implements EventQueue {
  readonly #queues: PerShard<BullmqEventQueue>;

  constructor(
    redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#queues = new PerShard(redis, (connection) => new BullmqEventQueue(connection));
  }

  async add(event: AcceptedEvent): Promise<void> {
    await this.#queues.in(this.shards.homeShardOf(event.accountId)).add(event);
  }

  async addAll(events: readonly AcceptedEvent[]): Promise<void> {
    const groups = byShard(events, ({ accountId }) => this.shards.homeShardOf(accountId));
    await Promise.all(groups.map(([shard, some]) => this.#queues.in(shard).addAll(some)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.made().map((queue) => queue.close()));
  }
}

/** What of the events queue is not fanned out yet, in whichever shard it is. */
export function createShardedOldestEvents(redis: RedisClient, shards: QueueShards): OldestEventsPort {
  const horizons = new PerShard(redis, (connection) => new OldestEvents(connection));
  return {
    async hasOlder(event) {
      const asked = horizons.inEach(shardsOfAccount(shards, event.accountId));
      return (await Promise.all(asked.map((horizon) => horizon.hasOlder(event)))).includes(true);
    },
  };
}

/** Looks into the events queue for events by their ids, in whichever shard they are. */
export function createShardedQueuedEvents(redis: RedisClient, shards: QueueShards): QueuedEvents {
  const queues = new PerShard(redis, (connection) => new BullmqQueuedEvents(connection));
  const askedFor = (accountId: AccountId) => queues.inEach(shardsOfAccount(shards, accountId));
  return {
    async find(accountId: AccountId, id: EventId): Promise<EventHead | undefined> {
      const heads = await Promise.all(askedFor(accountId).map((queue) => queue.find(accountId, id)));
      return heads.find((head) => head !== undefined);
    },

    async empty(accountId: AccountId, id: EventId, head: EventHead): Promise<void> {
      await Promise.all(askedFor(accountId).map((queue) => queue.empty(accountId, id, head)));
    },
  };
}

// Large enough that Redis is the limit, small enough that one chunk does not hold up the event loop.
const CHUNK = 100;

/** The API's end of the events queue. */
export class BullmqEventQueue implements EventQueue {
  readonly #queue: BullmqOnDemandQueue;

  constructor(connection: QueueConnection) {
    this.#queue = new BullmqOnDemandQueue(EVENTS_QUEUE, connection);
  }

  async add(event: AcceptedEvent): Promise<void> {
    await this.#queue.add(jobOf(event));
  }

  async addAll(events: readonly AcceptedEvent[]): Promise<void> {
    for (let start = 0; start < events.length; start += CHUNK) {
      await this.#queue.addAll(events.slice(start, start + CHUNK).map(jobOf));
    }
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

function jobOf({ id, accountId, type, body, acceptedAt, endpointIds, trace }: AcceptedEvent): NewJob {
  const data: AcceptedEventJob = {
    account_id: accountId,
    id,
    body,
    accepted_at: acceptedAt,
    ...(endpointIds === undefined ? {} : { webhook_ids: endpointIds }),
    ...(trace === undefined ? {} : { trace: formatTraceparent(trace) }),
  };
  return { name: type, data, opts: { jobId: eventJobId(accountId, id) } };
}

/**
 * The form of our jobs' data, and the latest that this process can read. Data that say nothing have the first. A change after
 * which an older process would do the job wrongly raises this, and writes it into the data as `v`.
 */
export const JOB_VERSION = 1;

/** What a job's data say of their form. */
const jobVersionSchema = z.int().min(1).optional();

const versionedSchema = z.object({ v: jobVersionSchema });

/** The form that a job's data say that they have; the first when they say nothing, or nothing sensible. */
export function versionOfJob(data: unknown): number {
  return versionedSchema.safeParse(data).data?.v ?? 1;
}

// A traceparent. What is none is passed over: no event is refused for the sake of its trace.
const traceSchema = z.string().optional().catch(undefined).transform(parseTraceparent).optional();

/** What a producer pushes onto the events queue: its `PublishedEventJob`. The job's name is the event's type. */
export const publishedEventSchema = z.strictObject({
  account_id: accountIdSchema,
  type: z.string(),
  data: z.unknown(),
  /** Unique in the account; the same id again is the same event. Left out, the job's own identity is used. */
  id: eventIdSchema.optional(),
  /** Only these endpoints get it, whichever types they asked for; each by its id or its uid. */
  webhook_ids: endpointRefsSchema.optional(),
  trace: traceSchema,
  v: jobVersionSchema,
});

/** What the API pushes: an event that was checked already, with its body sealed. The job's name is its type. */
export const acceptedEventSchema = z.strictObject({
  account_id: accountIdSchema,
  id: eventIdSchema,
  body: z.string(),
  /** Milliseconds since the Unix epoch. */
  accepted_at: z.number(),
  /** None at all: its payload was erased, so nobody gets it. */
  webhook_ids: z.array(endpointIdSchema).readonly().optional(),
  trace: traceSchema,
  v: jobVersionSchema,
});
export type AcceptedEventJob = z.input<typeof acceptedEventSchema>;

// KEYS: job. ARGV: its new data. A job that has ended meanwhile must not come back as a torso.
const REPLACE_DATA = defineScript(`
  if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], '${jobFields.data}', ARGV[1]) end`);

/** Looks into the events queue for events by their ids. A producer's event that has another job id is not found there. */
export class BullmqQueuedEvents implements QueuedEvents {
  readonly #keys: JobKeys;

  constructor(private readonly connection: QueueConnection) {
    this.#keys = createJobKeys(connection.prefix, EVENTS_QUEUE);
  }

  async find(accountId: AccountId, id: EventId): Promise<EventHead | undefined> {
    const { name, timestamp, data } = jobFields;
    const job = await this.#reach((redis, key) => redis.hmget(key, name, timestamp, data), accountId, id);
    return headOf(job, accountId, id);
  }

  async empty(accountId: AccountId, id: EventId, { acceptedAt }: EventHead): Promise<void> {
    const data: AcceptedEventJob = {
      account_id: accountId,
      id,
      body: '',
      accepted_at: acceptedAt,
      webhook_ids: [],
    };
    await this.#reach((redis, key) => REPLACE_DATA(redis, [key], [JSON.stringify(data)]), accountId, id);
  }

  async #reach<T>(
    command: (redis: QueueConnection['redis'], key: string) => Promise<T>,
    accountId: AccountId,
    id: EventId,
  ): Promise<T> {
    try {
      return await command(this.connection.redis, this.#keys.job(eventJobId(accountId, id)));
    } catch (error) {
      throw storageUnavailable(error);
    }
  }
}

const jobSchema = z.tuple([eventTypeNameSchema, z.coerce.number(), z.string()]);

// What a producer has pushed was not checked by anybody yet; what is no event will be refused, and is none here either.
function headOf(stored: unknown, accountId: AccountId, id: EventId): EventHead | undefined {
  const job = jobSchema.safeParse(stored);
  if (!job.success) return undefined;
  const [type, timestamp, text] = job.data;
  const parsed = z.union([acceptedEventSchema, publishedEventSchema]).safeParse(parsedOrUndefined(text));
  if (!parsed.success || parsed.data.account_id !== accountId || parsed.data.id !== id) return undefined;
  const acceptedAt = 'accepted_at' in parsed.data ? parsed.data.accepted_at : timestamp;
  return { type, acceptedAt, isAimed: parsed.data.webhook_ids !== undefined };
}
