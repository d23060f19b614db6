import { deliver } from '@hookferry/core/deliver/deliver';
import type { DeliverBatchContext } from '@hookferry/core/deliver/deliver-batch';
import type { DeliverResult } from '@hookferry/core/deliver/end-run';
import { type DeliveryRun, type JobEnd, parseDeliveryId } from '@hookferry/core/domain/delivery';
import { DELIVERIES_QUEUE, type QueueShard } from '@hookferry/core/domain/queues';
import { isUnreadableSecret } from '@hookferry/core/endpoints/seal';
import { MateJobs } from '@hookferry/core/queue/bullmq-delivery-mates';
import type { DeliveryJob, DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import { RunningJobs } from '@hookferry/core/queue/bullmq-running-jobs';
import type { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import type { Job } from 'bullmq';
import type { SharedCapacity } from '../capacity';
import { DeliveryJobMates, type DeliveryJobMatesContext } from './bullmq-delivery-mates';
import { DeliveryRuns, notADelivery, readData, readHolds } from './bullmq-delivery-runs';
import { DeliveryWorker } from './bullmq-delivery-worker';
import { announceFailures, type OpenWorkerContext, workerOptionsOf } from './bullmq-open-worker';
import { delayTooNew, giveJobBack, orTryAgainSoon, UNREADABLE_SECRET_DELAY_MS } from './bullmq-put-back';

export type DeliveryConsumerContext = OpenWorkerContext &
  DeliverBatchContext & {
    readonly placement: Pick<DeliveryPlacement, 'isInHomeShard' | 'isSettled' | 'work'>;
    readonly deliveryQueue: Pick<DeliveryQueue, 'moveToHomeShard'>;
    /** Over all shards together. */
    readonly deliveryCapacity: SharedCapacity;
    /** How long `stop` lets running attempts finish. Milliseconds. */
    readonly stopDeadlineMs: number;
  };

// An attempt of the same delivery in another shard takes about as long as any.
const ELSEWHERE_DELAY_MS = 1_000;

/**
 * Takes a shard's deliveries off their queue, one attempt for each run, and tells BullMQ when to run a job
 * again.
 */
export class DeliveryConsumer {
  readonly #dueDeliveries: DueDeliveries;
  readonly #worker: DeliveryWorker;
  readonly #runs: DeliveryRuns;
  readonly #mateContext: DeliveryJobMatesContext;

  constructor(
    private readonly context: DeliveryConsumerContext,
    private readonly shard: QueueShard,
  ) {
    const {
      redis,
      atomic,
      lockDurationMs,
      deliveryCapacity: capacity,
      stopDeadlineMs,
      clock,
      emit,
    } = context;
    this.#dueDeliveries = new DueDeliveries({ prefix: shard.prefix, atomic, clock, emit });
    const mateJobs = new MateJobs(redis, shard, lockDurationMs, clock);
    const options = { queue: DELIVERIES_QUEUE, shard, capacity, stopDeadlineMs };
    this.#worker = new DeliveryWorker(
      DELIVERIES_QUEUE,
      // With a third parameter, BullMQ reports here when the job is cancelled.
      (job, token, abortSignal) => this.#process(job, token, abortSignal ?? new AbortController().signal),
      {
        ...workerOptionsOf(context, options),
        runningJobs: new RunningJobs(redis, shard, lockDurationMs, clock),
        mateJobs,
      },
    );
    this.#runs = new DeliveryRuns(this.#worker, this.#dueDeliveries, lockDurationMs, clock);
    this.#mateContext = { runs: this.#runs, worker: this.#worker, mateJobs, atomic };
    announceFailures(this.#worker, emit);
  }

  get beginsAndEnds(): number {
    return this.#worker.beginsAndEnds;
  }

  start(): void {
    this.#worker.start();
    this.#dueDeliveries.start();
  }

  /** Take no more jobs; let running attempts finish, and put them back after the deadline. */
  async stop(): Promise<void> {
    await Promise.all([this.#worker.stop(), this.#dueDeliveries.stop()]);
  }

  async #process(
    job: Job<DeliveryJob>,
    token: string | undefined,
    abortSignal: AbortSignal,
  ): Promise<JobEnd> {
    const { placement, emit } = this.context;
    await delayTooNew(job, token, emit);
    const run = this.#readRun(job);
    const result = placement.isInHomeShard(run, this.shard)
      ? await this.#attempt(job, run, abortSignal)
      : await orTryAgainSoon(() => this.#moveToHomeShard(run), job, token, emit);
    switch (result.kind) {
      case 'done':
        return result;
      case 'retry':
        return this.#runs.putOff(result.delayMs, result.reason);
      case 'later':
        return this.#runs.putOff(result.delayMs);
      case 'interrupted':
        return await giveJobBack(job, token);
    }
  }

  // Only this product's fan-out adds such jobs, so an unreadable one is kept among the failed, for people.
  #readRun(job: Job<DeliveryJob>): DeliveryRun {
    const { placement } = this.context;
    const parts = parseDeliveryId(job.id ?? '');
    const data = readData(job.data);
    if (!parts) throw notADelivery();
    return {
      holds: readHolds(this.#worker.holdsOf(job)),
      texts: this.#worker.textsOf(job),
      // While queues are split again, each delivery is claimed by itself.
      mates: placement.isSettled ? new DeliveryJobMates(this.#mateContext, job, parts.eventId) : undefined,
      ...this.#runs.runOf(job, parts, data),
    };
  }

  // Either nothing was sent, or the attempt is recorded: the delivery waits for the key, and uses no attempt.
  async #attempt(job: Job<DeliveryJob>, run: DeliveryRun, abortSignal: AbortSignal): Promise<DeliverResult> {
    const { placement, emit } = this.context;
    try {
      const result = await placement.work(run, this.shard, () => deliver(this.context, run, abortSignal));
      return result === 'elsewhere' ? { kind: 'later', delayMs: ELSEWHERE_DELAY_MS } : result;
    } catch (error) {
      if (!isUnreadableSecret(error)) throw error;
      emit({ name: 'job.interrupted', queue: job.queueName, jobId: job.id ?? '', error });
      return { kind: 'later', delayMs: UNREADABLE_SECRET_DELAY_MS };
    }
  }

  async #moveToHomeShard(run: DeliveryRun): Promise<DeliverResult> {
    return (await this.context.deliveryQueue.moveToHomeShard(run))
      ? { kind: 'done' }
      : { kind: 'later', delayMs: ELSEWHERE_DELAY_MS };
  }
}
