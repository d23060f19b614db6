import type { Deliver, DeliverInput } from '@webhooks/core/deliveries/deliver';
import { type DeliveryJob, deliveryJobSchema, parseDeliveryJobId } from '@webhooks/core/queue/delivery-job';
import { DELIVERIES_QUEUE } from '@webhooks/core/queue/queue-names';
import { DelayedError, type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq';
import { type ConsumerOptions, workerOptions } from './consumer';
import { RetryLater } from './retry-later';

export interface DeliverConsumerOptions extends ConsumerOptions {
  readonly deliver: Deliver;
  /** How long `stop` lets attempts that are under way come to their end. Milliseconds. */
  readonly stopDeadlineMs: number;
}

/** Takes deliveries off the queue, one attempt a job run, and tells BullMQ when to run the job again. */
export class BullmqDeliverConsumer {
  readonly #worker: Worker<DeliveryJob>;

  constructor(private readonly options: DeliverConsumerOptions) {
    this.#worker = new Worker<DeliveryJob>(
      DELIVERIES_QUEUE,
      (job, token, signal) => this.#process(job, token, signal),
      {
        ...workerOptions(options),
        settings: { backoffStrategy: (_attemptsMade, _type, error) => RetryLater.delayOf(error) },
      },
    );
    this.#worker.on('error', (error) =>
      options.emit({ name: 'redis.error', connection: 'deliveries', error }),
    );
    this.#worker.on('failed', (job, error) => {
      if (error instanceof RetryLater) return;
      options.emit({ name: 'job.failed', queue: DELIVERIES_QUEUE, jobId: job?.id ?? '', error });
    });
    // Another worker may own these by now: let go of them, so that no receiver is sent the same thing by two.
    this.#worker.on('lockRenewalFailed', (jobIds) => {
      for (const jobId of jobIds) this.#worker.cancelJob(jobId);
    });
  }

  start(): void {
    void this.#worker.run();
  }

  /** Takes no more jobs; lets attempts under way come to their end, and after the deadline puts them back. */
  async stop(): Promise<void> {
    const deadline = setTimeout(() => this.#worker.cancelAllJobs(), this.options.stopDeadlineMs);
    await this.#worker.close();
    clearTimeout(deadline);
  }

  async #process(
    job: Job<DeliveryJob>,
    token: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const result = await this.options.deliver(readJob(job), signal ?? new AbortController().signal);
    switch (result.kind) {
      case 'done':
        return;
      case 'retry':
        throw new RetryLater(result.delayMs, result.reason);
      case 'again':
        await job.moveToDelayed(Date.now() + result.delayMs, token);
        throw new DelayedError();
      case 'interrupted':
        await job.moveToWait(token);
        throw new WaitingError();
    }
  }
}

// Only our own fan-out adds such jobs, so one that can't be read is kept among the failed, for people to look at.
function readJob(job: Job<DeliveryJob>): DeliverInput {
  const parts = parseDeliveryJobId(job.id ?? '');
  const data = deliveryJobSchema.safeParse(job.data);
  if (!parts || !data.success) throw new UnrecoverableError('Not a delivery job.');
  return { ...parts, accountId: data.data.account_id, wasReleased: data.data.released ?? false };
}
