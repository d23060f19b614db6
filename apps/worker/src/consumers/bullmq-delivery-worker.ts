import {
  type DeliveryTexts,
  type JobEnd,
  parseDeliveryId,
  type WantedMates,
} from '@hookferry/core/domain/delivery';
import type { EndpointAddress } from '@hookferry/core/domain/endpoint';
import type { EventId } from '@hookferry/core/domain/event';
import { CACHED_FOR_MS } from '@hookferry/core/events/redis-event-store';
import { steadyClock } from '@hookferry/core/platform/clock';
import { type InOrder, runStep, type ScriptTarget, type Step } from '@hookferry/core/platform/redis-script';
import type { MateJobs } from '@hookferry/core/queue/bullmq-delivery-mates';
import type { DeliveryJob } from '@hookferry/core/queue/bullmq-delivery-queue';
import type { RunningJobs, Taken, TakenJob } from '@hookferry/core/queue/bullmq-running-jobs';
import type { Job, JobJson, Processor } from 'bullmq';
import { BullmqWorker, type BullmqWorkerOptions } from './bullmq-worker';

export interface DeliveryWorkerOptions extends BullmqWorkerOptions {
  readonly runningJobs: RunningJobs;
  readonly mateJobs: MateJobs;
  readonly inOrder: InOrder;
}

/** A running job of this worker. */
interface Run {
  readonly token: string;
  readonly mayTakeNext: () => boolean;
  /** Whether this worker has let go of it. */
  isOver: boolean;
  /** What it has got in its place. */
  taken: Taken | undefined;
}

/** Jobs that were taken along with a running one. */
export interface TakenAlong {
  /** The events of those that run elsewhere, though they are to go along. */
  readonly busy: readonly string[];
  /** The events that the running one was to be sent with, its own included. */
  readonly tied: readonly string[];
  readonly jobs: readonly Job<DeliveryJob, JobEnd>[];
}

/**
 * Takes deliveries. A job comes with all that its attempt needs. Its end, and the next job, can be part of
 * the script that records the attempt: then a delivery takes one round trip.
 */
export class DeliveryWorker extends BullmqWorker<DeliveryJob, JobEnd> {
  readonly #runningJobs: RunningJobs;
  readonly #mateJobs: MateJobs;
  readonly #inOrder: InOrder;
  readonly #texts = new WeakMap<Job, DeliveryTexts>();
  readonly #runs = new WeakMap<Job, Run>();
  /** By the id of the job. None rejects. */
  readonly #underWay = new Map<string, Promise<void>>();
  #tokens = 0;

  constructor(
    queue: string,
    process: Processor<DeliveryJob, JobEnd>,
    { runningJobs, mateJobs, inOrder, ...options }: DeliveryWorkerOptions,
  ) {
    super(queue, process, options);
    this.#runningJobs = runningJobs;
    this.#mateJobs = mateJobs;
    this.#inOrder = inOrder;
  }

  /** What was read along with a job, if that is still as good as new. */
  textsOf(job: Job<DeliveryJob>): DeliveryTexts | undefined {
    const texts = this.#texts.get(job);
    return texts && steadyClock() - texts.readAt < CACHED_FOR_MS ? texts : undefined;
  }

  /** The steps that let go of a running job, and take the next one in its place. */
  stepsToEnd(job: Job<DeliveryJob>, end: JobEnd): readonly Step[] {
    const run = this.#runs.get(job);
    if (run === undefined || run.isOver) return [];
    const jobId = job.id ?? '';
    const letGo: Step = async (target) => {
      await this.#runningJobs.end(target, { jobId, token: run.token }, end);
      run.isOver = true;
      this.disown(jobId);
    };
    const takeNext: Step = async (target) => {
      run.taken = await this.#runningJobs.take(target, this.#newToken(), this.#knownEvent(job));
    };
    return run.mayTakeNext() && !this.closing && !this.paused ? [letGo, takeNext] : [letGo];
  }

