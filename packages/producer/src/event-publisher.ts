import type { BuiltInEvents } from './built-in-events';
import { type Failure, JobSender } from './bullmq-job-sender';
import type { CheckEvent } from './check-event';
import { type AnyEvent, type EventInput, type EventJob, toEventJob } from './event';
import { checkOptions } from './options';
import { PublishError } from './publish-error';
import { type ConnectionOptions, openRedis } from './redis-connection';
import { ReplicaWait } from './redis-replica-wait';

export type PublisherOptions = ConnectionOptions & {
  /** The longest wait for Redis when publishing, in milliseconds: 1 to a day. Default 5,000. */
  readonly patienceMs?: number;
  /**
   * How many replicas of Redis must have an event before publishing resolves: then no fail-over to them loses it. 0 to 10, default 0.
   * A `connection` of your own serves nobody else meanwhile.
   */
  readonly confirmedBy?: number;
  /** Called with each error of the connection. It reconnects by itself. */
  readonly onConnectionError?: (error: Error) => void;
  /**
   * Returns the `traceparent` (W3C Trace Context) of the current span: the parent of the event's spans in the service.
   * Without it, or if it throws, none is sent.
   */
  readonly traceparent?: () => string | undefined;
  /** Checks each event before it is sent, such as `createSchemaCheck` of `@hookferry/producer/schemas`. Default: none. */
  readonly check?: CheckEvent;
};

export interface Published {
  /** The event's id: the given one, or a generated one. */
  readonly id: string;
}

/** The result for one event of a batch. */
export type BatchResult =
  | { readonly status: 'published'; readonly id: string }
  | { readonly status: 'failed'; readonly error: PublishError };

export interface EventPublisher<Events extends object> {
  /** Resolves once Redis has the event. @throws PublishError */
  publish(event: EventInput<Events>): Promise<Published>;
  /** Resolves with a result for each event, in their order. Some events may be published and others not. */
  publishBatch(events: readonly EventInput<Events>[]): Promise<readonly BatchResult[]>;
  /** Waits for pending publishes, then closes the connection, unless you passed it in. */
  close(): Promise<void>;
}

// So few that one round trip does not delay other callers.
const CHUNK = 100;

/**
 * For services that can reach the Redis of Hookferry: publishes events straight onto its queue.
 *
 * ```ts
 * interface Events {
 *   'order.created': { id: string; total: number };
 * }
 * const publisher = createEventPublisher<Events>({ redisUrl: 'redis://127.0.0.1:6379' });
 * await publisher.publish({ accountId: 'acme', type: 'order.created', data: { id: 'ord_4711', total: 99.5 } });
 * await publisher.close();
 * ```
 *
 * Without a map of types, they are the built-in ones. While Redis is down, publishing waits
 * and tries again for up to `patienceMs`. When Redis is back, the publisher works again by itself.
 *
 * @throws TypeError if an option is not valid. @throws Error if `redisUrl` has none of its forms.
 */
export function createEventPublisher<Events extends object = BuiltInEvents>(
  options: PublisherOptions,
): EventPublisher<Events> {
  const patienceMs = checkOptions(options);
  const { onConnectionError = () => {}, confirmedBy = 0 } = options;
  const redis = openRedis(options, patienceMs, onConnectionError);
  const sender = new JobSender(
    redis,
    patienceMs,
    confirmedBy === 0 ? undefined : new ReplicaWait(redis, confirmedBy),
  );
  const underWay = new Set<Promise<unknown>>();
  let isClosed = false;

  async function send(jobs: readonly EventJob[]): Promise<Failure | { readonly code: 'closed' } | undefined> {
    if (isClosed) return { code: 'closed' };
    const sending = sender.send(jobs);
    underWay.add(sending);
    return await sending.finally(() => underWay.delete(sending));
  }

  async function publish(event: AnyEvent): Promise<Published> {
    const job = toEventJob(event, traceparentOf(options));
    if (options.check) await checkJob(job, options.check);
    const failure = await send([job]);
    if (failure) throw errorOf(job, failure);
    return { id: job.eventId };
  }

  async function publishBatch(events: readonly AnyEvent[]): Promise<readonly BatchResult[]> {
    const trace = traceparentOf(options);
    const made = events.map((event) => toJobOrError(event, trace));
    const { check } = options;
    const jobs = check ? await Promise.all(made.map((job) => checkedOrError(job, check))) : made;
    const errors = await sendInChunks(jobs.filter(isJob));
    return jobs.map((job) => {
      if (!isJob(job)) return { status: 'failed', error: job };
      const error = errors.get(job);
      return error ? { status: 'failed', error } : { status: 'published', id: job.eventId };
    });
  }

  async function sendInChunks(jobs: readonly EventJob[]): Promise<ReadonlyMap<EventJob, PublishError>> {
    const errors = new Map<EventJob, PublishError>();
    for (let start = 0; start < jobs.length; start += CHUNK) {
      const chunk = jobs.slice(start, start + CHUNK);
      const failure = await send(chunk);
      if (!failure) continue;
      for (const job of chunk) errors.set(job, errorOf(job, failure));
      if (failure.code === 'redis_refused') continue;
      // These waited in vain, so the others do not wait again.
      for (const job of jobs.slice(start + CHUNK)) errors.set(job, notSent(job, failure));
      break;
    }
    return errors;
  }

  async function close(): Promise<void> {
    isClosed = true;
    await Promise.allSettled(underWay);
    await sender.close();
    redis.close();
  }

  return { publish, publishBatch, close };
}

type AnyFailure = Failure | { readonly code: 'closed'; readonly cause?: unknown };

function errorOf({ eventId }: EventJob, { code, cause }: AnyFailure): PublishError {
  return PublishError.of(code, eventId, cause);
}

function notSent(job: EventJob, { code, cause }: AnyFailure): PublishError {
  return errorOf(job, { code: code === 'closed' ? code : 'redis_unavailable', cause });
}

function isJob(job: EventJob | PublishError): job is EventJob {
  return !(job instanceof PublishError);
}

// A fault in tracing must not stop an event.
function traceparentOf({ traceparent }: PublisherOptions): string | undefined {
  try {
    return traceparent?.();
  } catch {
    return undefined;
  }
}

/** @throws PublishError */
async function checkJob({ name, data, eventId }: EventJob, check: CheckEvent): Promise<void> {
  const faults = await check(name, data.data).catch((error: unknown) => {
    throw PublishError.of('schema_unavailable', eventId, error);
  });
  if (faults.length > 0) throw PublishError.invalid(faults);
}

async function checkedOrError(
  job: EventJob | PublishError,
  check: CheckEvent,
): Promise<EventJob | PublishError> {
  if (!isJob(job)) return job;
  try {
    await checkJob(job, check);
    return job;
  } catch (error) {
    if (error instanceof PublishError) return error;
    throw error;
  }
}

function toJobOrError(event: AnyEvent, trace: string | undefined): EventJob | PublishError {
  try {
    return toEventJob(event, trace);
  } catch (error) {
    if (error instanceof PublishError) return error;
    throw error;
  }
}
