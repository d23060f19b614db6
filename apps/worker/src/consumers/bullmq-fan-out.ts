import type { OpenAccounts } from '@hookferry/core/accounts/open-accounts';
import type { AccountId } from '@hookferry/core/domain/account';
import { EVENTS_QUEUE, type QueueShard } from '@hookferry/core/domain/queues';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Publishing } from '@hookferry/core/publish/publishing';
import {
  acceptedEventSchema,
  type EventJob,
  scheduledEventSchema,
} from '@hookferry/core/queue/bullmq-event-queue';
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
 * Open the worker of a shard's events: invalid ones, and those that a producer pushed for an account that there is not,
 * go to the dead letters, all others to the fan-out.
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
  const accountId = accountOfJob(data);
  const refusal = accountId ? await takeOf(parts, job, accountId) : await parts.publishing.take(job);
  if (refusal) await reject(parts, job, refusal);
}

async function takeOf(
  parts: EventWorkerParts,
  job: EventJob,
  accountId: AccountId,
): Promise<AppError | undefined> {
  const standing = await parts.openAccounts.standingOf(accountId);
  if (standing.state === 'erased') {
    await dropErased(parts, job, accountId, standing.erasingSince);
    return undefined;
  }
  if (standing.state === 'unknown' && isPushed(job)) return noAccount(accountId);
  return await parts.publishing.take(job);
}

/**
 * None of the account's data must be stored again. A producer that goes on publishing for it is told by one dead letter
 * without them: more would push out those of others. What was on the queue before is erased like all the rest.
 */
async function dropErased(
  parts: EventWorkerParts,
  job: EventJob,
  accountId: AccountId,
  erasingSince = 0,
): Promise<void> {
  parts.emit({ name: 'event.dropped', jobId: job.id, accountId });
  if (!isPushed(job) || job.timestamp <= erasingSince) return;
  const told = { id: `erased-${accountId}`, name: 'event', timestamp: erasingSince, delay: 0 };
  await parts.rejectedEvents.keep({ ...told, data: { account_id: accountId } }, accountErased(accountId));
}

/** By a producer. What the API has accepted is written in another form. */
function isPushed({ data }: EventJob): boolean {
  return ![acceptedEventSchema, scheduledEventSchema].some((schema) => schema.safeParse(data).success);
}

function noAccount(accountId: AccountId): AppError {
  const detail = `There is no account "${accountId}". Correct the producer's accountId; or create the account, then retry this dead letter.`;
  return new AppError('not_found', detail);
}

function accountErased(accountId: AccountId): AppError {
  const detail = `The account "${accountId}" was erased. Its events are not kept. Stop the producer that still publishes for it.`;
  return new AppError('not_found', detail);
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
