import { setTimeout as wait } from 'node:timers/promises';
import { deliver } from '@hookferry/core/deliver/deliver';
import type { DeliverBatchContext } from '@hookferry/core/deliver/deliver-batch';
import type { DeliverResult } from '@hookferry/core/deliver/end-run';
import {
  type DeliveryMates,
  type DeliveryParts,
  type DeliveryRun,
  decodeHolds,
  type JobEnd,
  parseDeliveryId,
  type WantedMates,
} from '@hookferry/core/domain/delivery';
import type { EndpointAddress, EndpointId } from '@hookferry/core/domain/endpoint';
import type { EventId } from '@hookferry/core/domain/event';
import { DELIVERIES_QUEUE, type QueueShard } from '@hookferry/core/domain/queues';
import { isUnreadableSecret } from '@hookferry/core/endpoints/seal';
import { systemClock } from '@hookferry/core/platform/clock';
import { parsedOrUndefined } from '@hookferry/core/platform/json';
import { type InOrder, runStep, type Step } from '@hookferry/core/platform/redis-script';
import { MateJobs, type TakenMate } from '@hookferry/core/queue/bullmq-delivery-mates';
import {
  type DeliveryJob,
  type DeliveryQueue,
  decodeRequest,
  deliveryJobSchema,
} from '@hookferry/core/queue/bullmq-delivery-queue';
import { DUE_GRACE_MS, DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import { RunningJobs } from '@hookferry/core/queue/bullmq-running-jobs';
import type { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import { type Job, UnrecoverableError } from 'bullmq';
import type { z } from 'zod';
import type { SharedCapacity } from '../shared-capacity';
import { asGoodAsNew, DeliveryWorker, type HeldRun } from './bullmq-delivery-worker';
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

// Before the lock ends, so that a request leaves while this process still owns the job.
const LOCK_MARGIN_MS = 500;
// An attempt of the same delivery in another shard takes about as long as any.
const ELSEWHERE_DELAY_MS = 1_000;

/**
 * Takes a shard's deliveries off their queue, one attempt for each run, and tells BullMQ when to run a job
 * again.
 */
export class DeliveryConsumer {
  readonly #dueDeliveries: DueDeliveries;
  readonly #worker: DeliveryWorker;
  readonly #mateContext: MateContext;

  constructor(
    private readonly context: DeliveryConsumerContext,
    private readonly shard: QueueShard,
  ) {
    const {
      redis,
      inOrder,
      lockDurationMs,
      deliveryCapacity: capacity,
      stopDeadlineMs,
      clock,
      emit,
    } = context;
    this.#dueDeliveries = new DueDeliveries({ prefix: shard.prefix, inOrder, clock, emit });
    const mateJobs = new MateJobs(redis, shard, lockDurationMs);
    const options = { queue: DELIVERIES_QUEUE, shard, capacity, stopDeadlineMs };
    this.#worker = new DeliveryWorker(
      DELIVERIES_QUEUE,
      // With a third parameter, BullMQ reports here when the job is cancelled.
      (job, token, abortSignal) => this.#process(job, token, abortSignal ?? new AbortController().signal),
      {
        ...workerOptionsOf(context, options),
        runningJobs: new RunningJobs(redis, shard, lockDurationMs),
        mateJobs,
      },
    );
    const worker = this.#worker;
    this.#mateContext = {
      worker,
      mateJobs,
      inOrder,
      toRun: (job, data) => ({
        holds: readHolds(job.holds),
        texts: asGoodAsNew(job.texts),
        ...this.#toRun(job, job, data),
      }),
      endOf: (end) => this.#endOf(end),
    };
    announceFailures(worker, emit);
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
        return this.#putOff(result.delayMs, result.reason);
      case 'later':
        return this.#putOff(result.delayMs);
      case 'interrupted':
        return await giveJobBack(job, token);
    }
  }

  #putOff(delayMs: number, failure?: string): JobEnd {
    this.#dueDeliveries.expect(systemClock() + delayMs);
    return { kind: 'delayed', delayMs: delayMs + DUE_GRACE_MS, failure };
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
      mates: placement.isSettled ? new Mates(this.#mateContext, job, parts.eventId) : undefined,
      ...this.#toRun(job, parts, data),
    };
  }

  #toRun(job: RunOfJob, { eventId, endpointId }: DeliveryParts, data: DeliveryJobData): DeliveryRun {
    const { lockDurationMs } = this.context;
    return {
      eventId,
      endpointId,
      accountId: data.account_id,
      hasWaited: job.attemptsStarted > 1,
      wasTakenOver: job.stalledCounter > 0,
      ownedUntil: (job.processedOn ?? 0) + lockDurationMs - Math.min(LOCK_MARGIN_MS, lockDurationMs / 4),
      request: decodeRequest(data),
      stepsToEnd: (end) => this.#worker.stepsToEnd([job], this.#endOf(end)),
    };
  }

  #endOf(end: JobEnd): JobEnd {
    return end.kind === 'done' ? end : this.#putOff(end.delayMs, end.failure);
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

