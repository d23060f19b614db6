import type { TakesEvents } from '@webhooks/core/accounts/takes-events';
import type { FanOutEvent } from '@webhooks/core/deliveries/fan-out-event';
import { AppError } from '@webhooks/core/errors/app-error';
import { accountOfJob } from '@webhooks/core/queue/account-of-job';
import type { BullmqDeadLetters } from '@webhooks/core/queue/bullmq-dead-letters';
import type { BullmqEventHorizon } from '@webhooks/core/queue/bullmq-event-horizon';
import { EVENTS_QUEUE } from '@webhooks/core/queue/queue-names';
import type { EventJob, ReadEvent, ReadEventJob } from '@webhooks/core/queue/read-event-job';
import { describeRefusal } from '@webhooks/core/queue/rejected-job';
import { type Job, UnrecoverableError, type Worker } from 'bullmq';
import { type ConsumerOptions, openWorker } from './bullmq-open-worker';
import { orTryAgainSoon } from './bullmq-or-try-again-soon';

export interface FanOutConsumerOptions extends ConsumerOptions {
  readonly fanOutEvent: FanOutEvent;
  readonly deadLetters: Pick<BullmqDeadLetters, 'keep'>;
  readonly eventHorizon: Pick<BullmqEventHorizon, 'notePutBack' | 'forgetPutBack'>;
  readonly readEventJob: ReadEventJob;
  readonly takesEvents: TakesEvents;
}

/**
 * Takes events off the queue: to the dead letters with what is invalid, to the fan-out with all else. Those of an account
 * that is erased are dropped, whatever they are: nothing of it is to be stored again.
 */
export class BullmqFanOutConsumer {
  readonly #worker: Worker;

  constructor(private readonly options: FanOutConsumerOptions) {
    this.#worker = openWorker(EVENTS_QUEUE, (job, token) => this.#process(job, token), options);
  }

  start(): void {
    void this.#worker.run();
  }

  /** Takes no more jobs, and resolves when those under way are done: fan-outs are short. */
  async stop(): Promise<void> {
    await this.#worker.close();
  }

  async #process(job: Job, token: string | undefined): Promise<void> {
    const { id = '', name, timestamp, opts, data } = job;
    const eventJob = { id, name, timestamp, delay: opts.delay, data };
    const work = async () => {
      if (await this.#isDropped(eventJob)) return;
      const read = await this.#readOrFault(eventJob);
      await (read instanceof AppError ? this.#reject(eventJob, read) : this.#fanOut(read));
    };
    await orTryAgainSoon(() => this.#noted(work, job), job, token, this.options.emit);
  }

  // An event that is put back is behind younger ones on the queue: who delivers in order has to know of it.
  async #noted(work: () => Promise<void>, { id = '', timestamp, attemptsStarted }: Job): Promise<void> {
    const { eventHorizon } = this.options;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof UnrecoverableError)) await eventHorizon.notePutBack(id, timestamp);
      throw error;
    }
    if (attemptsStarted > 1) await eventHorizon.forgetPutBack(id);
  }

  async #isDropped({ id, data }: EventJob): Promise<boolean> {
    const accountId = accountOfJob(data);
    if (accountId === undefined || (await this.options.takesEvents(accountId))) return false;
    this.options.emit({ name: 'event.dropped', jobId: id, accountId });
    return true;
  }

  async #readOrFault(job: EventJob): Promise<ReadEvent | AppError> {
    try {
      return await this.options.readEventJob(job);
    } catch (error) {
      if (error instanceof AppError && error.code !== 'storage_unavailable') return error;
      throw error;
    }
  }

  async #fanOut(read: ReadEvent): Promise<void> {
    await this.options.fanOutEvent(read.event);
    this.#announce(read);
  }

  async #reject(job: EventJob, fault: AppError): Promise<void> {
    const { emit } = this.options;
    const reason = describeRefusal(fault.message, fault.faults);
    const displaced = await this.#keep(job, fault, reason);
    emit({ name: 'event.rejected', jobId: job.id, code: fault.code, reason });
    for (const jobId of displaced) emit({ name: 'dead_letter.displaced', queue: EVENTS_QUEUE, jobId });
  }

  // What is nested too deeply to be written again stays where it is written already, among the failed.
  async #keep(job: EventJob, fault: AppError, reason: string): Promise<readonly string[]> {
    try {
      return await this.options.deadLetters.keep(job, fault);
    } catch (error) {
      throw error instanceof RangeError ? new UnrecoverableError(reason) : error;
    }
  }

  // The API has announced its own.
  #announce({ event, source }: ReadEvent): void {
    if (source === 'http') return;
    this.options.emit({
      name: 'event.accepted',
      source,
      accountId: event.accountId,
      eventId: event.id,
      type: event.type,
      bytes: Buffer.byteLength(event.body),
    });
  }
}
