import type { OpenAccounts } from '@hookferry/core/accounts/open-accounts';
import { EVENTS_QUEUE, type QueueShard } from '@hookferry/core/domain/queues';
import type { AppError } from '@hookferry/core/platform/app-error';
import type { Publishing } from '@hookferry/core/publish/publishing';
import type { EventJob } from '@hookferry/core/queue/bullmq-event-queue';
import type { OldestEvents } from '@hookferry/core/queue/bullmq-oldest-events';
import { PushedEvents } from '@hookferry/core/queue/bullmq-pushed-events';
import {
  accountOfJob,
  describeRefusal,
  type RejectedEvents,
} from '@hookferry/core/queue/bullmq-rejected-events';
import { type Job, UnrecoverableError } from 'bullmq';
import type { SharedCapacity } from '../capacity';
import { type OpenWorkerParts, openWorker } from './bullmq-open-worker';
import { delayTooNew, orTryAgainSoon } from './bullmq-put-back';
import type { BullmqWorker } from './bullmq-worker';

export interface EventWorkerParts extends OpenWorkerParts {
  readonly publishing: Publishing;
  readonly rejectedEvents: RejectedEvents;
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
  const refusal = await parts.publishing.take(job);
  if (refusal) await reject(parts, job, refusal);
}

async function isDropped({ openAccounts, emit }: EventWorkerParts, { id, data }: EventJob): Promise<boolean> {
  const accountId = accountOfJob(data);
  if (accountId === undefined || (await openAccounts.takesEvents(accountId))) return false;
  emit({ name: 'event.dropped', jobId: id, accountId });
  return true;
}

async function reject(
  { rejectedEvents, emit }: EventWorkerParts,
  job: EventJob,
  error: AppError,
): Promise<void> {
  const reason = describeRefusal(error.message, error.validationErrors);
  const displaced = await rejectedEvents.keep(job, error).catch((failure: unknown) => {
    // Data that are nested too deeply to be written again stay in the failed job.
    throw failure instanceof RangeError ? new UnrecoverableError(reason) : failure;
  });
  emit({ name: 'event.rejected', jobId: job.id, code: error.code, reason });
  for (const jobId of displaced) emit({ name: 'dead_letter.oldest_deleted', queue: EVENTS_QUEUE, jobId });
}
