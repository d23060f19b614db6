import type { JobJson } from 'bullmq';
import { Cluster } from 'ioredis';
import {
  type DeliveryTexts,
  decodePlace,
  type JobEnd,
  type LanePlace,
  type LaneRun,
} from '../domain/delivery';
import type { EventId } from '../domain/event';
import { DELIVERIES_QUEUE, EVENTS_QUEUE, type QueueShard } from '../domain/queues';
import { type Clock, steadyClock, systemClock } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
import { createJobKeys, JOB_OPTIONS } from './bullmq-layout';
import { type BatchMember, membersOf } from './bullmq-running-batches';
import {
  delayJobs,
  endJobs,
  type HeadRecord,
  type JobRecord,
  keepJob,
  takeJob,
} from './bullmq-running-jobs.script';

/** A job that a worker has locked. */
export interface LockedJob {
  readonly jobId: string;
  /** What it is locked with. */
  readonly token: string;
}

/** BullMQ's form of a stored job. One that runs has no value to return yet. */
export type StoredJob = Omit<JobJson, 'returnvalue'>;

/** What a worker gets when it asks for its next job. */
export interface Taken {
  /** Absent: nothing waits. */
  readonly job?: TakenJob;
  /** Whether more jobs wait. */
  readonly areMoreWaiting: boolean;
  /** When the first delayed job is due. Milliseconds since the Unix epoch; 0 if there is none. */
  readonly nextDueAt: number;
}

/** The delivery whose turn it is in a lane. */
export interface TakenHead extends Pick<LaneRun, 'turn' | 'place' | 'isBesideJobs'> {
  /** Absent: there is none. */
  readonly eventId: EventId | undefined;
  /** Whether its turn had begun before the job was taken. */
  readonly hadBegun: boolean;
  /** Whether an entry of the lane has waited behind another one. */
  readonly hasWaited: boolean;
  /** Whether the lane's deliveries go in batches, and need not wait for each other. */
  readonly isInBatches: boolean;
  /** As it is stored. */
  readonly request: string | undefined;
  /** The last one that was sent in place of all before it. */
  readonly sent: LanePlace | undefined;
  /** Those that went together with it, as they are stored. Absent: it was not in a request yet, or alone. */
  readonly members: string | undefined;
}

export interface TakenJob extends LockedJob {
  readonly json: StoredJob;
  /** Of a lane's job. */
  readonly head: TakenHead | undefined;
  /** Of a batch's job. */
  readonly batch: readonly BatchMember[] | undefined;
  /** As its field has them. Absent: it was not held. */
  readonly holds: string | undefined;
  /** Absent in a Cluster, where they are on other nodes. */
  readonly texts: DeliveryTexts | undefined;
}

/**
 * The jobs of deliveries that a worker runs: how it takes them, and lets go of them. Each is a step, so that
 * a record, the end of its job and the start of the next one can be one script.
 */
export class RunningJobs {
  readonly #base: string;
  readonly #jobsOfEvents: string;
  readonly #readsTexts: boolean;

  /** @param hasAllEvents whether all events that are still to be fanned out are in this shard. */
  constructor(
    redis: RedisClient,
    { prefix }: QueueShard,
    private readonly lockDurationMs: number,
    private readonly clock: Clock = systemClock,
    private readonly hasAllEvents: () => boolean = () => true,
  ) {
    this.#base = createJobKeys(prefix, DELIVERIES_QUEUE).base;
    this.#jobsOfEvents = createJobKeys(prefix, EVENTS_QUEUE).base;
    this.#readsTexts = !(redis instanceof Cluster);
  }

  /**
   * Take the job that is next, and lock it.
   *
   * @param known an event that this process has read a moment ago.
   */
  take(token: string, known?: EventId): Step<Taken> {
    const readAt = steadyClock();
    const now = this.clock();
    const step = takeJob({
      base: this.#base,
      now,
      token,
      lockMs: this.lockDurationMs,
      known,
      readsTexts: this.#readsTexts,
      jobsOfEvents: this.#readsTexts && this.hasAllEvents() ? this.#jobsOfEvents : undefined,
    });
    return mapReply(step, ({ job, areMoreWaiting, nextDueAt }) =>
      job === undefined
        ? { areMoreWaiting, nextDueAt }
        : { job: takenJob(job, token, now, readAt, this.#readsTexts), areMoreWaiting, nextDueAt },
    );
  }

  /** Give whether a job is still this worker's; if so, its lock holds for its full time again. */
  keep({ jobId, token }: LockedJob): Step<boolean> {
    return keepJob({ base: this.#base, job: jobId, token, lockMs: this.lockDurationMs });
  }

  /**
   * Let go of jobs. What comes after it runs only if one of them was still this worker's. Those that are not stay as they
   * are.
   *
   * @param turnOf the head of a lane, which gives up its turn.
   */
  end(jobs: readonly LockedJob[], end: JobEnd, turnOf?: EventId): Guard<boolean> {
    const ids = jobs.map(({ jobId }) => jobId);
    const tokens = jobs.map(({ token }) => token);
    const base = this.#base;
    if (end.kind === 'done') return endJobs({ base, ids, tokens });
    return delayJobs({
      base,
      dueAt: this.clock() + end.delayMs,
      delay: end.delayMs,
      failure: end.failure,
      turnOf,
      ids,
      tokens,
    });
  }
}

function takenJob(
  record: JobRecord,
  token: string,
  processedOn: number,
  readAt: number,
  readsTexts: boolean,
): TakenJob {
  const { id: jobId, former, texts, head, batch } = record;
  return {
    jobId,
    token,
    json: storedJob(record, processedOn),
    holds: former?.holds,
    head: head && takenHead(head, former?.members),
    batch: batch && membersOf(batch, readsTexts ? readAt : undefined),
    texts: texts && {
      log: texts.log ?? null,
      breaker: texts.breaker ?? null,
      endpoint: texts.endpoint ?? null,
      event: texts.isEventKnown ? undefined : (texts.event ?? null),
      readAt,
    },
  };
}

// Not spread: each delivery of a lane has one.
function takenHead(head: HeadRecord, members: string | undefined): TakenHead {
  return {
    eventId: head.event,
    place: head.place,
    turn: head.turn,
    isBesideJobs: head.isBesideJobs,
    hadBegun: head.hadBegun,
    hasWaited: head.hasWaited,
    isInBatches: head.isInBatches,
    request: head.request,
    sent: head.sent === undefined ? undefined : decodePlace(head.sent),
    members,
  };
}

// As BullMQ reads a job, as far as the jobs of deliveries use what it has.
function storedJob(record: JobRecord, processedOn: number): StoredJob {
  const {
    id,
    attemptsStarted,
    name = '',
    data = '{}',
    opts = JOB_OPTIONS,
    timestamp,
    delay,
    priority,
    former,
  } = record;
  const stored: StoredJob = {
    id,
    name,
    data,
    opts: parsedOrUndefined(opts) ?? {},
    progress: 0,
    timestamp: Number(timestamp ?? 0),
    delay: Number(delay ?? 0),
    priority: Number(priority ?? 0),
    processedOn,
    attemptsStarted,
    attemptsMade: Number(former?.attemptsMade ?? 0),
    stalledCounter: Number(former?.stalledCount ?? 0),
    failedReason: former?.failedReason ?? '',
  };
  if (former?.deferredFailure !== undefined) stored.deferredFailure = former.deferredFailure;
  if (former?.stacktrace !== undefined) stored.stacktrace = former.stacktrace;
  return stored;
}
