import type { OpenAccounts } from '@hookferry/core/accounts/resolve-account';
import { EVENTS_QUEUE } from '@hookferry/core/domain/queues';
import type { Subscriptions } from '@hookferry/core/endpoints/subscriptions';
import { AppError } from '@hookferry/core/platform/app-error';
import type { FanOutEvent, RouteEvent } from '@hookferry/core/publish/fan-out-event';
import type { ReadEvent, ReadEventJob } from '@hookferry/core/publish/read-event-job';
import type { EventJob } from '@hookferry/core/queue/bullmq-event-queue';
import type { OldestEvents } from '@hookferry/core/queue/bullmq-oldest-events';
import type { PushedEvents } from '@hookferry/core/queue/bullmq-pushed-events';
import {
  accountOfJob,
  describeRefusal,
  type RejectedEvents,
} from '@hookferry/core/queue/bullmq-rejected-events';
import { type Job, UnrecoverableError } from 'bullmq';
import { type Consumer, type ConsumerOptions, createConsumer } from './bullmq-open-worker';
import { delayTooNew, orTryAgainSoon } from './bullmq-put-back';

export interface FanOutConsumerOptions extends ConsumerOptions {
  readonly subscriptions: Pick<Subscriptions, 'current'>;
  readonly routeEvent: RouteEvent;
  readonly fanOutEvent: FanOutEvent;
  readonly pushedEvents: Pick<PushedEvents, 'sort'>;
  readonly deadLetters: Pick<RejectedEvents, 'keep'>;
  readonly oldestEvents: Pick<OldestEvents, 'notePutBack' | 'forgetPutBack'>;
  readonly readEventJob: ReadEventJob;
  readonly openAccounts: Pick<OpenAccounts, 'takesEvents'>;
}

/**
 * Takes events off the queue: to the dead letters with what is invalid, to the fan-out with all else. Those of an account
 * that is erased are dropped, whatever they are: nothing of it is to be stored again.
 */
export function createFanOutConsumer(options: FanOutConsumerOptions): Consumer {
  const {
    subscriptions,
    routeEvent,
    fanOutEvent,
    pushedEvents,
    deadLetters,
    oldestEvents,
    readEventJob,
    openAccounts,
    emit,
  } = options;

  return createConsumer(EVENTS_QUEUE, processEvent, options);

  async function processEvent(job: Job, token: string | undefined): Promise<void> {
    const { id = '', name, timestamp, opts, data } = job;
    const eventJob = { id, name, timestamp, delay: opts.delay, data };
    const work = async () => {
      await delayTooNew(job, token, emit);
      await pushedEvents.sort();
      if (await isDropped(eventJob)) return;
      const read = await readOrFault(eventJob);
      await (read instanceof AppError ? reject(eventJob, read) : fanOut(read));
    };
    await orTryAgainSoon(() => noted(work, job), job, token, emit);
  }

  // An event that is put back is behind younger ones on the queue: who delivers in order has to know of it.
  async function noted(
    work: () => Promise<void>,
    { id = '', timestamp, attemptsStarted }: Job,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof UnrecoverableError)) await oldestEvents.notePutBack(options, id, timestamp);
      throw error;
    }
    if (attemptsStarted > 1) await oldestEvents.forgetPutBack(options, id);
  }

  async function isDropped({ id, data }: EventJob): Promise<boolean> {
    const accountId = accountOfJob(data);
    if (accountId === undefined || (await openAccounts.takesEvents(accountId))) return false;
    emit({ name: 'event.dropped', jobId: id, accountId });
    return true;
  }

  async function readOrFault(job: EventJob): Promise<ReadEvent | AppError> {
    try {
      return await readEventJob(job);
    } catch (error) {
      if (error instanceof AppError && error.code !== 'storage_unavailable') return error;
      throw error;
    }
  }

  async function fanOut(read: ReadEvent): Promise<void> {
    const { event } = read;
    await fanOutEvent([await routeEvent(event, await subscriptions.current(event.accountId))]);
    announce(read);
  }

  async function reject(job: EventJob, fault: AppError): Promise<void> {
    const reason = describeRefusal(fault.message, fault.validationErrors);
    const displaced = await keep(job, fault, reason);
    emit({ name: 'event.rejected', jobId: job.id, code: fault.code, reason });
    for (const jobId of displaced) emit({ name: 'dead_letter.displaced', queue: EVENTS_QUEUE, jobId });
  }

  // What is nested too deeply to be written again stays where it is written already, among the failed.
  async function keep(job: EventJob, fault: AppError, reason: string): Promise<readonly string[]> {
    try {
      return await deadLetters.keep(job, fault);
    } catch (error) {
      throw error instanceof RangeError ? new UnrecoverableError(reason) : error;
    }
  }

  // The API has announced its own.
  function announce({ event, source }: ReadEvent): void {
    if (source === 'http') return;
    emit({
      name: 'event.accepted',
      source,
      accountId: event.accountId,
      eventId: event.id,
      type: event.type,
      bytes: Buffer.byteLength(event.body),
    });
  }
}
