import type { Deliver, DeliverResult } from '@webhooks/core/deliveries/deliver';
import type { DeliveryRun } from '@webhooks/core/deliveries/delivery-run';
import type { Lane } from '@webhooks/core/gates/lanes';
import { type DeliveryJob, deliveryJobSchema, parseDeliveryJobId } from '@webhooks/core/queue/delivery-job';
import { DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE } from '@webhooks/core/queue/queue-names';
import { DelayedError, type Job, UnrecoverableError, WaitingError, type Worker } from 'bullmq';
import { type ConsumerOptions, openWorker } from './bullmq-open-worker';
import { orTryAgainSoon } from './bullmq-or-try-again-soon';

export interface DeliverConsumerOptions extends ConsumerOptions {
  /** Whose queue it takes from. */
  readonly lane: Lane;
  readonly deliver: Deliver;
  /** How long `stop` lets attempts that are under way come to their end. Milliseconds. */
  readonly stopDeadlineMs: number;
}

const QUEUES = { fast: DELIVERIES_QUEUE, slow: SLOW_DELIVERIES_QUEUE } as const;

/** Takes deliveries off a lane's queue, one attempt a job run, and tells BullMQ when to run the job again. */
export class BullmqDeliverConsumer {
  readonly #worker: Worker<DeliveryJob>;

  constructor(private readonly options: DeliverConsumerOptions) {
    this.#worker = openWorker<DeliveryJob>(
      QUEUES[options.lane],
      (job, token, signal) => this.#process(job, token, signal),
      options,
    );
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
    signal: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    const run = { ...readJob(job), lane: this.options.lane };
    let result: DeliverResult = { kind: 'done' };
    const attempt = async () => {
      result = await this.options.deliver(run, signal);
    };
    // When it breaks off, either nothing was sent, or what was is on record.
    await orTryAgainSoon(attempt, job, token, this.options.emit);
    await this.#heed(result, job, token);
  }

  async #heed(result: DeliverResult, job: Job<DeliveryJob>, token: string | undefined): Promise<void> {
    switch (result.kind) {
      case 'done':
        return;
      case 'retry':
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
function readJob(job: Job<DeliveryJob>): Omit<DeliveryRun, 'lane'> {
  const parts = parseDeliveryJobId(job.id ?? '');
  const data = deliveryJobSchema.safeParse(job.data);
  if (!parts || !data.success) throw new UnrecoverableError('Not a delivery job.');
  return { ...parts, accountId: data.data.account_id, wasReleased: data.data.released ?? false };
}
