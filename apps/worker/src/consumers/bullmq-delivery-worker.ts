import {
  type DeliveryBatch,
  type DeliveryParts,
  type DeliveryRun,
  type DeliveryTexts,
  decodeHolds,
  type JobEnd,
  type LanePlace,
  parseDeliveryId,
  parseLaneJobId,
} from '@hookferry/core/domain/delivery';
import { type EndpointAddress, laneNameOf, orderOfLane } from '@hookferry/core/domain/endpoint';
import type { EventId } from '@hookferry/core/domain/event';
import type { AdmissionStore } from '@hookferry/core/endpoints/admission/redis-admission-store';
import { CACHED_FOR_MS } from '@hookferry/core/events/redis-event-store';
import { type Clock, steadyClock } from '@hookferry/core/platform/clock';
import { parsedOrUndefined } from '@hookferry/core/platform/json';
import { mapReply } from '@hookferry/core/platform/redis-atomic';
import type { Guard } from '@hookferry/core/platform/redis-lua';
import type { Step } from '@hookferry/core/platform/redis-script';
import type { BatchJobs, BatchToTake, TakenBatch } from '@hookferry/core/queue/bullmq-batch-jobs';
import {
  type DeliveryJob,
  decodeRequest,
  deliveryJobSchema,
  requestSchema,
} from '@hookferry/core/queue/bullmq-delivery-queue';
import { DUE_GRACE_MS, type DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import type {
  LockedJob,
  RunningJobs,
  Taken,
  TakenHead,
  TakenJob,
} from '@hookferry/core/queue/bullmq-running-jobs';
import type { JoiningDelivery, OwnedLane, RunningLanes } from '@hookferry/core/queue/bullmq-running-lanes';
import {
  DelayedError,
  type Job,
  type JobJson,
  type Processor,
  UnrecoverableError,
  WaitingError,
} from 'bullmq';
import type { z } from 'zod';
import { BullmqWorker, type BullmqWorkerOptions } from './bullmq-worker';

export interface DeliveryWorkerOptions extends BullmqWorkerOptions {
  readonly runningJobs: RunningJobs;
  readonly runningLanes: RunningLanes;
  /** The order of deliveries that have jobs of their own. */
  readonly admissionStore: Pick<AdmissionStore, 'joinOrder'>;
  readonly batchJobs: BatchJobs;
  /** It puts back those that are delayed. */
  readonly dueDeliveries: DueDeliveries;
  /** How long a dead worker's jobs stay its own. Milliseconds. */
  readonly lockDuration: number;
  readonly clock: Clock;
}

export type DeliveryJobData = z.output<typeof deliveryJobSchema>;

type RunningJob = JobRef & Pick<Job, 'attemptsStarted' | 'stalledCounter' | 'processedOn'>;

// Before the lock ends, so that a request leaves while this process still owns the job.
const LOCK_MARGIN_MS = 500;

/** A running job of this worker. */
interface Run {
  readonly token: string;
  /** Of a clock that never jumps. Milliseconds. */
  readonly takenAt: number;
  readonly mayTakeNext: () => boolean;
  /** Whether this worker has ended or released it. */
  hasEnded: boolean;
  /** The next job, taken in its place. */
  taken: Taken | undefined;
  /** The jobs that were taken to end together with it. */
  others: readonly JobRef[];
}

/** A lane whose job runs. */
export interface TakenLane {
  readonly head: TakenHead;
  /** The head that it was taken with, if another entry runs in its place. */
  readonly takenWith?: EventId | undefined;
  readonly owned: OwnedLane;
}

type TakenEntry = TakenHead & { readonly eventId: EventId };

const NO_JOBS: readonly JobRef[] = [];

function newRun(token: string, mayTakeNext: () => boolean): Run {
  return { token, takenAt: steadyClock(), mayTakeNext, hasEnded: false, taken: undefined, others: NO_JOBS };
}

/** A running job: one of BullMQ, or one of its batch. */
export interface JobRef {
  readonly id?: string | undefined;
}

/**
 * Takes deliveries. A job comes with all that its attempt needs. Its end, and the next job, can be part of
 * the script that records the attempt: then a delivery takes one round trip.
 */
export class DeliveryWorker extends BullmqWorker<DeliveryJob, JobEnd> {
  readonly #runningJobs: RunningJobs;
  readonly #runningLanes: RunningLanes;
  readonly #admissionStore: DeliveryWorkerOptions['admissionStore'];
  readonly #batchJobs: BatchJobs;
  readonly #dueDeliveries: DueDeliveries;
  readonly #lockMs: number;
  readonly #clock: Clock;
  readonly #texts = new WeakMap<JobRef, DeliveryTexts>();
  readonly #holds = new WeakMap<JobRef, string>();
  readonly #lanes = new WeakMap<JobRef, TakenLane>();
  readonly #runs = new WeakMap<JobRef, Run>();
  /** By the id of the job. None rejects. */
  readonly #underWay = new Map<string, Promise<void>>();
  #tokens = 0;

  constructor(
    queue: string,
    process: Processor<DeliveryJob, JobEnd>,
    {
      runningJobs,
      runningLanes,
      admissionStore,
      batchJobs,
      dueDeliveries,
      clock,
      ...options
    }: DeliveryWorkerOptions,
  ) {
    super(queue, process, options);
    this.#admissionStore = admissionStore;
    this.#runningJobs = runningJobs;
    this.#runningLanes = runningLanes;
    this.#batchJobs = batchJobs;
    this.#dueDeliveries = dueDeliveries;
    this.#lockMs = options.lockDuration;
    this.#clock = clock;
  }

  override start(): void {
    super.start();
    this.#dueDeliveries.start();
  }

  /** Take no more jobs; let running attempts finish, and put them back after the deadline. */
  override async stop(): Promise<void> {
    await Promise.all([super.stop(), this.#dueDeliveries.stop()]);
  }

  /**
   * What a running job says of its delivery, and how it ends.
   *
   * @param batch absent: it goes alone, or in the batch of another one.
   */
  runOf(
    job: RunningJob,
    { eventId, endpointId }: DeliveryParts,
    data: DeliveryJobData,
    batch?: DeliveryBatch,
  ): DeliveryRun {
    const holds = this.#holds.get(job);
    return {
      eventId,
      endpointId,
      accountId: data.account_id,
      hasWaited: job.attemptsStarted > 1,
      holds: holds === undefined ? undefined : decodeHolds(holds),
      wasTakenOver: job.stalledCounter > 0,
      ownedUntil: (job.processedOn ?? 0) + this.#lockMs - Math.min(LOCK_MARGIN_MS, this.#lockMs / 4),
      takenAt: this.#runs.get(job)?.takenAt ?? Number.NEGATIVE_INFINITY,
      keepJob: (target) => this.#keep(job)(target),
      request: decodeRequest(data),
      texts: this.textsOf(job),
      stepsToEnd: (end) => this.stepsToEnd([job], end),
      batch,
    };
  }

  /** What came with the job of a lane; `undefined`: it is another job. */
  laneOf(job: JobRef): TakenLane | undefined {
    return this.#lanes.get(job);
  }

  /** A lane's job runs its first delivery. */
  laneRunOf(job: RunningJob, head: TakenEntry, lane: OwnedLane, data: DeliveryJobData): DeliveryRun {
    const { endpointId, lane: name } = lane;
    const { eventId, turn, place, isBesideJobs, sent } = head;
    const request = requestSchema.safeParse(parsedOrUndefined(head.request ?? '')).data;
    const run = this.runOf(job, { eventId, endpointId }, request ? { ...data, request } : data);
    // Since it came, behind others; then, as long as the lane did not go on.
    const behind = head.hasWaited ? [{ reason: 'ordering', since: place } as const] : [];
    return {
      ...run,
      hasWaited: run.hasWaited || head.hasWaited,
      holds: [...behind, ...(run.holds ?? [])],
      lane: {
        name,
        isLine: isLine(lane),
        turn,
        place,
        isBesideJobs,
        wasHeld: this.#holds.has(job),
        sent,
        begin: (as) => this.#runningLanes.begin(lane, eventId, as),
        markSent: () => this.#runningLanes.markSent(lane, { eventId, acceptedAt: place }),
        findNewest: () => this.#runningLanes.findNewest(name),
        runOf: (entry) => this.#runInPlace(job, headAt(head, entry), lane, data),
        goTo: (entry) => {
          const other = headAt(head, entry);
          const { takenWith = eventId } = this.#lanes.get(job) ?? {};
          this.#lanes.set(job, { head: other, takenWith, owned: lane });
          return this.#runInPlace(job, other, lane, data);
        },
        waitInWindow: () => this.#runningLanes.waitInWindow(lane),
        hold: (hold, previousStartedAt) => this.#runningLanes.hold(lane, hold, previousStartedAt),
        close: (hold) => this.#runningLanes.close(lane, { eventId, acceptedAt: place }, hold),
        listFirst: (most) => this.#runningLanes.listFirst(name, most),
        drop: (events) => this.#runningLanes.drop(name, events),
        leave: (events) => this.endLaneBy(job, this.#runningLanes.leave(lane, events)),
      },
    };
  }

  // What came with the job is the first one's.
  #runInPlace(job: RunningJob, head: TakenEntry, lane: OwnedLane, data: DeliveryJobData): DeliveryRun {
    return { ...this.laneRunOf(job, head, lane, data), texts: undefined };
  }

  /** Let go of a lane's job by a step that does so. */
  async endLaneBy(job: JobRef, step: Step): Promise<void> {
    await this.atomic([step]);
    this.#hasEnded(job);
  }

  /** Make a running delivery an entry of its endpoint's lane. Gives `false` if it keeps its job. */
  async joinLane(
    job: JobRef,
    delivery: Omit<JoiningDelivery, 'token' | 'jobId'>,
    onlyIfThere: boolean,
  ): Promise<boolean> {
    const run = this.#runs.get(job);
    if (run === undefined || run.hasEnded) return true;
    const joining = { ...delivery, jobId: job.id ?? '', token: run.token };
    const [hasJoined] = await this.atomic([this.#runningLanes.join(joining, onlyIfThere)]);
    if (hasJoined) this.#hasEnded(job);
    return hasJoined;
  }

  #hasEnded(job: JobRef): void {
    const run = this.#runs.get(job);
    if (run) run.hasEnded = true;
    this.disown(job.id ?? '');
  }

  /** The records that were read together with a job, if that was recent. */
  textsOf(job: JobRef): DeliveryTexts | undefined {
    const texts = this.#texts.get(job);
    return texts && steadyClock() - texts.readAt < CACHED_FOR_MS ? texts : undefined;
  }

  /** Ask Redis whether a job is still this worker's. */
  #keep(job: JobRef): Step<boolean> {
    const run = this.#runs.get(job);
    if (run === undefined || run.hasEnded) return async () => false;
    return this.#runningJobs.keep({ jobId: job.id ?? '', token: run.token });
  }

  /**
   * The steps that let go of running jobs, and take the next one in the place of one that counts as running: none if none of
   * them runs any more.
   */
  stepsToEnd(jobs: readonly JobRef[], end: JobEnd): readonly Step[] {
    const owned = jobs.flatMap((job) => {
      const run = this.#runs.get(job);
      return run === undefined || run.hasEnded ? [] : [{ job, run, jobId: job.id ?? '', token: run.token }];
    });
    const [first] = owned;
    if (first === undefined) return [];
    const lane = this.#lanes.get(first.job);
    // One job comes alone: while the loop waits, only a lane that goes on has another one to take.
    const mayTakeNext = !this.closing && !this.paused && (lane !== undefined || !this.isLoopWaiting);
    const next = mayTakeNext ? owned.find(({ run }) => run.mayTakeNext()) : undefined;
    const inTime = this.#inTime(end);
    const takes = next === undefined ? 'nothing' : this.isLoopWaiting ? 'this_lane' : 'a_job';
    const ended = lane ? this.#endHead(lane, first, inTime, takes) : this.#runningJobs.end(owned, inTime);
    const letGo = mapReply(ended, () => {
      for (const { run, jobId } of owned) {
        run.hasEnded = true;
        this.disown(jobId);
      }
    });
    const reopens = lane?.owned.wasHeld && inTime.kind === 'delayed' && inTime.failure !== undefined;
    const after = reopens ? [this.#runningLanes.reopen(lane.owned)] : [];
    if (next === undefined) return [letGo, ...after];
    const take = this.#runningJobs.take(this.#newToken(), this.#knownEvent(next.job));
    const takeNext = mapReply(take, (taken) => {
      next.run.taken = taken;
    });
    return [letGo, ...after, takeNext];
  }

  // A turn that had begun before stays: its request may have been sent.
  #endHead(
    { head, takenWith = head.eventId, owned }: TakenLane,
    job: LockedJob,
    end: JobEnd,
    next: 'nothing' | 'a_job' | 'this_lane',
  ): Guard<boolean> {
    if (end.kind === 'done') return this.#runningLanes.end(owned, endingHead(head), next);
    const endsTurn = end.failure === undefined && !head.hadBegun;
    return this.#runningJobs.end([job], end, endsTurn ? takenWith : undefined);
  }

  /** A job that is due again after a delay is put back in time. */
  #inTime(end: JobEnd): JobEnd {
    if (end.kind === 'done') return end;
    const { delayMs, failure } = end;
    this.#dueDeliveries.expect(this.#clock() + delayMs);
    return { kind: 'delayed', delayMs: delayMs + DUE_GRACE_MS, failure };
  }

  /** Take jobs that can end together with a running one. They are not counted as running; each has to be let go of. */
  async takeOthers(
    job: Job<DeliveryJob>,
    address: EndpointAddress,
    wanted: BatchToTake,
  ): Promise<TakenBatch> {
    const primary = parseDeliveryId(job.id ?? '')?.eventId;
    if (primary === undefined) return { sentBefore: [], busy: [], jobs: [] };
    const token = this.#newToken();
    const [taken] = await this.atomic([this.#batchJobs.take(address, primary, token, wanted)]);
    for (const other of taken.jobs) {
      this.own(other.id, token);
      this.#note(other, other);
      this.#runs.set(
        other,
        newRun(token, () => false),
      );
    }
    const run = this.#runs.get(job);
    if (run) run.others = [...run.others, ...taken.jobs];
    return taken;
  }

  protected override async runJob(
    job: Job<DeliveryJob, JobEnd>,
    token: string,
    mayTakeNext: () => boolean,
  ): Promise<Job<DeliveryJob, JobEnd> | undefined> {
    const jobId = job.id ?? '';
    const run = newRun(token, mayTakeNext);
    // Its last run ended with the record. The steps after the record may still be running here.
    for (let last = this.#underWay.get(jobId); last; last = this.#underWay.get(jobId)) await last;
    this.#runs.set(job, run);
    const running = super.runJob(job, token, mayTakeNext);
    const end = () => {
      this.#underWay.delete(jobId);
      this.#disownAll(run.others);
    };
    this.#underWay.set(jobId, running.then(end, end));
    return await running;
  }

  protected override async takeJob(token: string): Promise<Job<DeliveryJob, JobEnd> | undefined> {
    const [taken] = await this.atomic([this.#runningJobs.take(token)]);
    return this.#begin(taken);
  }

  protected override async handleCompleted(
    end: JobEnd,
    job: Job<DeliveryJob, JobEnd>,
  ): Promise<Job<DeliveryJob, JobEnd>> {
    const steps = this.stepsToEnd([job], end);
    if (steps.length > 0) await this.atomic(steps);
    this.emit('completed', job, end, 'active');
    return this.#begin(this.#runs.get(job)?.taken) as Job<DeliveryJob, JobEnd>;
  }

  // An error after the job's end does not change it. BullMQ's own script takes no other job with that: it knows no lanes.
  protected override async handleFailed(
    error: Error,
    job: Job<DeliveryJob, JobEnd>,
    token: string,
  ): Promise<Job<DeliveryJob, JobEnd>> {
    const run = this.#runs.get(job);
    const lane = this.#lanes.get(job);
    if (!run?.hasEnded) {
      if (lane === undefined || !this.#isForGood(error, job)) {
        return await super.handleFailed(error, job, token, () => false);
      }
      await this.#failHead(job, lane, error);
      return undefined as unknown as Job<DeliveryJob, JobEnd>;
    }
    this.emit('failed', job, error, 'active');
    return this.#begin(run.taken) as Job<DeliveryJob, JobEnd>;
  }

  /** As BullMQ decides it. */
  #isForGood(error: Error, { attemptsMade, attemptsStarted, opts }: Job): boolean {
    if (error instanceof DelayedError || error instanceof WaitingError) return false;
    if (error instanceof UnrecoverableError) return true;
    const { maxStartedAttempts = Number.POSITIVE_INFINITY } = this.opts;
    return attemptsMade + 1 >= (opts.attempts ?? 1) || attemptsStarted >= maxStartedAttempts;
  }

  // The lane's job never fails for good itself: others would wait without a job.
  async #failHead(job: Job<DeliveryJob, JobEnd>, { head, owned }: TakenLane, error: Error): Promise<void> {
    const { eventId, place: acceptedAt } = head;
    const { endpointId } = owned;
    const lane = orderOfLane(endpointId, owned.lane);
    const steps =
      eventId === undefined
        ? [this.#runningLanes.end(owned, undefined, 'nothing')]
        : [
            // First: where it is another script, the next one must not begin in between.
            this.#admissionStore.joinOrder(endpointId, [{ eventId, acceptedAt, lane }]),
            this.#runningLanes.failHead(owned, eventId, error.message),
          ];
    await this.atomic(steps);
    this.#hasEnded(job);
  }

  // A run that fails lets go of nothing. The others that it took would be kept from all workers for as long as this one lives.
  #disownAll(jobs: readonly JobRef[]): void {
    for (const job of jobs) {
      const run = this.#runs.get(job);
      if (run === undefined || run.hasEnded) continue;
      run.hasEnded = true;
      this.disown(job.id ?? '');
    }
  }

  #begin(taken: Taken | undefined): Job<DeliveryJob, JobEnd> | undefined {
    if (taken === undefined) return undefined;
    if (taken.areMoreWaiting) this.stayAwake();
    else this.rest(taken.nextDueAt);
    return taken.job && this.#open(taken.job);
  }

  #open(taken: TakenJob): Job<DeliveryJob, JobEnd> {
    const { jobId, token, json, head, holds } = taken;
    const job = this.createJob(json as JobJson, jobId);
    job.token = token;
    this.#note(job, taken);
    const parsed = head && parseLaneJobId(jobId);
    const data = deliveryJobSchema.safeParse(job.data).data;
    if (parsed && data) {
      const { account_id: accountId } = data;
      const { name: lane, endpointId, line } = parsed;
      const wasHeld = line === undefined && holds !== undefined;
      this.#lanes.set(job, { head, owned: { accountId, endpointId, lane, token, wasHeld } });
    }
    return job;
  }

  #note(job: JobRef, { holds, texts }: Pick<TakenJob, 'holds' | 'texts'>): void {
    if (texts) this.#texts.set(job, texts);
    if (holds !== undefined) this.#holds.set(job, holds);
  }

  // One for each job: a job that was given back, since nobody knew of it, may come again, and is then another
  // fetch.
  #newToken(): string {
    this.#tokens += 1;
    return `${this.id}:next-${this.#tokens}`;
  }

  /** Its deliveries are neighbours on the queue: this process may still have what it has read for the last one. */
  #knownEvent(job: JobRef): EventId | undefined {
    if (this.textsOf(job) === undefined) return undefined;
    return this.laneOf(job)?.head.eventId ?? parseDeliveryId(job.id ?? '')?.eventId;
  }
}

function isLine({ lane, endpointId }: OwnedLane): boolean {
  return lane !== laneNameOf(endpointId);
}

/** Another entry of a lane in place of its head. Its turn has not begun. */
function headAt(head: TakenHead, { eventId, acceptedAt: place, request }: LanePlace): TakenEntry {
  return { ...head, eventId, place, request, turn: 'unknown', hadBegun: false };
}

function endingHead({ eventId, request }: TakenHead) {
  return eventId === undefined ? undefined : { eventId, hasRequest: request !== undefined };
}

export function readData(data: unknown): DeliveryJobData {
  const read = deliveryJobSchema.safeParse(data);
  if (!read.success) throw notADelivery();
  return read.data;
}

export function notADelivery(): Error {
  return new UnrecoverableError('Not a delivery job.');
}
