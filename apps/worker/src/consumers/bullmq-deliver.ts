import type { Deliver, DeliverResult } from '@hookferry/core/attempt/deliver';
import { isUnreadableSecret } from '@hookferry/core/endpoints/seal';
import { systemClock } from '@hookferry/core/kernel/clock';
import { type DeliveryRun, parseDeliveryId } from '@hookferry/core/model/delivery';
import { DELIVERIES_QUEUE } from '@hookferry/core/model/queue-names';
import { DUE_GRACE_MS, type DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import type { FormerDeliveries } from '@hookferry/core/queue/bullmq-former-deliveries';
import { type DeliveryJob, decodeRequest, deliveryJobSchema } from '@hookferry/core/queue/delivery-job';
import { type Job, UnrecoverableError, WaitingError } from 'bullmq';
import type { Consumer } from './bullmq-consumer';
import { type LeaveToNewerOptions, leaveToNewer } from './bullmq-leave-to-newer';
import { type ConsumerOptions, openWorker } from './bullmq-open-worker';
import { delayJob, giveJobBack } from './bullmq-put-back';
import { RetryLater } from './retry-later';
import { UNREADABLE_SECRET_DELAY_MS } from './unreadable-secret';

export interface DeliverConsumerOptions extends ConsumerOptions, LeaveToNewerOptions {
  readonly deliver: Deliver;
  readonly formerDeliveries: Pick<FormerDeliveries, 'isFormer' | 'replace'>;
  readonly dueDeliveries: Pick<DueDeliveries, 'expect'>;
  /** How long `stop` lets attempts that are under way come to their end. Milliseconds. */
  readonly stopDeadlineMs: number;
}

export interface DeliverConsumer extends Consumer {
  /** How many attempts may be under way from now on. */
  setCapacity(capacity: number): void;
}

// Before the lock is over, so that a request is on its way while the job is ours still.
const LOCK_MARGIN_MS = 500;

/** Takes deliveries off their queue, one attempt a job run, and tells BullMQ when to run the job again. */
export function createDeliverConsumer(options: DeliverConsumerOptions): DeliverConsumer {
  const { deliver, formerDeliveries, dueDeliveries, stopDeadlineMs, lockDurationMs, emit } = options;
  const worker = openWorker<DeliveryJob>(DELIVERIES_QUEUE, processAttempt, options);

  return {
    start: () => void worker.run(),

    steps: () => worker.steps,

    setCapacity: (capacity) => worker.setCapacity(capacity),

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
    await leaveToNewer(job, token, options);
    if (formerDeliveries.isFormer(job.id ?? '')) return await replaceFormer(job, token);
    const result = await attempt(job, signal ?? new AbortController().signal);
    switch (result.kind) {
      case 'done':
        return;
      case 'retry':
        dueDeliveries.expect(systemClock() + result.delayMs);
        throw new RetryLater(result.delayMs + DUE_GRACE_MS, result.reason);
      case 'later':
        dueDeliveries.expect(systemClock() + result.delayMs);
        return await delayJob(job, token, result.delayMs + DUE_GRACE_MS);
      case 'interrupted':
        return await giveJobBack(job, token);
    }
  }

  // Either nothing was sent, or what was is on record: the delivery waits for the key, and uses no further attempt.
  async function attempt(job: Job<DeliveryJob>, signal: AbortSignal): Promise<DeliverResult> {
    try {
      return await deliver(readRun(job, lockDurationMs), signal);
    } catch (error) {
      if (!isUnreadableSecret(error)) throw error;
      emit({ name: 'job.interrupted', queue: job.queueName, jobId: job.id ?? '', error });
      return { kind: 'later', delayMs: UNREADABLE_SECRET_DELAY_MS };
    }
  }

  // What is replaced is gone: an error of this kind tells BullMQ not to look for it.
  async function replaceFormer(job: Job<DeliveryJob>, token: string | undefined): Promise<void> {
    const result = await formerDeliveries.replace(job.id ?? '', job.data);
    if (result === 'replaced') throw new WaitingError();
    if (result !== 'unreadable') await delayJob(job, token, result);
  }
}

// Only our own fan-out adds such jobs, so one that can't be read is kept among the failed, for people to look at.
function readRun(job: Job<DeliveryJob>, lockDurationMs: number): DeliveryRun {
  const parts = parseDeliveryId(job.id ?? '');
  const data = deliveryJobSchema.safeParse(job.data);
  if (!parts || !data.success) throw new UnrecoverableError('Not a delivery job.');
  return {
    ...parts,
    accountId: data.data.account_id,
    hasWaited: job.attemptsStarted > 1,
    wasTakenOver: job.stalledCounter > 0,
    ownedUntil: (job.processedOn ?? 0) + lockDurationMs - Math.min(LOCK_MARGIN_MS, lockDurationMs / 4),
    request: decodeRequest(data.data),
  };
}
