import type { OpenAccounts } from '@hookferry/core/accounts/resolve-account';
import type { AcceptedEvent, EventId } from '@hookferry/core/domain/event';
import { EVENTS_QUEUE, type QueueShard } from '@hookferry/core/domain/queues';
import type { Subscriptions } from '@hookferry/core/endpoints/subscriptions';
import { AppError } from '@hookferry/core/platform/app-error';
import {
  type FanOutContext,
  fanOutEvents,
  type RouteEventContext,
  routeEvent,
} from '@hookferry/core/publish/fan-out-event';
import {
  type ReadEvent,
  type ReadEventJobContext,
  readEventJob,
} from '@hookferry/core/publish/read-event-job';
import { beginScheduled, type CancelContext, scheduleEvents } from '@hookferry/core/publish/schedule-events';
import { type EventJob, scheduledEventSchema } from '@hookferry/core/queue/bullmq-event-queue';
import type { OldestEvents } from '@hookferry/core/queue/bullmq-oldest-events';
import { PushedEvents } from '@hookferry/core/queue/bullmq-pushed-events';
import {
  accountOfJob,
  describeRefusal,
  type RejectedEvents,
} from '@hookferry/core/queue/bullmq-rejected-events';
import { type Job, UnrecoverableError } from 'bullmq';
import type { z } from 'zod';
import type { SharedCapacity } from '../capacity';
import { type OpenWorkerParts, openWorker } from './bullmq-open-worker';
import { delayTooNew, orTryAgainSoon } from './bullmq-put-back';
import type { BullmqWorker } from './bullmq-worker';

export interface EventWorkerParts
  extends OpenWorkerParts,
    ReadEventJobContext,
    RouteEventContext,
    FanOutContext,
    CancelContext {
  readonly eventStore: FanOutContext['eventStore'] & CancelContext['eventStore'];
  readonly subscriptions: Subscriptions;
  readonly deadLetters: RejectedEvents;
  readonly oldestEvents: OldestEvents;
  readonly openAccounts: OpenAccounts;
  /** Over all shards together. */
  readonly eventCapacity: SharedCapacity;
}

// A fan-out mostly waits for Redis; more of them at once would only make each one slower.
export const FAN_OUT_CONCURRENCY = 32;

/**
 * Open the worker of a shard's events: invalid ones go to the dead letters, all others to the fan-out. Events
 * of an erased account are dropped: none of its data must be stored again.
 */
export function openEventWorker(parts: EventWorkerParts, shard: QueueShard): BullmqWorker<unknown> {
  const { redis, eventCapacity: capacity, emit } = parts;
  const pushedEvents = new PushedEvents({ redis, prefix: shard.prefix }, FAN_OUT_CONCURRENCY);
  return openWorker(parts, { queue: EVENTS_QUEUE, shard, capacity }, async (job, token) => {
    const work = async () => {
      await delayTooNew(job, token, emit);
      await pushedEvents.sort();
      await takeEvent(parts, job);
    };
    await orTryAgainSoon(() => notePutBack(parts, shard, job, work), job, token, emit);
  });
}

// An event that is put back is behind younger ones on the queue: deliveries in order have to wait for it.
async function notePutBack(
  { oldestEvents }: EventWorkerParts,
  shard: QueueShard,
  { id = '', data, timestamp, attemptsStarted }: Job,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof UnrecoverableError)) {
      await oldestEvents.notePutBack(shard, { id, accountId: accountOfJob(data), addedAt: timestamp });
    }
    throw error;
  }
  if (attemptsStarted > 1) await oldestEvents.forgetPutBack(shard, { id, accountId: accountOfJob(data) });
}

async function takeEvent(
  parts: EventWorkerParts,
  { id = '', name, timestamp, opts, data }: Job,
): Promise<void> {
  const job = { id, name, timestamp, delay: opts.delay, data };
  if (await isDropped(parts, job)) return;
  const scheduled = scheduledEventSchema.safeParse(data).data;
  if (scheduled) return await takeScheduled(parts, job, scheduled);
  const read = await readOrError(parts, job);
  await (read instanceof AppError ? reject(parts, job, read) : fanOut(parts, read));
}

async function isDropped({ openAccounts, emit }: EventWorkerParts, { id, data }: EventJob): Promise<boolean> {
  const accountId = accountOfJob(data);
  if (accountId === undefined || (await openAccounts.takesEvents(accountId))) return false;
  emit({ name: 'event.dropped', jobId: id, accountId });
  return true;
}

async function readOrError(parts: EventWorkerParts, job: EventJob): Promise<ReadEvent | AppError> {
  try {
    return await readEventJob(parts, job);
  } catch (error) {
    if (error instanceof AppError && error.code !== 'storage_unavailable') return error;
    throw error;
  }
}

async function fanOut(parts: EventWorkerParts, { event: read, source }: ReadEvent): Promise<void> {
  if (await isSettled(parts, read)) return;
  const event: AcceptedEvent = parts.movedIds ? { ...read, isQueued: true } : read;
  if (event.schedule) await scheduleEvents(parts, [event]);
  else await sendToAll(parts, event);
  // The API has announced its own events.
  if (source === 'http') return;
  parts.emit({
    name: 'event.accepted',
    source,
    accountId: event.accountId,
    eventId: event.id,
    type: event.type,
    bytes: Buffer.byteLength(event.body),
  });
}

async function sendToAll(parts: EventWorkerParts, event: AcceptedEvent): Promise<void> {
  const subscriptions = await parts.subscriptions.current(event.accountId);
  await fanOutEvents(parts, [await routeEvent(parts, event, subscriptions)]);
}

/** The job of an event whose time has come. One that lapsed before that is a dead letter. */
async function takeScheduled(
  parts: EventWorkerParts,
  job: EventJob,
  { account_id: accountId, id: eventId, due_at: deliverAt }: z.output<typeof scheduledEventSchema>,
): Promise<void> {
  const event = await beginScheduled(parts, { accountId, eventId, deliverAt });
  if (event === undefined || (await isSettled(parts, { accountId, id: eventId }))) return;
  await (event === 'lapsed'
    ? reject(parts, job, lapsed(eventId))
    : sendToAll(parts, { ...event, isQueued: true, isStored: true }));
}

function lapsed(id: EventId): AppError {
  return new AppError(
    'not_found',
    `The scheduled event "${id}" was not sent: no worker processed it within RETENTION after it was due.`,
  );
}

// A worker may have ended the fan-out and died before its job has ended, or a producer has pushed the event
// once more. With a history the deliveries may have moved there since: then they must not be made again.
async function isSettled(
  { movedIds, clock }: EventWorkerParts,
  { accountId, id }: Pick<AcceptedEvent, 'accountId' | 'id'>,
): Promise<boolean> {
  return (await movedIds?.isSettled({ accountId, id, isQueued: true }, clock())) ?? false;
}

async function reject(
  { deadLetters, emit }: EventWorkerParts,
  job: EventJob,
  error: AppError,
): Promise<void> {
  const reason = describeRefusal(error.message, error.validationErrors);
  const displaced = await deadLetters.keep(job, error).catch((failure: unknown) => {
    // Data that are nested too deeply to be written again stay in the failed job.
    throw failure instanceof RangeError ? new UnrecoverableError(reason) : failure;
  });
  emit({ name: 'event.rejected', jobId: job.id, code: error.code, reason });
  for (const jobId of displaced) emit({ name: 'dead_letter.oldest_deleted', queue: EVENTS_QUEUE, jobId });
}
