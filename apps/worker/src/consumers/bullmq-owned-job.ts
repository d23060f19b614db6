import {
  type DeliveryTexts,
  type JobEnd,
  type MemberEnd,
  parseBatchJobId,
  parseDeliveryId,
  parseLaneJobId,
} from '@hookferry/core/domain/delivery';
import { lineOfLane } from '@hookferry/core/domain/endpoint';
import type { EventId } from '@hookferry/core/domain/event';
import type { BesideLanes } from '@hookferry/core/endpoints/admission/redis-beside-lanes';
import { CACHED_FOR_MS } from '@hookferry/core/events/redis-event-store';
import { type Clock, steadyClock } from '@hookferry/core/platform/clock';
import { type Atomic, mapReply } from '@hookferry/core/platform/redis-atomic';
import type { Guard } from '@hookferry/core/platform/redis-lua';
import type { Step } from '@hookferry/core/platform/redis-script';
import { DUE_GRACE_MS, type DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import type {
  BatchBounds,
  BatchMember,
  OwnedBatch,
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
import { type DeliveryJob, deliveryJobSchema } from '@hookferry/core/queue/delivery-job';
import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq';
import type { z } from 'zod';

/** What the jobs of a worker have in common. */
export interface OwnedJobParts {
  readonly atomic: Atomic;
  readonly runningJobs: RunningJobs;
  readonly runningLanes: RunningLanes;
  readonly runningBatches: RunningBatches;
  readonly besideLanes: BesideLanes;
  /** It puts back those that are delayed. */
  readonly dueDeliveries: DueDeliveries;
  /** How long a dead worker's jobs stay its own. Milliseconds. */
  readonly lockDuration: number;
  readonly clock: Clock;
  /** What the worker may take at the end of a job: a lane that goes on, or any job. */
  mayTake(): NextJob;
  /** Of the next job that is taken. */
  newToken(): string;
  /** The worker does not have the job any more. */
  disown(jobId: string): void;
  /** The job goes on under another id. */
  goOnAs(job: Job<DeliveryJob, JobEnd>, jobId: string): void;
}

export type NextJob = 'nothing' | 'a_job' | 'this_lane';

type DeliveryJobData = z.output<typeof deliveryJobSchema>;

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

/**
 * A job that a worker has: of a delivery, of a lane, or of a batch. It has what came with the job, and lets go of it.
 * `bullmq-delivery-runs.ts` makes the runs of its deliveries.
 */
export class OwnedJob {
  #lane: TakenLane | undefined;
  #batch: TakenBatch | undefined;
  #data: DeliveryJobData | undefined;
  readonly #token: string;
  readonly #texts: DeliveryTexts | undefined;
  /** As they are stored. Absent: it was not held. */
  readonly holds: string | undefined;
  #waitsForMore = false;
  #takenAt = Number.NEGATIVE_INFINITY;
  #mayTakeNext = () => false;
  #hasEnded = false;
  #taken: Taken | undefined;

  constructor(
    readonly parts: OwnedJobParts,
    readonly job: Job<DeliveryJob, JobEnd>,
    { jobId, token, head, holds, texts, batch }: TakenJob,
  ) {
    this.#token = token;
    this.#texts = texts;
    this.holds = holds;
    this.#data = deliveryJobSchema.safeParse(job.data).data;
    const lane = head && parseLaneJobId(jobId);
    const accountId = this.#data?.account_id;
    if (lane && accountId !== undefined) {
      const { name, endpointId, line } = lane;
      const wasHeld = line === undefined && holds !== undefined;
      this.#lane = { head, owned: { accountId, endpointId, lane: name, token, wasHeld } };
    }
    const endpointOfBatch = batch && parseBatchJobId(jobId);
    if (endpointOfBatch) {
      const owned = { accountId: this.data.account_id, endpointId: endpointOfBatch, jobId, token };
      this.#batch = { members: batch, owned };
    }
  }

  /** `undefined`: it is another job. */
  get lane(): TakenLane | undefined {
    return this.#lane;
  }

  /** `undefined`: it is another job. */
  get batch(): TakenBatch | undefined {
    return this.#batch;
  }

  /** @throws UnrecoverableError when it is no delivery's. */
  get data(): DeliveryJobData {
    if (!this.#data) throw notADelivery();
    return this.#data;
  }

  /** The records that were read together with it, if that was recent. */
  get texts(): DeliveryTexts | undefined {
    return isRecent(this.#texts) ? this.#texts : undefined;
  }

  /** When its run began, by a clock that never jumps. Milliseconds. */
  get takenAt(): number {
    return this.#takenAt;
  }

  /** Whether the worker has ended or released it. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** What was taken in its place. */
  get taken(): Taken | undefined {
    return this.#taken;
  }

  /** Its run begins. */
  begin(mayTakeNext: () => boolean): void {
    this.#takenAt = steadyClock();
    this.#mayTakeNext = mayTakeNext;
  }

  /** Ask Redis whether it is still the worker's. */
  get keep(): Step<boolean> {
    return async (target) => !this.#hasEnded && (await this.parts.runningJobs.keep(this.#locked)(target));
  }

  /** Another entry of its lane runs in place of the head. */
  goTo(head: TakenEntry): void {
    const lane = this.#lane;
    if (lane) this.#lane = { head, takenWith: lane.takenWith ?? lane.head.eventId, owned: lane.owned };
  }

  /** The deliveries of its lane wait for each other, whatever they did when it was taken. */
  goInOrder(): void {
    const lane = this.#lane;
    if (lane) this.#lane = { ...lane, head: { ...lane.head, isInBatches: false } };
  }

  /** If it is put off, the turn of its head ends, though it had begun before. */
  giveTurnBack(): void {
    const lane = this.#lane;
    if (lane) this.#lane = { ...lane, head: { ...lane.head, hadBegun: false } };
  }

  /** Its lane goes on as soon as more are in it. */
  waitForMore(): void {
    this.#waitsForMore = true;
  }

  /**
   * Make the first deliveries of its lane a batch: the run of the lane's job goes on as that of the batch's.
   *
   * @returns none: the lane is not the worker's any more.
   */
  async formBatch(bounds: BatchBounds): Promise<readonly BatchMember[]> {
    const { atomic, runningBatches } = this.parts;
    if (!this.#lane || this.#hasEnded) return [];
    const { accountId, endpointId, token } = this.#lane.owned;
    const [formed] = await atomic([runningBatches.form(this.#lane.owned, bounds)]);
    if (!formed) {
      this.#letGo();
      return [];
    }
    const { jobId, members } = formed;
    this.parts.goOnAs(this.job, jobId);
    this.#lane = undefined;
    this.#batch = { members, owned: { accountId, endpointId, jobId, token } };
    return members;
  }

  /** Give the first deliveries of its lane in an order. */
  async beginHeads(bounds: BatchBounds): Promise<readonly BatchMember[]> {
    if (!this.#lane) return [];
    const { atomic, runningBatches } = this.parts;
    const [members] = await atomic([runningBatches.beginHeads(this.#lane.owned, bounds)]);
    this.goInOrder();
    return members;
  }

  /**
   * Deliveries of its lane in an order are about to go in one request: they go together until they have ended. Gives `false` if others
   * have come between them since the first ones were read.
   */
  async keepTogether(events: readonly EventId[], read: readonly EventId[]): Promise<boolean> {
    if (!this.#lane) return true;
    const { atomic, runningBatches } = this.parts;
    const [areTogether] = await atomic([runningBatches.keepTogether(this.#lane.owned, events, read)]);
    return areTogether;
  }

  /** Let go of it by a step that does so. */
  async endBy(step: Step): Promise<void> {
    await this.parts.atomic([step]);
    this.#letGo();
  }

  /** Make its delivery an entry of its endpoint's lane. Gives `false` if it keeps its job. */
  async joinLane(delivery: Omit<JoiningDelivery, 'token' | 'jobId'>, onlyIfThere: boolean): Promise<boolean> {
    if (this.#hasEnded) return true;
    const { atomic, runningLanes } = this.parts;
    const [hasJoined] = await atomic([runningLanes.join({ ...delivery, ...this.#locked }, onlyIfThere)]);
    if (hasJoined) this.#letGo();
    return hasJoined;
  }

  #letGo(): void {
    this.#hasEnded = true;
    this.parts.disown(this.#locked.jobId);
  }

  get #locked(): LockedJob {
    return { jobId: this.job.id ?? '', token: this.#token };
  }

  /**
   * The steps that let go of it, and take the next job: none if it does not run any more.
   *
   * @param isUnsent whether no record of an attempt ends it.
   */
  stepsToEnd(end: JobEnd, isUnsent = false): readonly Step[] {
    const { runningJobs, runningLanes, runningBatches } = this.parts;
    const lane = this.#lane;
    return this.#stepsToLetGo((next) => {
      const inTime = this.#inTime(end);
      if (!lane) return [runningJobs.end([this.#locked], inTime)];
      const { owned } = lane;
      const isDelayed = inTime.kind === 'delayed';
      const steps: Step[] = [this.#endHead(lane, inTime, next, isUnsent)];
      if (owned.wasHeld && isDelayed && inTime.failure !== undefined) steps.push(runningLanes.reopen(owned));
      if (isDelayed && this.#waitsForMore) steps.push(runningBatches.wakeIfFull(owned));
      return steps;
    });
  }

  /** The same for deliveries that went together: each has its end. */
  stepsToEndAll(ends: readonly MemberEnd[]): readonly Step[] {
    const { runningBatches } = this.parts;
    return this.#stepsToLetGo(() => {
      if (this.#batch) {
        const inTime = ends.map((each) => this.#memberInTime(each));
        return [runningBatches.end(this.#batch.owned, inTime)];
      }
      return this.#lane ? [this.#endHeads(this.#lane, ends)] : [];
    });
  }

  #stepsToLetGo(letGo: (next: NextJob) => readonly Step[]): readonly Step[] {
    if (this.#hasEnded) return [];
    const { parts } = this;
    const mayTake = this.#mayTakeNext() ? parts.mayTake() : 'nothing';
    const next = mayTake === 'this_lane' && !this.#lane ? 'nothing' : mayTake;
    const [first, ...others] = letGo(next);
    if (first === undefined) return [];
    const noted = mapReply(first, () => this.#letGo());
    if (next === 'nothing') return [noted, ...others];
    const takeNext = mapReply(parts.runningJobs.take(parts.newToken(), this.#knownEvent), (taken) => {
      this.#taken = taken;
    });
    return [noted, ...others, takeNext];
  }

  // Those that failed together go together again. The others stay where they are in the lane, behind them.
  #endHeads({ owned }: TakenLane, ends: readonly MemberEnd[]): Guard<boolean> {
    const { runningBatches } = this.parts;
    const ended = ends.filter(({ end }) => end.kind === 'done').map(({ eventId }) => eventId);
    const delayed = ends.filter(({ end, isInSecond }) => end.kind === 'delayed' && isInSecond !== true);
    const [first] = delayed;
    const end = first && this.#memberInTime(first).end;
    if (end?.kind !== 'delayed') return runningBatches.endHeads(owned, ended, { events: [], delayMs: 0 });
    const name = JSON.stringify(first?.end);
    const events = delayed.filter((each) => JSON.stringify(each.end) === name).map(({ eventId }) => eventId);
    const { delayMs, failure } = end;
    return runningBatches.endHeads(owned, ended, { events, delayMs, failure });
  }

  #memberInTime(each: MemberEnd): MemberEnd {
    return each.end.kind === 'alone' ? each : { ...each, end: this.#inTime(each.end) };
  }

  // A turn that had begun before stays: its request may have been sent.
  #endHead(
    { head, takenWith = head.eventId, owned }: TakenLane,
    end: JobEnd,
    next: NextJob,
    isUnsent: boolean,
  ): Guard<boolean> {
    const { runningJobs, runningLanes } = this.parts;
    if (end.kind === 'done') {
      return runningLanes.end(owned, endingHead(head), next, isUnsent && head.isInBatches);
    }
    const endsTurn = end.failure === undefined && !head.hadBegun;
    return runningJobs.end([this.#locked], end, endsTurn ? takenWith : undefined);
  }

  /** A job that is due again after a delay is put back in time. */
  #inTime(end: JobEnd): JobEnd {
    if (end.kind === 'done') return end;
    const { delayMs, failure } = end;
    const { dueDeliveries, clock } = this.parts;
    dueDeliveries.expect(clock() + delayMs);
    return { kind: 'delayed', delayMs: delayMs + DUE_GRACE_MS, failure };
  }

  /**
   * It has thrown an error. A lane, and a batch, go on without the delivery whose fault it is.
   *
   * @param isForGood whether it is not to be tried again.
   * @returns `false`: nothing is done yet.
   */
  async fail(error: Error, isForGood: boolean): Promise<boolean> {
    const { runningLanes } = this.parts;
    const head = this.#lane?.head;
    if (this.#batch && isForGood) await this.endBy(this.#failMembers(this.#batch, error));
    else if (this.#lane && head?.eventId && head.isInBatches && isOfDelivery(error)) {
      const entry = { eventId: head.eventId, acceptedAt: head.place };
      await this.endBy(runningLanes.leave(this.#lane.owned, [entry]));
    } else if (this.#lane && isForGood) await this.#failHead(this.#lane, error);
    else return false;
    return true;
  }

  // Each of them gets a job of its own, which is its dead letter.
  #failMembers({ owned, members }: TakenBatch, error: Error): Step {
    const end = { kind: 'alone', failure: error.message } as const;
    const ends = members.map(({ eventId }) => ({ eventId, end }));
    return this.parts.runningBatches.end(owned, ends);
  }

  // The lane's job never fails for good itself: others would wait without a job.
  async #failHead({ head, owned }: TakenLane, error: Error): Promise<void> {
    const { atomic, runningLanes, besideLanes } = this.parts;
    const { eventId, place: acceptedAt } = head;
    const { endpointId } = owned;
    if (eventId === undefined) return await this.endBy(runningLanes.end(owned, undefined, 'nothing'));
    const line = lineOfLane(endpointId, owned.lane);
    await atomic([
      // First: where it is another script, the next one must not begin in between.
      besideLanes.join(endpointId, [{ eventId, acceptedAt, line }]),
      runningLanes.failHead(owned, eventId, error.message),
    ]);
    this.#letGo();
  }

  /** Its deliveries are neighbours on the queue: this process may still have what it has read for the last one. */
  get #knownEvent(): EventId | undefined {
    if (this.texts === undefined) return undefined;
    return this.#lane?.head.eventId ?? parseDeliveryId(this.job.id ?? '')?.eventId;
  }
}

/** Whether what was read is still what is there, as far as a run needs it. */
export function isRecent(texts: DeliveryTexts | undefined): texts is DeliveryTexts {
  return texts !== undefined && steadyClock() - texts.readAt < CACHED_FOR_MS;
}

// Others of its lane need not wait for what is wrong with it: it fails with a job of its own.
function isOfDelivery(error: Error): boolean {
  return !(error instanceof DelayedError || error instanceof WaitingError);
}

function endingHead({ eventId, request }: TakenHead) {
  return eventId === undefined ? undefined : { eventId, hasRequest: request !== undefined };
}

export function notADelivery(): Error {
  return new UnrecoverableError('Not a delivery job.');
}
