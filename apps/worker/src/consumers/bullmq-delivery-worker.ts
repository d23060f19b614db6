import {
  type DeliveryBatch,
  type DeliveryParts,
  type DeliveryRun,
  type DeliveryTexts,
  decodeHolds,
  holdsSince,
  type JobEnd,
  type LanePlace,
  type MemberEnd,
  parseBatchJobId,
  parseDeliveryId,
  parseLaneJobId,
} from '@hookferry/core/domain/delivery';
import { laneNameOf, lineOfLane } from '@hookferry/core/domain/endpoint';
import type { EventId } from '@hookferry/core/domain/event';
import type { BesideLanes } from '@hookferry/core/endpoints/admission/redis-beside-lanes';
import { CACHED_FOR_MS } from '@hookferry/core/events/redis-event-store';
import { type Clock, steadyClock } from '@hookferry/core/platform/clock';
import { parsedOrUndefined } from '@hookferry/core/platform/json';
import { mapReply } from '@hookferry/core/platform/redis-atomic';
import { isUnavailable } from '@hookferry/core/platform/redis-errors';
import type { Guard } from '@hookferry/core/platform/redis-lua';
import type { Step } from '@hookferry/core/platform/redis-script';
import { DUE_GRACE_MS, type DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import type {
  BatchBounds,
  BatchMember,
  OwnedBatch,
  PlacedMember,
  RunningBatches,
} from '@hookferry/core/queue/bullmq-running-batches';
import type {
  LockedJob,
  RunningJobs,
  Taken,
  TakenHead,
  TakenJob,
} from '@hookferry/core/queue/bullmq-running-jobs';
import type { JoiningDelivery, OwnedLane, RunningLanes } from '@hookferry/core/queue/bullmq-running-lanes';
import {
  type DeliveryJob,
  decodeRequest,
  deliveryJobSchema,
  requestSchema,
} from '@hookferry/core/queue/delivery-job';
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
  readonly runningBatches: RunningBatches;
  readonly besideLanes: BesideLanes;
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
}

/** A lane whose job runs. */
export interface TakenLane {
  readonly head: TakenHead;
  /** The head that it was taken with, if another entry runs in its place. */
  readonly takenWith?: EventId | undefined;
  readonly owned: OwnedLane;
}

/** One that is in the lane. */
export type TakenEntry = TakenHead & { readonly eventId: EventId; readonly goesAsNewest?: boolean };

/** A batch whose job runs. */
export interface TakenBatch {
  readonly members: readonly BatchMember[];
  readonly owned: OwnedBatch;
}

function newRun(token: string, mayTakeNext: () => boolean): Run {
  return { token, takenAt: steadyClock(), mayTakeNext, hasEnded: false, taken: undefined };
}

