import { setTimeout as wait } from 'node:timers/promises';
import type { DeliveryMates, DeliveryRun, JobEnd, WantedMates } from '@hookferry/core/domain/delivery';
import type { EndpointAddress, EndpointId } from '@hookferry/core/domain/endpoint';
import type { EventId } from '@hookferry/core/domain/event';
import { parsedOrUndefined } from '@hookferry/core/platform/json';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { Step } from '@hookferry/core/platform/redis-script';
import type {
  MateJobs,
  MatesToTake,
  TakenMate,
  TakenMates,
} from '@hookferry/core/queue/bullmq-delivery-mates';
import type { DeliveryJob } from '@hookferry/core/queue/bullmq-delivery-queue';
import type { Job } from 'bullmq';
import { type DeliveryJobData, type DeliveryWorker, type JobRef, readData } from './bullmq-delivery-worker';

export interface DeliveryJobMatesParts {
  readonly worker: DeliveryWorker;
  readonly mateJobs: MateJobs;
  readonly atomic: Atomic;
}

// Those that are due at once are taken one by one: each finds that it goes along with the first one, and is put back.
const TRY_AGAIN_MS = 25;
const MOST_TRIES = 20;
// For those that another worker is about to hold: no longer, as it may be sending them.
const FEW_TRIES = 3;

/** Those that can go along with one running job. */
export class DeliveryJobMates implements DeliveryMates {
  #tied: readonly string[] = [];
  /** Whether these were tied when they were taken. */
  #areNew = false;
  #jobs: readonly TakenMate[] = [];

  constructor(
    private readonly parts: DeliveryJobMatesParts,
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

  async #takeMore(address: EndpointAddress, wanted: MatesToTake): Promise<TakenMates> {
    const most = wanted.most - this.#jobs.length;
    const taken = await this.parts.worker.takeAlong(this.job, address, { ...wanted, most });
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
      return this.parts.worker.runOf(job, job, data);
    });
  }

  async follow(endpointId: EndpointId, event: EventId): Promise<boolean> {
    const { mateJobs, atomic } = this.parts;
    const [follows] = await atomic([mateJobs.follows(endpointId, event)]);
    return follows;
  }

  tie(endpointId: EndpointId, events: readonly EventId[]): readonly Step[] {
    const { mateJobs } = this.parts;
    if (events.length === 0) return this.#areNew ? [mateJobs.untie(endpointId, this.first)] : [];
    const isTied = events.length === this.#tied.length && events.every((event) => this.#tied.includes(event));
    return isTied ? [] : [mateJobs.tie(endpointId, events)];
  }

  stepsToEnd(events: readonly EventId[], end: JobEnd): readonly Step[] {
    const wanted = new Set(events);
    const jobs: JobRef[] = this.#jobs.filter(({ eventId }) => wanted.has(eventId));
    if (wanted.has(this.first)) jobs.push(this.job);
    return this.parts.worker.stepsToEnd(jobs, end);
  }

  async giveBack(): Promise<void> {
    const { worker, atomic } = this.parts;
    const steps = worker.stepsToEnd(this.#jobs, { kind: 'delayed', delayMs: 0 });
    if (steps.length > 0) await atomic(steps);
  }
}
