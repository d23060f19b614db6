import { type DeliverContext, type DeliverResult, deliver } from '@hookferry/core/deliver/deliver';
import { type DeliveryRun, parseDeliveryId } from '@hookferry/core/domain/delivery';
import { DELIVERIES_QUEUE } from '@hookferry/core/domain/queues';
import { isUnreadableSecret } from '@hookferry/core/endpoints/seal';
import { systemClock } from '@hookferry/core/platform/clock';
import {
  type DeliveryJob,
  type DeliveryQueue,
  decodeRequest,
  deliveryJobSchema,
} from '@hookferry/core/queue/bullmq-delivery-queue';
import { DUE_GRACE_MS, type DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import type { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import { type Job, UnrecoverableError } from 'bullmq';
import { type Consumer, type ConsumerOptions, openWorker, RetryLater } from './bullmq-open-worker';
import {
  delayJob,
  delayTooNew,
  giveJobBack,
  orTryAgainSoon,
  UNREADABLE_SECRET_DELAY_MS,
} from './bullmq-put-back';

export interface DeliverConsumerOptions extends ConsumerOptions {
  readonly context: DeliverContext;
  readonly dueDeliveries: Pick<DueDeliveries, 'expect'>;
  readonly placement: DeliveryPlacement;
  readonly deliveryQueue: Pick<DeliveryQueue, 'moveToHomeShard'>;
  /** How long `stop` lets attempts that are under way come to their end. Milliseconds. */
  readonly stopDeadlineMs: number;
}

// Before the lock is over, so that a request is on its way while the job is ours still.
const LOCK_MARGIN_MS = 500;
// An attempt of the same delivery in another shard takes about as long as any.
const ELSEWHERE_DELAY_MS = 1_000;

/** Takes deliveries off their queue, one attempt a job run, and tells BullMQ when to run the job again. */
export function createDeliverConsumer(options: DeliverConsumerOptions): Consumer {
  const { context, dueDeliveries, placement, deliveryQueue, stopDeadlineMs, lockDurationMs, emit } = options;
  const shard = { prefix: options.prefix };
  const worker = openWorker<DeliveryJob>(DELIVERIES_QUEUE, processAttempt, options);

  return {
    start: () => void worker.run(),

    steps: () => worker.steps,

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
    await delayTooNew(job, token, emit);
    const run = readRun(job, lockDurationMs);
    const result = placement.isInHomeShard(run, shard)
      ? await attempt(job, run, signal ?? new AbortController().signal)
      : await orTryAgainSoon(() => moveToHomeShard(run), job, token, emit);
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
  async function attempt(
    job: Job<DeliveryJob>,
    run: DeliveryRun,
    signal: AbortSignal,
  ): Promise<DeliverResult> {
    try {
      const result = await placement.work(run, shard, () => deliver(context, run, signal));
      return result === 'elsewhere' ? { kind: 'later', delayMs: ELSEWHERE_DELAY_MS } : result;
    } catch (error) {
      if (!isUnreadableSecret(error)) throw error;
      emit({ name: 'job.interrupted', queue: job.queueName, jobId: job.id ?? '', error });
      return { kind: 'later', delayMs: UNREADABLE_SECRET_DELAY_MS };
    }
  }

  async function moveToHomeShard(run: DeliveryRun): Promise<DeliverResult> {
    return (await deliveryQueue.moveToHomeShard(run))
      ? { kind: 'done' }
      : { kind: 'later', delayMs: ELSEWHERE_DELAY_MS };
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
