import type { Deliver, DeliverResult } from '@webhooks/core/deliveries/deliver';
import type { DeliveryRun } from '@webhooks/core/deliveries/delivery-run';
import type { Lane } from '@webhooks/core/gates/lanes';
import { type DeliveryJob, deliveryJobSchema, parseDeliveryJobId } from '@webhooks/core/queue/delivery-job';
import { DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE } from '@webhooks/core/queue/queue-names';
import { isUnreadableSecret } from '@webhooks/core/secrets/seal';
import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq';
import type { Consumer } from './bullmq-consumer';
import { type ConsumerOptions, openWorker } from './bullmq-open-worker';
import { RetryLater } from './retry-later';
import { UNREADABLE_SECRET_DELAY_MS } from './unreadable-secret';

export interface DeliverConsumerOptions extends ConsumerOptions {
  /** Whose queue it takes from. */
  readonly lane: Lane;
  readonly deliver: Deliver;
  /** How long `stop` lets attempts that are under way come to their end. Milliseconds. */
  readonly stopDeadlineMs: number;
}

const QUEUES = { fast: DELIVERIES_QUEUE, slow: SLOW_DELIVERIES_QUEUE } as const;

/** Takes deliveries off a lane's queue, one attempt a job run, and tells BullMQ when to run the job again. */
export function createDeliverConsumer(options: DeliverConsumerOptions): Consumer {
  const { lane, deliver, stopDeadlineMs, emit } = options;
  const worker = openWorker<DeliveryJob>(QUEUES[lane], processAttempt, options);
  // Another worker may own these by now: let go of them, so that no receiver is sent the same thing by two.
  worker.on('lockRenewalFailed', (jobIds) => {
    for (const jobId of jobIds) worker.cancelJob(jobId);
  });

  return {
    start: () => void worker.run(),

    /** Takes no more jobs; lets attempts under way come to their end, and after the deadline puts them back. */
    async stop() {
      const deadline = setTimeout(() => worker.cancelAllJobs(), stopDeadlineMs);
      await worker.close();
      clearTimeout(deadline);
    },
  };

  async function processAttempt(
    job: Job<DeliveryJob>,
    token: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const result = await attempt(job, signal ?? new AbortController().signal);
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

  // Either nothing was sent, or what was is on record: the delivery waits for the key, and uses no further attempt.
  async function attempt(job: Job<DeliveryJob>, signal: AbortSignal): Promise<DeliverResult> {
    try {
      return await deliver({ ...readJob(job), lane }, signal);
    } catch (error) {
      if (!isUnreadableSecret(error)) throw error;
      emit({ name: 'job.interrupted', queue: job.queueName, jobId: job.id ?? '', error });
      return { kind: 'retry', delayMs: UNREADABLE_SECRET_DELAY_MS, reason: 'secret_unreadable' };
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