  /** Take jobs that can end along with a running one. They are not counted as running; each has to be let go of. */
  async takeAlong(job: Job<DeliveryJob>, address: EndpointAddress, wanted: WantedMates): Promise<TakenAlong> {
    const first = parseDeliveryId(job.id ?? '')?.eventId;
    if (first === undefined) return { tied: [], busy: [], jobs: [] };
    const token = this.#newToken();
    const take = (target: ScriptTarget) => this.#mateJobs.take(target, address, first, token, wanted);
    const { tied, busy, jobs } = await runStep(this.#inOrder, take);
    return { tied, busy, jobs: jobs.map((taken) => this.#takeOver(taken)) };
  }

  /** Whether this worker has not let go of a job that it has taken. */
  hasHold(job: Job<DeliveryJob>): boolean {
    return this.#runs.get(job)?.isOver === false;
  }

  #takeOver(taken: TakenJob): Job<DeliveryJob, JobEnd> {
    const { jobId, token } = taken;
    const job = this.#open(taken);
    this.own(jobId, token);
    this.#runs.set(job, { token, mayTakeNext: () => false, isOver: false, taken: undefined });
    return job;
  }

  protected override async runJob(
    job: Job<DeliveryJob, JobEnd>,
    token: string,
    mayTakeNext: () => boolean,
  ): Promise<Job<DeliveryJob, JobEnd> | undefined> {
    const jobId = job.id ?? '';
    // Its last run was over with the record. What follows from that may still be under way here.
    for (let last = this.#underWay.get(jobId); last; last = this.#underWay.get(jobId)) await last;
    this.#runs.set(job, { token, mayTakeNext, isOver: false, taken: undefined });
    const running = super.runJob(job, token, mayTakeNext);
    const isOver = running.then(
      () => void this.#underWay.delete(jobId),
      () => void this.#underWay.delete(jobId),
    );
    this.#underWay.set(jobId, isOver);
    return await running;
  }

  protected override async takeJob(token: string): Promise<Job<DeliveryJob, JobEnd> | undefined> {
    return this.#begin(await runStep(this.#inOrder, (target) => this.#runningJobs.take(target, token)));
  }

  protected override async handleCompleted(
    end: JobEnd,
    job: Job<DeliveryJob, JobEnd>,
  ): Promise<Job<DeliveryJob, JobEnd>> {
    const steps = this.stepsToEnd(job, end);
    if (steps.length > 0) await this.#inOrder(steps);
    this.emit('completed', job, end, 'active');
    return this.#begin(this.#runs.get(job)?.taken) as Job<DeliveryJob, JobEnd>;
  }

  // What went wrong after the job's end changes nothing about that.
  protected override async handleFailed(
    ...args: Parameters<BullmqWorker<DeliveryJob, JobEnd>['handleFailed']>
  ): Promise<Job<DeliveryJob, JobEnd>> {
    const [error, job] = args;
    const run = this.#runs.get(job);
    if (!run?.isOver) return await super.handleFailed(...args);
    this.emit('failed', job, error, 'active');
    return this.#begin(run.taken) as Job<DeliveryJob, JobEnd>;
  }

  #begin(taken: Taken | undefined): Job<DeliveryJob, JobEnd> | undefined {
    if (taken === undefined) return undefined;
    if (taken.areMoreWaiting) this.stayAwake();
    else this.rest(taken.nextDueAt);
    return taken.job && this.#open(taken.job);
  }

  #open({ jobId, token, json, texts }: TakenJob): Job<DeliveryJob, JobEnd> {
    const job = this.createJob(json as JobJson, jobId);
    job.token = token;
    if (texts) this.#texts.set(job, texts);
    return job;
  }

  // One for each job: a job that was given back, since nobody knew of it, may come again, and is then another
  // fetch.
  #newToken(): string {
    this.#tokens += 1;
    return `${this.id}:next-${this.#tokens}`;
  }

  /** Its deliveries are neighbours on the queue: this process may still have what it has read for the last one. */
  #knownEvent(job: Job<DeliveryJob>): EventId | '' {
    if (this.textsOf(job) === undefined) return '';
    return parseDeliveryId(job.id ?? '')?.eventId ?? '';
  }
}
