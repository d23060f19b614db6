import type { BuiltInEvents } from './built-in-events';
import { type Failure, JobSender } from './bullmq-job-sender';
import { type AnyEvent, type EventInput, type EventJob, toEventJob } from './event';
import { checkOptions } from './options';
import { PublishError } from './publish-error';
import { type ConnectionOptions, openRedis } from './redis-connection';

export type PublisherOptions = ConnectionOptions & {
  /** How long publishing waits for Redis at most, in milliseconds: 1 to a day, 5,000 by default. */
  readonly patienceMs?: number;
  /** Told of each error of the connection, which is made again by itself. */
  readonly onConnectionError?: (error: Error) => void;
  /**
   * Gives the `traceparent` (W3C Trace Context) of whatever is under way when something is published: the service traces
   * what it does for the event below it. Left out, or when it throws, nothing is sent along.
   */
  readonly traceparent?: () => string | undefined;
};

export interface Published {
  /** The event's id: its own, or the one that was made for it. */
  readonly id: string;
}

/** What became of one event of a batch. */
export type BatchResult =
  | { readonly status: 'published'; readonly id: string }
  | { readonly status: 'failed'; readonly error: PublishError };

export interface EventPublisher<Events extends object> {
  /** Resolves once Redis has the event. @throws PublishError */
  publish(event: EventInput<Events>): Promise<Published>;
  /** A result for each event, in their order: some may be taken, and others not. */
  publishBatch(events: readonly EventInput<Events>[]): Promise<readonly BatchResult[]>;
  /** Waits for what is under way, then closes the connection, unless it is yours. */
  close(): Promise<void>;
}

// Few enough that one round trip holds nobody else up.
const CHUNK = 100;

/**
 * For services that can reach the Redis of Hookferry: publishes events straight onto its queue.
 *
 * ```ts
 * const publisher = createEventPublisher({ redisUrl: 'redis://127.0.0.1:6379' });
 * await publisher.publish({
 *   type: 'keyword.quick_win',
 *   data: { keyword: 'red shoes', position: 11, volume: 2400 },
 * });
 * await publisher.close();
 * ```
 *
 * Types of your own: `createEventPublisher<{ 'invoice.paid': { total: number } }>(…)`. While Redis is away, publishing
 * waits for it up to `patienceMs`, and tries again; afterwards the publisher works on by itself.
 *
 * @throws TypeError for an option that can't work. @throws Error when `redisUrl` has none of its forms.
 */
export function createEventPublisher<Events extends object = BuiltInEvents>(
  options: PublisherOptions,
): EventPublisher<Events> {
  const patienceMs = checkOptions(options);
  const { onConnectionError = () => {} } = options;
  const redis = openRedis(options, patienceMs, onConnectionError);
  const sender = new JobSender(redis, patienceMs);
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
    const failure = await send([job]);
    if (failure) throw errorOf(job, failure);
    return { id: job.eventId };
  }

  async function publishBatch(events: readonly AnyEvent[]): Promise<readonly BatchResult[]> {
    const trace = traceparentOf(options);
    const jobs = events.map((event) => toJobOrError(event, trace));
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
      // What these waited for in vain, the others need not wait for again.
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

// An event is not held back for the sake of its trace.
function traceparentOf({ traceparent }: PublisherOptions): string | undefined {
  try {
    return traceparent?.();
  } catch {
    return undefined;
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
