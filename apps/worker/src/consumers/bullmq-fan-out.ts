import type { FanOutEvent } from '@webhooks/core/deliveries/fan-out-event';
import { AppError } from '@webhooks/core/errors/app-error';
import type { BullmqDeadLetters } from '@webhooks/core/queue/bullmq-dead-letters';
import { EVENTS_QUEUE } from '@webhooks/core/queue/queue-names';
import { type EventJob, type ReadEvent, readEventJob } from '@webhooks/core/queue/read-event-job';
import { DelayedError, type Job, Worker } from 'bullmq';
import { type ConsumerOptions, workerOptions } from './consumer';

export interface FanOutConsumerOptions extends ConsumerOptions {
  readonly fanOutEvent: FanOutEvent;
  readonly deadLetters: Pick<BullmqDeadLetters, 'keep'>;
  readonly maxEventBytes: number;
}

// When Redis could not take all of it: soon again, whatever the job's own options say about attempts.
const RETRY_MS = 1_000;

/** Takes events off the queue: to the dead letters with what is invalid, to the fan-out with all else. */
export class BullmqFanOutConsumer {
  readonly #worker: Worker;

  constructor(private readonly options: FanOutConsumerOptions) {
    this.#worker = new Worker(
      EVENTS_QUEUE,
      (job, token) => this.#process(job, token),
      workerOptions(options),
    );
    this.#worker.on('error', (error) => options.emit({ name: 'redis.error', connection: 'events', error }));
    this.#worker.on('failed', (job, error) => {
      options.emit({ name: 'job.failed', queue: EVENTS_QUEUE, jobId: job?.id ?? '', error });
    });
  }

  start(): void {
    void this.#worker.run();
  }

  /** Takes no more jobs, and resolves when those under way are done: fan-outs are short. */
  async stop(): Promise<void> {
    await this.#worker.close();
  }

  async #process(job: Job, token: string | undefined): Promise<void> {
    const read = await this.#read({
      id: job.id ?? '',
      name: job.name,
      timestamp: job.timestamp,
      data: job.data,
    });
    if (!read) return;
    try {
      await this.options.fanOutEvent(read.event);
    } catch (error) {
      this.options.emit({ name: 'job.interrupted', queue: EVENTS_QUEUE, jobId: job.id ?? '', error });
      await job.moveToDelayed(Date.now() + RETRY_MS, token);
      throw new DelayedError();
    }
    this.#announce(read);
  }

  async #read(job: EventJob): Promise<ReadEvent | undefined> {
    try {
      return readEventJob(job, this.options.maxEventBytes);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      await this.options.deadLetters.keep(job, error);
      this.options.emit({ name: 'event.rejected', jobId: job.id, code: error.code, reason: describe(error) });
      return undefined;
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

function describe({ message, faults }: AppError): string {
  return [message, ...faults.map(({ pointer, detail }) => `${pointer} ${detail}`)].join('; ');
}
