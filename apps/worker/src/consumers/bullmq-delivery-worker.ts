import type { JobEnd } from '@hookferry/core/domain/delivery';
import type { Clock } from '@hookferry/core/platform/clock';
import type { DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import type { Taken } from '@hookferry/core/queue/bullmq-running-jobs';
import type { DeliveryJob } from '@hookferry/core/queue/delivery-job';
import {
  DelayedError,
  type Job,
  type JobJson,
  type Processor,
  UnrecoverableError,
  WaitingError,
} from 'bullmq';
import { type NextJob, OwnedJob, type OwnedJobParts } from './bullmq-owned-job';
import { interruptionOf } from './bullmq-put-back';
import { BullmqWorker, type BullmqWorkerOptions } from './bullmq-worker';

export type DeliveryWorkerOptions = BullmqWorkerOptions &
  Omit<OwnedJobParts, 'mayTake' | 'newToken' | 'disown' | 'goOnAs'>;

/**
 * Takes deliveries. A job comes with all that its attempt needs. Its end, and the next job, can be part of
 * the script that records the attempt: then a delivery takes one round trip.
 */
export class DeliveryWorker extends BullmqWorker<DeliveryJob, JobEnd> {
  readonly #parts: OwnedJobParts;
  readonly #dueDeliveries: DueDeliveries;
  readonly #owned = new WeakMap<Job, OwnedJob>();
  /** By the id of the job. None rejects. */
  readonly #underWay = new Map<string, Promise<void>>();
  #tokens = 0;

  constructor(
    queue: string,
    process: Processor<DeliveryJob, JobEnd>,
    {
      runningJobs,
      runningLanes,
      runningBatches,
      besideLanes,
      dueDeliveries,
      clock,
      ...options
    }: DeliveryWorkerOptions,
  ) {
    super(queue, process, options);
    this.#dueDeliveries = dueDeliveries;
    this.#parts = {
      atomic: options.atomic,
      runningJobs,
      runningLanes,
      runningBatches,
      besideLanes,
      dueDeliveries,
      lockDuration: options.lockDuration,
      clock,
      mayTake: () => this.#mayTake(),
      newToken: () => this.#newToken(),
      disown: (jobId) => this.disown(jobId),
      goOnAs: (job, jobId) => this.goOnAs(job, jobId),
    };
    this.#delayByClock(clock);
  }

  override start(): void {
    super.start();
    this.#dueDeliveries.start();
  }

  /** Take no more jobs; let running attempts finish, and put them back after the deadline. */
  override async stop(): Promise<void> {
    await Promise.all([super.stop(), this.#dueDeliveries.stop()]);
  }

  /** What this worker has of a job that it runs. */
  ownedOf(job: Job<DeliveryJob, JobEnd>): OwnedJob {
    const owned = this.#owned.get(job);
    if (!owned) throw new Error(`Job ${job.id} was not taken by this worker.`);
    return owned;
  }

  // One job comes alone: while the loop waits, only a lane that goes on has another one to take.
  #mayTake(): NextJob {
    if (this.closing || this.paused) return 'nothing';
    return this.isLoopWaiting ? 'this_lane' : 'a_job';
  }

  // BullMQ itself counts a delay by the clock of this machine. These jobs are taken by that of Redis, maybe by another process.
  #delayByClock(clock: Clock): void {
    const { backend } = this;
    const moveToDelayed = backend.moveToDelayed.bind(backend);
    backend.moveToDelayed = (jobId, _now, ...delay) => moveToDelayed(jobId, clock(), ...delay);
  }

  // One for each job: a job that was given back, since nobody knew of it, may come again, and is then another
  // fetch.
  #newToken(): string {
    this.#tokens += 1;
    return `${this.id}:next-${this.#tokens}`;
  }

  protected override goOnAs(job: Job<DeliveryJob, JobEnd>, jobId: string): void {
    const running = this.#underWay.get(job.id ?? '');
    this.#underWay.delete(job.id ?? '');
    if (running) this.#underWay.set(jobId, running);
    super.goOnAs(job, jobId);
  }

  protected override async runJob(
    job: Job<DeliveryJob, JobEnd>,
    token: string,
    mayTakeNext: () => boolean,
  ): Promise<Job<DeliveryJob, JobEnd> | undefined> {
    const jobId = job.id ?? '';
    // Its last run ended with the record. The steps after the record may still be running here.
    for (let last = this.#underWay.get(jobId); last; last = this.#underWay.get(jobId)) await last;
    this.ownedOf(job).begin(mayTakeNext);
    const running = super.runJob(job, token, mayTakeNext);
    const end = () => {
      this.#underWay.delete(job.id ?? '');
    };
    this.#underWay.set(jobId, running.then(end, end));
    return await running;
  }

  protected override async takeJob(token: string): Promise<Job<DeliveryJob, JobEnd> | undefined> {
    const [taken] = await this.atomic([this.#parts.runningJobs.take(token)]);
    return this.#open(taken);
  }

  protected override async handleCompleted(
    end: JobEnd,
    job: Job<DeliveryJob, JobEnd>,
  ): Promise<Job<DeliveryJob, JobEnd>> {
    const owned = this.ownedOf(job);
    await this.#end(owned, end);
    this.emit('completed', job, end, 'active');
    return this.#open(owned.taken) as Job<DeliveryJob, JobEnd>;
  }

  // An error after the job's end does not change it. BullMQ's own script takes no other job with that: it knows no lanes.
  protected override async handleFailed(
    error: Error,
    job: Job<DeliveryJob, JobEnd>,
    token: string,
  ): Promise<Job<DeliveryJob, JobEnd>> {
    const owned = this.ownedOf(job);
    // By an end of its own: jobs of lanes and batches must not be delayed past what they own. Its next run finds what is recorded.
    const interruption = interruptionOf(error);
    if (interruption) await this.#end(owned, { kind: 'delayed', delayMs: interruption.delayMs });
    if (owned.hasEnded) {
      this.emit('failed', job, error, 'active');
      return this.#open(owned.taken) as Job<DeliveryJob, JobEnd>;
    }
    if (await owned.fail(error, this.#isForGood(error, job))) {
      return undefined as unknown as Job<DeliveryJob, JobEnd>;
    }
    return await super.handleFailed(error, job, token, () => false);
  }

  async #end(owned: OwnedJob, end: JobEnd): Promise<void> {
    const steps = owned.stepsToEnd(end, true);
    if (steps.length > 0) await this.atomic(steps);
  }

  /** As BullMQ decides it. */
  #isForGood(error: Error, { attemptsMade, attemptsStarted, opts }: Job): boolean {
    if (error instanceof DelayedError || error instanceof WaitingError) return false;
    if (error instanceof UnrecoverableError) return true;
    const { maxStartedAttempts = Number.POSITIVE_INFINITY } = this.opts;
    return attemptsMade + 1 >= (opts.attempts ?? 1) || attemptsStarted >= maxStartedAttempts;
  }

  #open(taken: Taken | undefined): Job<DeliveryJob, JobEnd> | undefined {
    if (taken === undefined) return undefined;
    if (taken.areMoreWaiting) this.stayAwake();
    else this.rest(taken.nextDueAt);
    if (!taken.job) return undefined;
    const { jobId, token, json } = taken.job;
    const job = this.createJob(json as JobJson, jobId);
    job.token = token;
    this.#owned.set(job, new OwnedJob(this.#parts, job, taken.job));
    return job;
  }
}
