import { setTimeout as wait } from 'node:timers/promises';
import type { DeliveryBatch, DeliveryRun, JobEnd, WantedBatch } from '@hookferry/core/domain/delivery';
import type { EndpointAddress, EndpointId } from '@hookferry/core/domain/endpoint';
import type { EventId } from '@hookferry/core/domain/event';
import { parsedOrUndefined } from '@hookferry/core/platform/json';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { Step } from '@hookferry/core/platform/redis-script';
import type {
  BatchJobs,
  BatchToTake,
  TakenBatch,
  TakenBatchJob,
} from '@hookferry/core/queue/bullmq-batch-jobs';
import type { DeliveryJob } from '@hookferry/core/queue/bullmq-delivery-queue';
import type { Job } from 'bullmq';
import { type DeliveryJobData, type DeliveryWorker, type JobRef, readData } from './bullmq-delivery-worker';

export interface DeliveryJobBatchParts {
  readonly worker: DeliveryWorker;
  readonly batchJobs: BatchJobs;
  readonly atomic: Atomic;
}

// Workers take those that are due at once one by one. Each finds that the primary one is about to take it, and is put back.
const TRY_AGAIN_MS = 25;
const MOST_TRIES = 20;
// For those that another worker is about to hold: no longer, as it may be sending them.
const FEW_TRIES = 3;

/** The batch of one running job. */
export class DeliveryJobBatch implements DeliveryBatch {
  /** The events that the jobs say are in it. */
  #recorded: readonly string[] = [];
  /** Whether that was recorded when they were taken. */
  #isNew = false;
  #others: readonly TakenBatchJob[] = [];

  constructor(
    private readonly parts: DeliveryJobBatchParts,
    private readonly job: Job<DeliveryJob>,
    private readonly primary: EventId,
  ) {}

  async take(address: EndpointAddress, wanted: WantedBatch): Promise<readonly DeliveryRun[] | undefined> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const { sentBefore, busy } = await this.#takeMore(address, { ...wanted, formsBatch: tries === 0 });
      const own = new Set(this.#others.map(({ eventId }) => eventId as string));
      const elsewhere = busy.filter((event) => !own.has(event));
      const isLast = sentBefore.length === 0 && tries === FEW_TRIES - 1;
      if (elsewhere.length === 0 || isLast) return this.#toRuns();
      // The primary one takes the others.
      if (elsewhere[0] === sentBefore[0]) return undefined;
      await wait(TRY_AGAIN_MS);
    }
    return undefined;
  }

  async #takeMore(address: EndpointAddress, wanted: BatchToTake): Promise<TakenBatch> {
    const most = wanted.most - this.#others.length;
    const taken = await this.parts.worker.takeOthers(this.job, address, { ...wanted, most });
    const { sentBefore, busy, jobs } = taken;
    this.#others = [...this.#others, ...jobs];
    this.#isNew = wanted.formsBatch && sentBefore.length === 0 && busy.length === 0;
    this.#recorded = this.#isNew ? [this.primary, ...jobs.map(({ eventId }) => eventId)] : sentBefore;
    return taken;
  }

  // They have the same data, as a rule.
  #toRuns(): readonly DeliveryRun[] {
    const known = new Map<string, DeliveryJobData>();
    return this.#others.map((job) => {
      const data = known.get(job.data) ?? readData(parsedOrUndefined(job.data));
      known.set(job.data, data);
      return this.parts.worker.runOf(job, job, data);
    });
  }

  async isTakenByAnother(endpointId: EndpointId, event: EventId): Promise<boolean> {
    const { batchJobs, atomic } = this.parts;
    const [isTaken] = await atomic([batchJobs.isTakenByAnother(endpointId, event)]);
    return isTaken;
  }

  keepTogether(endpointId: EndpointId, events: readonly EventId[]): readonly Step[] {
    const { batchJobs } = this.parts;
    const recorded = this.#recorded;
    if (events.length === 0) return this.#isNew ? [batchJobs.dissolve(endpointId, this.primary)] : [];
    const isRecorded = events.length === recorded.length && events.every((event) => recorded.includes(event));
    return isRecorded ? [] : [batchJobs.keepTogether(endpointId, events)];
  }

  stepsToEnd(events: readonly EventId[], end: JobEnd): readonly Step[] {
    const wanted = new Set(events);
    const jobs: JobRef[] = this.#others.filter(({ eventId }) => wanted.has(eventId));
    if (wanted.has(this.primary)) jobs.push(this.job);
    return this.parts.worker.stepsToEnd(jobs, end);
  }

  async giveBack(): Promise<void> {
    const { worker, atomic } = this.parts;
    const steps = worker.stepsToEnd(this.#others, { kind: 'delayed', delayMs: 0 });
    if (steps.length > 0) await atomic(steps);
  }
}