/** A running job. */
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
  readonly #runningBatches: RunningBatches;
  readonly #besideLanes: BesideLanes;
  readonly #dueDeliveries: DueDeliveries;
  readonly #lockMs: number;
  readonly #clock: Clock;
  readonly #texts = new WeakMap<JobRef, DeliveryTexts>();
  readonly #holds = new WeakMap<JobRef, string>();
  readonly #lanes = new WeakMap<JobRef, TakenLane>();
  readonly #batches = new WeakMap<JobRef, TakenBatch>();
  /** Jobs of lanes that go on as soon as more are in them. */
  readonly #waitingForMore = new WeakSet<JobRef>();
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
      runningBatches,
      besideLanes,
      dueDeliveries,
      clock,
      ...options
    }: DeliveryWorkerOptions,
  ) {
    super(queue, process, options);
    this.#besideLanes = besideLanes;
    this.#runningJobs = runningJobs;
    this.#runningLanes = runningLanes;
    this.#runningBatches = runningBatches;
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
   * @param batch absent: it goes alone.
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
      stepsToEnd: (end) => this.stepsToEnd(job, end),
      batch,
    };
  }

  /** What came with the job of a lane; `undefined`: it is another job. */
  laneOf(job: JobRef): TakenLane | undefined {
    return this.#lanes.get(job);
  }

  /** What came with the job of a batch; `undefined`: it is another job. */
  batchOf(job: JobRef): TakenBatch | undefined {
    return this.#batches.get(job);
  }

  /** A lane's job runs its first delivery. */
  laneRunOf(
    job: RunningJob,
    head: TakenEntry,
    lane: OwnedLane,
    data: DeliveryJobData,
    batch: DeliveryBatch,
  ): DeliveryRun {
    const { endpointId, lane: name } = lane;
    const { eventId, turn, place, isBesideJobs, hadBegun, members, size, sent, goesAsNewest = false } = head;
    const run = this.runOf(job, { eventId, endpointId }, withRequest(data, head.request), batch);
    const waitsBehind = head.hasWaited && !head.isInBatches;
    // Since it came, behind others; then, as long as the lane did not go on.
    const behind = waitsBehind ? [{ reason: 'ordering', since: place } as const] : [];
    return {
      ...run,
      // One that was only put off behind an event waited for this service, and for no receiver.
      hasWaited: waitsBehind || hadBegun || this.#holds.has(job) || run.wasTakenOver,
      holds: [...behind, ...holdsSince(run.holds ?? [], place)],
      lane: {
        name,
        isLine: isLine(lane),
        turn,
        place,
        isBesideJobs,
        wasHeld: this.#holds.has(job),
        wentTogether: hadBegun && members !== undefined,
        size,
        sent,
        goesAsNewest,
        begin: async (as) => {
          const hasBegun = await this.#runningLanes.begin(lane, eventId, as);
          if (hasBegun) this.#goesInOrder(job);
          return hasBegun;
        },
        markSent: () => this.#runningLanes.markSent(lane, { eventId, acceptedAt: place }),
        unmarkSent: () => this.#runningLanes.unmarkSent(lane, { eventId, acceptedAt: place }, sent),
        findOutside: (entries) => this.#runningLanes.findOutside(name, entries),
        findNewest: () => this.#runningLanes.findNewest(name),
        runOf: (entry) => this.#runInPlace(job, headAt(head, entry), lane, data, batch),
        goTo: (entry) => {
          const other = { ...headAt(head, entry), goesAsNewest: true };
          const { takenWith = eventId } = this.#lanes.get(job) ?? {};
          this.#lanes.set(job, { head: other, takenWith, owned: lane });
          return this.#runInPlace(job, other, lane, data, batch);
        },
        waitInWindow: () => this.#runningLanes.waitInWindow(lane),
        hold: async (hold, previousStartedAt, fullAt) => {
          const isHeld = await this.#runningLanes.hold(lane, hold, previousStartedAt, fullAt);
          if (isHeld && fullAt !== undefined) this.#waitingForMore.add(job);
          return isHeld;
        },
        close: async (hold) => {
          const isHeld = await this.#runningLanes.close(lane, { eventId, acceptedAt: place }, hold);
          if (isHeld && hold.fullAt !== undefined) this.#waitingForMore.add(job);
          return isHeld;
        },
        listFirst: (most) => this.#runningLanes.listFirst(name, most),
        drop: (events) => this.#runningLanes.drop(name, events),
        leave: (entries) => this.endLaneBy(job, this.#runningLanes.leave(lane, entries)),
      },
    };
  }

  // What came with the job is the first one's.
  #runInPlace(
    job: RunningJob,
    head: TakenEntry,
    lane: OwnedLane,
    data: DeliveryJobData,
    batch: DeliveryBatch,
  ): DeliveryRun {
    return { ...this.laneRunOf(job, head, lane, data, batch), texts: undefined };
  }

  /** A delivery of a batch, which ends together with the others. */
  memberRunOf(
    job: RunningJob,
    { eventId, request, texts }: BatchMember,
    data: DeliveryJobData,
    batch: DeliveryBatch,
  ): DeliveryRun {
    const endpointId = (this.#batches.get(job) ?? this.#lanes.get(job))?.owned.endpointId;
    if (endpointId === undefined) throw notADelivery();
    const run = this.runOf(job, { eventId, endpointId }, withRequest(data, request), batch);
    const { stepsToEnd: _ofAll, ...own } = run;
    return { ...own, texts: isRecent(texts) ? texts : undefined };
  }

  /**
   * Make the first deliveries of a lane a batch: the run of the lane's job goes on as that of the batch's.
   *
   * @returns none: the lane is not this worker's any more.
   */
  async formBatch(job: Job<DeliveryJob, JobEnd>, bounds: BatchBounds): Promise<readonly PlacedMember[]> {
    const lane = this.#lanes.get(job);
    const run = this.#runs.get(job);
    if (!lane || !run || run.hasEnded) return [];
    const [formed] = await this.atomic([this.#runningBatches.form(lane.owned, bounds)]);
    if (!formed) {
      this.#hasEnded(job);
      return [];
    }
    const { jobId, members } = formed;
    const { accountId, endpointId, token } = lane.owned;
    const running = this.#underWay.get(job.id ?? '');
    this.#underWay.delete(job.id ?? '');
    if (running) this.#underWay.set(jobId, running);
    this.goOnAs(job, jobId);
    this.#lanes.delete(job);
    this.#batches.set(job, { members, owned: { accountId, endpointId, jobId, token } });
    return members;
  }

  /** Give the first deliveries of a lane in strict order: they go together until they have ended. */
  async beginHeads(job: JobRef, bounds: BatchBounds): Promise<readonly PlacedMember[]> {
    const lane = this.#lanes.get(job);
    if (!lane) return [];
    const [members] = await this.atomic([this.#runningBatches.beginHeads(lane.owned, bounds)]);
    this.#goesInOrder(job);
    return members;
  }

  // Its deliveries wait for each other, whatever they did when it was taken.
  #goesInOrder(job: JobRef): void {
    const lane = this.#lanes.get(job);
    if (lane) this.#lanes.set(job, { ...lane, head: { ...lane.head, isInBatches: false } });
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
    return isRecent(texts) ? texts : undefined;
  }

  /** Ask Redis whether a job is still this worker's. */
  #keep(job: JobRef): Step<boolean> {
    const run = this.#runs.get(job);
    if (run === undefined || run.hasEnded) return async () => false;
    return this.#runningJobs.keep({ jobId: job.id ?? '', token: run.token });
  }

  /**
   * The steps that let go of a running job, and take the next one: none if it does not run any more.
   *
   * @param isUnsent whether no record of an attempt ends it.
   */
  stepsToEnd(job: JobRef, end: JobEnd, isUnsent = false): readonly Step[] {
    const lane = this.#lanes.get(job);
    return this.#stepsToLetGo(job, (locked, next) => {
      const inTime = this.#inTime(end);
      if (!lane) return [this.#runningJobs.end([locked], inTime)];
      const { owned } = lane;
      const isDelayed = inTime.kind === 'delayed';
      const steps: Step[] = [this.#endHead(lane, locked, inTime, next, isUnsent)];
      if (owned.wasHeld && isDelayed && inTime.failure !== undefined) {
        steps.push(this.#runningLanes.reopen(owned));
      }
      if (isDelayed && this.#waitingForMore.has(job)) steps.push(this.#runningBatches.wakeIfFull(owned));
      return steps;
    });
  }

  /** The same for deliveries that went together: each has its end. */
  stepsToEndAll(job: JobRef, ends: readonly MemberEnd[]): readonly Step[] {
    const lane = this.#lanes.get(job);
    const batch = this.#batches.get(job);
    return this.#stepsToLetGo(job, () => {
      if (batch)
        return [
          this.#runningBatches.end(
            batch.owned,
            ends.map((each) => this.#memberInTime(each)),
          ),
        ];
      return lane ? [this.#endHeads(lane, ends)] : [];
    });
  }

  #stepsToLetGo(
    job: JobRef,
    letGo: (job: LockedJob, next: 'nothing' | 'a_job' | 'this_lane') => readonly Step[],
  ): readonly Step[] {
    const run = this.#runs.get(job);
    if (run === undefined || run.hasEnded) return [];
    // One job comes alone: while the loop waits, only a lane that goes on has another one to take.
    const mayTakeNext = !this.closing && !this.paused && run.mayTakeNext();
    const alone = this.#lanes.has(job) ? 'this_lane' : 'nothing';
    const next = mayTakeNext ? (this.isLoopWaiting ? alone : 'a_job') : 'nothing';
    const [first, ...others] = letGo({ jobId: job.id ?? '', token: run.token }, next);
    if (first === undefined) return [];
    const noted = mapReply(first, () => {
      run.hasEnded = true;
      this.disown(job.id ?? '');
    });
    if (next === 'nothing') return [noted, ...others];
    const take = this.#runningJobs.take(this.#newToken(), this.#knownEvent(job));
    const takeNext = mapReply(take, (taken) => {
      run.taken = taken;
    });
    return [noted, ...others, takeNext];
  }

  // Those that failed together go together again. The others stay where they are in the lane, behind them.
  #endHeads({ owned }: TakenLane, ends: readonly MemberEnd[]): Guard<boolean> {
    const ended = ends.filter(({ end }) => end.kind === 'done').map(({ eventId }) => eventId);
    const delayed = ends.filter(({ end, isInSecond }) => end.kind === 'delayed' && isInSecond !== true);
    const [first] = delayed;
    const end = first && this.#memberInTime(first).end;
    if (end?.kind !== 'delayed')
      return this.#runningBatches.endHeads(owned, ended, { events: [], delayMs: 0 });
    const name = JSON.stringify(first?.end);
    const events = delayed.filter((each) => JSON.stringify(each.end) === name).map(({ eventId }) => eventId);
    const { delayMs, failure } = end;
    return this.#runningBatches.endHeads(owned, ended, { events, delayMs, failure });
  }

  #memberInTime(each: MemberEnd): MemberEnd {
    return each.end.kind === 'alone' ? each : { ...each, end: this.#inTime(each.end) };
  }

  // A turn that had begun before stays: its request may have been sent.
  #endHead(
    { head, takenWith = head.eventId, owned }: TakenLane,
    job: LockedJob,
    end: JobEnd,
    next: 'nothing' | 'a_job' | 'this_lane',
    isUnsent: boolean,
  ): Guard<boolean> {
    if (end.kind === 'done') {
      return this.#runningLanes.end(owned, endingHead(head), next, isUnsent && head.isInBatches);
    }
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
      this.#underWay.delete(job.id ?? '');
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
    const steps = this.stepsToEnd(job, end, true);
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
      const batch = this.#batches.get(job);
      const isForGood = this.#isForGood(error, job);
      if (batch && isForGood) await this.#failBatch(job, batch, error);
      else if (lane?.head.eventId && lane.head.isInBatches && isOfDelivery(error)) {
        const entry = { eventId: lane.head.eventId, acceptedAt: lane.head.place };
        await this.endLaneBy(job, this.#runningLanes.leave(lane.owned, [entry]));
      } else if (lane && isForGood) await this.#failHead(job, lane, error);
      else return await super.handleFailed(error, job, token, () => false);
      return undefined as unknown as Job<DeliveryJob, JobEnd>;
    }
    this.emit('failed', job, error, 'active');
    return this.#begin(run.taken) as Job<DeliveryJob, JobEnd>;
  }

  // Each of its deliveries gets a job of its own, which is its dead letter.
  async #failBatch(
    job: Job<DeliveryJob, JobEnd>,
    { owned, members }: TakenBatch,
    error: Error,
  ): Promise<void> {
    const end = { kind: 'alone', failure: error.message } as const;
    await this.atomic([
      this.#runningBatches.end(
        owned,
        members.map(({ eventId }) => ({ eventId, end })),
      ),
    ]);
    this.#hasEnded(job);
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
    const line = lineOfLane(endpointId, owned.lane);
    const steps =
      eventId === undefined
        ? [this.#runningLanes.end(owned, undefined, 'nothing')]
        : [
            // First: where it is another script, the next one must not begin in between.
            this.#besideLanes.join(endpointId, [{ eventId, acceptedAt, line }]),
            this.#runningLanes.failHead(owned, eventId, error.message),
          ];
    await this.atomic(steps);
    this.#hasEnded(job);
  }

  #begin(taken: Taken | undefined): Job<DeliveryJob, JobEnd> | undefined {
    if (taken === undefined) return undefined;
    if (taken.areMoreWaiting) this.stayAwake();
    else this.rest(taken.nextDueAt);
    return taken.job && this.#open(taken.job);
  }

  #open(taken: TakenJob): Job<DeliveryJob, JobEnd> {
    const { jobId, token, json, head, holds, batch } = taken;
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
    const endpointOfBatch = batch && parseBatchJobId(jobId);
    if (endpointOfBatch) {
      const { account_id: accountId } = readData(job.data);
      const owned = { accountId, endpointId: endpointOfBatch, jobId, token };
      this.#batches.set(job, { members: batch, owned });
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

function isRecent(texts: DeliveryTexts | undefined): texts is DeliveryTexts {
  return texts !== undefined && steadyClock() - texts.readAt < CACHED_FOR_MS;
}

// Others of its lane need not wait for what is wrong with it: it fails with a job of its own.
function isOfDelivery(error: Error): boolean {
  return !(error instanceof DelayedError || error instanceof WaitingError || isUnavailable(error));
}

function withRequest(data: DeliveryJobData, stored: string | undefined): DeliveryJobData {
  if (stored === undefined) return data;
  const request = requestSchema.safeParse(parsedOrUndefined(stored)).data;
  return request ? { ...data, request } : data;
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
