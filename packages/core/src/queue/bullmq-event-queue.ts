import { eventJobId } from '@hookferry/producer/contract';
import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../domain/account';
import { endpointIdSchema, endpointRefsSchema } from '../domain/endpoint';
import {
  type AcceptedEvent,
  type EventHead,
  type EventId,
  eventGroupSchema,
  eventIdSchema,
  eventTypeNameSchema,
  REQUEST_ID_FORM,
} from '../domain/event';
import { EVENTS_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import type { RecordForm } from '../domain/record-form';
import { formatTraceparent, parseTraceparent } from '../domain/trace';
import { chunksOf } from '../platform/batches';
import { sentTimeSchema } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import { replaceData } from './bullmq-event-queue.script';
import { createJobKeys, jobFields } from './bullmq-layout';
import { type NewJob, OnDemandQueue } from './bullmq-on-demand-queue';
import { byShard, PerShard } from './per-shard';

// Large enough that Redis is the limit, small enough that one chunk does not hold up the event loop.
const CHUNK = 100;

/**
 * The queue of accepted events. An account's events go to one shard. Adding the same id again is harmless.
 * When adding rejects, some of the events may still be on the queue.
 */
export class EventQueue {
  readonly #queues: PerShard<OnDemandQueue>;

  /** @param form in which new events are written. */
  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
    private readonly form: RecordForm = 'current',
  ) {
    this.#queues = new PerShard((prefix) => new OnDemandQueue(EVENTS_QUEUE, { redis, prefix }));
  }

  /** Resolves once Redis has it. */
  async add(event: AcceptedEvent): Promise<void> {
    await this.#queues.in(this.shards.homeShardOf(event.accountId)).add(this.#jobOf(event));
  }

  async addAll(events: readonly AcceptedEvent[]): Promise<void> {
    const groups = byShard(events, ({ accountId }) => this.shards.homeShardOf(accountId));
    await Promise.all(groups.map(([shard, some]) => this.#addTo(this.#queues.in(shard), some)));
  }

  /** Find an event that no worker has fanned out yet. A producer's event with another job id is not found. */
  async find(accountId: AccountId, id: EventId): Promise<EventHead | undefined> {
    const { name, timestamp, data } = jobFields;
    const keys = this.#jobKeysOf(accountId, id);
    const jobs = await Promise.all(keys.map((key) => this.redis.hmget(key, name, timestamp, data)));
    return jobs.map((job) => headOf(job, accountId, id)).find((head) => head !== undefined);
  }

  /** Remove the payload and the receivers of an event that waits. */
  async empty(accountId: AccountId, id: EventId, { acceptedAt }: EventHead): Promise<void> {
    const data: AcceptedEventJob = {
      account_id: accountId,
      id,
      body: '',
      accepted_at: acceptedAt,
      webhook_ids: [],
    };
    const keys = this.#jobKeysOf(accountId, id);
    const text = JSON.stringify(data);
    await Promise.all(keys.map((job) => replaceData({ job, data: text })(this.redis)));
  }

  async #addTo(queue: OnDemandQueue, events: readonly AcceptedEvent[]): Promise<void> {
    for (const chunk of chunksOf(events, CHUNK)) await queue.addAll(chunk.map((event) => this.#jobOf(event)));
  }

  // Processes of the version before refuse a member that they don't know.
  #jobOf(event: AcceptedEvent): NewJob {
    return jobOf(event, this.form === 'former' ? undefined : event.requestId);
  }

  #jobKeysOf(accountId: AccountId, id: EventId): readonly string[] {
    return shardsOfAccount(this.shards, accountId).map(({ prefix }) =>
      createJobKeys(prefix, EVENTS_QUEUE).job(eventJobId(accountId, id)),
    );
  }
}

/** The shards where an account's events may wait: its own, and the first one, where producers push. */
export function shardsOfAccount(shards: QueueShards, accountId: AccountId): readonly QueueShard[] {
  const homes = shards.homeShardsOf(accountId);
  return homes.some(({ prefix }) => prefix === shards.first.prefix) ? homes : [...homes, shards.first];
}

function jobOf(
  { id, accountId, type, body, acceptedAt, endpointIds, trace, group }: AcceptedEvent,
  requestId: string | undefined,
): NewJob {
  const data: AcceptedEventJob = {
    account_id: accountId,
    id,
    body,
    accepted_at: acceptedAt,
    ...(endpointIds === undefined ? {} : { webhook_ids: endpointIds }),
    ...(trace === undefined ? {} : { trace: formatTraceparent(trace) }),
    ...(group === undefined ? {} : { group, v: GROUPED_JOB_VERSION }),
    ...(requestId === undefined ? {} : { request_id: requestId, v: REQUESTED_JOB_VERSION }),
  };
  return { name: type, data, opts: { jobId: eventJobId(accountId, id) } };
}

/** The needed members of a job on the events queue. */
export interface EventJob {
  readonly id: string;
  /** The event's type. */
  readonly name: string;
  /** When it was pushed. Milliseconds since the Unix epoch. */
  readonly timestamp: number;
  /** The delay that its producer set. Milliseconds. */
  readonly delay?: number | undefined;
  readonly data: unknown;
}

/**
 * The version of the jobs' data, and the latest that this process can read. Data without one have the first
 * version. A change that an older process would handle wrongly raises it and writes it into the data as `v`.
 */
export const JOB_VERSION = 5;

/** Of jobs that processes before version 2 would refuse: they wait for one that knows them. */
export const SCHEDULED_JOB_VERSION = 2;

/** Of jobs of events that belong to a group, likewise. */
const GROUPED_JOB_VERSION = 3;

/** Of jobs of events with the id of their request, likewise. */
const REQUESTED_JOB_VERSION = 4;

/** Of jobs of lanes, likewise. */
export const LANE_JOB_VERSION = 5;

/** The version in a job's data. */
const jobVersionSchema = z.int().min(1).optional();

const versionedSchema = z.object({ v: jobVersionSchema });

/** The version of a job's data; the first when it is absent or invalid. */
export function versionOfJob(data: unknown): number {
  return versionedSchema.safeParse(data).data?.v ?? 1;
}

// A traceparent. Anything else is passed over: no event is refused for the sake of its trace.
const traceSchema = z.string().optional().catch(undefined).transform(parseTraceparent).optional();

/** A producer's job on the events queue: its `PublishedEventJob`. The job's name is the event's type. */
export const publishedEventSchema = z.strictObject({
  account_id: accountIdSchema,
  type: z.string(),
  data: z.unknown(),
  /** Unique in the account; the same id again is the same event. Absent: the job's own identity. */
  id: eventIdSchema.optional(),
  /** Only these endpoints get it, whichever types they subscribe to; each by its id or its uid. */
  webhook_ids: endpointRefsSchema.optional(),
  /** When to send it. An older process would not know it, so `v` is 2 then. */
  deliver_at: sentTimeSchema.optional(),
  /** What it belongs to. Likewise, `v` is 3 then. */
  group: eventGroupSchema.optional(),
  trace: traceSchema,
  v: jobVersionSchema,
});

/** The job of an event whose time has come: its record has all else. */
export const scheduledEventSchema = z.strictObject({
  account_id: accountIdSchema,
  id: eventIdSchema,
  /** Milliseconds since the Unix epoch. */
  due_at: z.number(),
  v: z.literal(SCHEDULED_JOB_VERSION),
});

/** The API's job: a validated event with its body sealed. The job's name is its type. */
export const acceptedEventSchema = z.strictObject({
  account_id: accountIdSchema,
  id: eventIdSchema,
  body: z.string(),
  /** Milliseconds since the Unix epoch. */
  accepted_at: z.number(),
  /** An empty list: its payload was erased, so no endpoint gets it. */
  webhook_ids: z.array(endpointIdSchema).readonly().optional(),
  group: eventGroupSchema.optional(),
  request_id: z.string().regex(REQUEST_ID_FORM).optional(),
  trace: traceSchema,
  v: jobVersionSchema,
});
export type AcceptedEventJob = z.input<typeof acceptedEventSchema>;

const jobSchema = z.tuple([eventTypeNameSchema, z.coerce.number(), z.string()]);

// A producer's job is not validated yet. One that is not an event will be refused, so it has no head here
// either.
function headOf(stored: unknown, accountId: AccountId, id: EventId): EventHead | undefined {
  const job = jobSchema.safeParse(stored);
  if (!job.success) return undefined;
  const [type, timestamp, text] = job.data;
  const parsed = z.union([acceptedEventSchema, publishedEventSchema]).safeParse(parsedOrUndefined(text));
  if (!parsed.success || parsed.data.account_id !== accountId || parsed.data.id !== id) return undefined;
  const acceptedAt = 'accepted_at' in parsed.data ? parsed.data.accepted_at : timestamp;
  const { group, webhook_ids } = parsed.data;
  const requestId = 'request_id' in parsed.data ? parsed.data.request_id : undefined;
  return {
    type,
    acceptedAt,
    isAimed: webhook_ids !== undefined,
    ...(group === undefined ? {} : { group }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}