function readData(data: unknown): DeliveryJobData {
  const read = deliveryJobSchema.safeParse(data);
  if (!read.success) throw notADelivery();
  return read.data;
}

function readHolds(text: string | undefined): DeliveryRun['holds'] {
  return text === undefined ? undefined : decodeHolds(text);
}

function notADelivery(): Error {
  return new UnrecoverableError('Not a delivery job.');
}

// Those that are due at once are taken one by one: each finds that it goes along with the first one, and is put back.
const TRY_AGAIN_MS = 25;
const MOST_TRIES = 20;
// For those that another worker is about to hold: no longer, as it may be sending them.
const FEW_TRIES = 3;

type DeliveryJobData = z.output<typeof deliveryJobSchema>;
type RunOfJob = HeldRun & Pick<Job, 'attemptsStarted' | 'stalledCounter' | 'processedOn'>;

interface MateContext {
  readonly worker: DeliveryWorker;
  readonly mateJobs: MateJobs;
  readonly inOrder: InOrder;
  readonly toRun: (job: TakenMate, data: DeliveryJobData) => DeliveryRun;
  readonly endOf: (end: JobEnd) => JobEnd;
}

/** Of one running job. */
class Mates implements DeliveryMates {
  #tied: readonly string[] = [];
  /** Whether these were tied when they were taken. */
  #areNew = false;
  #jobs: readonly TakenMate[] = [];

  constructor(
    private readonly context: MateContext,
    private readonly job: Job<DeliveryJob>,
    private readonly first: EventId,
  ) {}

  async take(address: EndpointAddress, wanted: WantedMates): Promise<readonly DeliveryRun[] | undefined> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const { tied, busy } = await this.#takeMore(address, { ...wanted, ties: tries === 0 });
      const own = new Set(this.#jobs.map(({ eventId }) => eventId as string));
      const elsewhere = busy.filter((event) => !own.has(event));
      const isLast = tied.length === 0 && tries === FEW_TRIES - 1;
      if (elsewhere.length === 0 || isLast) return this.#toRuns();
      // The first one takes the others.
      if (elsewhere[0] === tied[0]) return undefined;
      await wait(TRY_AGAIN_MS);
    }
    return undefined;
  }

  async #takeMore(address: EndpointAddress, wanted: WantedMates & { readonly ties: boolean }) {
    const most = wanted.most - this.#jobs.length;
    const taken = await this.context.worker.takeAlong(this.job, address, { ...wanted, most });
    const { tied, busy, jobs } = taken;
    this.#jobs = [...this.#jobs, ...jobs];
    this.#areNew = wanted.ties && tied.length === 0 && busy.length === 0;
    this.#tied = this.#areNew ? [this.first, ...jobs.map(({ eventId }) => eventId)] : tied;
    return taken;
  }

  // They have the same data, as a rule.
  #toRuns(): readonly DeliveryRun[] {
    const known = new Map<string, DeliveryJobData>();
    return this.#jobs.map((job) => {
      const data = known.get(job.data) ?? readData(parsedOrUndefined(job.data));
      known.set(job.data, data);
      return this.context.toRun(job, data);
    });
  }

  async follow(endpointId: EndpointId, event: EventId): Promise<boolean> {
    const { mateJobs, inOrder } = this.context;
    return await runStep(inOrder, (target) => mateJobs.follows(target, endpointId, event));
  }

  tie(endpointId: EndpointId, events: readonly EventId[]): readonly Step[] {
    const { mateJobs } = this.context;
    if (events.length === 0) return this.#areNew ? [mateJobs.untie(endpointId, this.first)] : [];
    const isTied = events.length === this.#tied.length && events.every((event) => this.#tied.includes(event));
    return isTied ? [] : [mateJobs.tie(endpointId, events)];
  }

  stepsToEnd(events: readonly EventId[], end: JobEnd): readonly Step[] {
    const wanted = new Set(events);
    const jobs: HeldRun[] = this.#jobs.filter(({ eventId }) => wanted.has(eventId));
    if (wanted.has(this.first)) jobs.push(this.job);
    return this.context.worker.stepsToEnd(jobs, this.context.endOf(end));
  }

  async giveBack(): Promise<void> {
    const { worker, inOrder, endOf } = this.context;
    const steps = worker.stepsToEnd(this.#jobs, endOf({ kind: 'delayed', delayMs: 0 }));
    if (steps.length > 0) await inOrder(steps);
  }
}
