import {
  type DeadLetter,
  type DeadLetterId,
  type DeadLetterPlace,
  type DeadLetterQueue,
  deadLetterIdOf,
  deadLetterPlaces,
  type ListedDeadLetter,
  parseDeadLetterId,
} from '../domain/dead-letter';
import { queueKeysOf } from '../domain/keys';
import {
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  ERASURES_QUEUE,
  EVENTS_QUEUE,
  type QueueShards,
  REPLAYS_QUEUE,
} from '../domain/queues';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import { type ReadTimelineInput, readTimeline } from '../platform/redis-timeline';
import { beginRetry, claimDeadLetter } from './bullmq-dead-letter-store.script';
import { createJobKeys, jobFields } from './bullmq-layout';
import { OnDemandQueue } from './bullmq-on-demand-queue';
import {
  accountOfJob,
  describeRefusal,
  REJECTED_FIELDS,
  rejectedJobSchema,
  retriedJobId,
} from './bullmq-rejected-events';
import { PerShard } from './per-shard';

/** The cursor at the end of a page. */
export interface DeadLetterMark {
  readonly failedAt: number;
  readonly id: DeadLetterId;
}

export interface DeadLetterPage {
  /** Newest first. */
  readonly deadLetters: readonly ListedDeadLetter[];
  readonly nextCursor: DeadLetterMark | undefined;
}

/** The actions on a dead letter. */
export type DeadLetterAct = 'retry' | 'drop';

// As claims are stored: a process of an earlier version, which may run beside this one, knows `redrive`.
const CLAIM_WORDS = { retry: 'redrive', drop: 'drop' } as const;

/** Dead letters of one kind in one shard. */
interface Part {
  readonly place: DeadLetterPlace;
  readonly queue: OnDemandQueue;
  /** Their job ids, by when they came there. */
  readonly set: string;
  readonly jobKey: (jobId: string) => string;
}

type Shard = Readonly<Record<DeadLetterPlace, Part>>;

/**
 * The dead letters in their own places: nothing is moved to become one, so none can get lost on the way. Jobs
 * that failed for good are in BullMQ's sorted set of each queue's failed jobs, by the time of failure.
 * Invalid events are on a queue of their own, with a sorted set beside it, by the time of their arrival. A
 * job has failed in one shard; callers need not know which.
 */
export class DeadLetterStore {
  readonly #shards: PerShard<Shard>;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<QueueShards, 'all'>,
    private readonly clock: Clock,
  ) {
    this.#shards = new PerShard((prefix) => openShard(redis, prefix));
  }

  /** @param queue only dead letters of this queue. */
  async list(
    queue: DeadLetterQueue | undefined,
    limit: number,
    before?: DeadLetterMark,
  ): Promise<DeadLetterPage> {
    const parts = this.#open().flatMap((shard) => placesOf(queue).map((place) => shard[place]));
    const marks = await Promise.all(parts.map((part) => this.#marksOf(part, limit + 1, before)));
    const newest = distinct(marks.flat().sort(newestFirst));
    const page = newest.slice(0, limit);
    const deadLetters = await Promise.all(page.map((mark) => this.#loadListed(mark)));
    const last = page.at(-1);
    return {
      // Others may have removed some meanwhile.
      deadLetters: deadLetters.filter((deadLetter) => deadLetter !== undefined),
      nextCursor: newest.length > limit && last ? { id: last.id, failedAt: last.failedAt } : undefined,
    };
  }

  async find(id: DeadLetterId): Promise<DeadLetter | undefined> {
    const found = await Promise.all(this.#partsOf(id).map((part) => this.#findIn(part, id)));
    return found.find((deadLetter) => deadLetter !== undefined);
  }

  /**
   * Claim a dead letter before acting on it. The first caller keeps callers with the other action away, even
   * when it breaks off. The same action can be claimed again.
   */
  async claim(id: DeadLetterId, act: DeadLetterAct): Promise<'claimed' | 'taken' | 'gone'> {
    const { jobId } = parseDeadLetterId(id);
    const words = { act: CLAIM_WORDS[act], other: CLAIM_WORDS[act === 'drop' ? 'retry' : 'drop'] };
    for (const { set: failed, jobKey } of this.#partsOf(id)) {
      const claim = claimDeadLetter({ failed, job: jobKey(jobId), id: jobId, ...words });
      const answer = await claim(this.redis);
      if (answer !== 'gone') return answer;
    }
    return 'gone';
  }

  /** Put it back onto its queue, to run as if it never had. Gives whether it existed. */
  async putBack(id: DeadLetterId): Promise<boolean> {
    const { place, jobId } = parseDeadLetterId(id);
    for (const shard of this.#open()) {
      const isBack = await (place === DEAD_LETTERS_QUEUE
        ? this.#putEventBack(shard, jobId)
        : shard[place].queue.retryFailed(jobId));
      if (isBack) return true;
    }
    return false;
  }

  /** Give whether it existed. */
  async remove(id: DeadLetterId): Promise<boolean> {
    for (const part of this.#partsOf(id)) {
      if (await this.#removeFrom(part, parseDeadLetterId(id).jobId)) return true;
    }
    return false;
  }

  #open(): readonly Shard[] {
    return this.#shards.inEach(this.shards.all());
  }

  #partsOf(id: DeadLetterId): readonly Part[] {
    const { place } = parseDeadLetterId(id);
    return this.#open().map((shard) => shard[place]);
  }

  async #marksOf(part: Part, limit: number, before?: DeadLetterMark): Promise<readonly Found[]> {
    const { place, set } = part;
    const order = 'newest_first';
    const marks = await readTimeline(this.redis, set, { order, limit, ...partAfter(before, place) });
    return marks.map(({ id, at }) => ({ id: deadLetterIdOf(place, id), failedAt: at, part }));
  }

  async #findIn(part: Part, id: DeadLetterId): Promise<DeadLetter | undefined> {
    const failedAt = await this.redis.zscore(part.set, parseDeadLetterId(id).jobId);
    return failedAt === null ? undefined : await this.#load({ id, failedAt: Number(failedAt), part });
  }

  async #load({ id, failedAt, part: { place, jobKey } }: Found): Promise<DeadLetter | undefined> {
    const { jobId } = parseDeadLetterId(id);
    const [name, data, reason, attempts] = await this.redis.hmget(jobKey(jobId), ...FIELDS);
    if (typeof name !== 'string' || typeof data !== 'string') return undefined;
    const found = { id, failedAt, name, jobId };
    if (place === DEAD_LETTERS_QUEUE) return { ...found, ...readRejected(data) };
    const accountId = accountOfJob(parsedOrUndefined(data));
    const attemptsMade = Number(attempts ?? 0);
    return { ...found, queue: place, accountId, reason: reason ?? '', attemptsMade, dataText: data };
  }

  async #loadListed(found: Found): Promise<ListedDeadLetter | undefined> {
    const { id, failedAt, part } = found;
    const { place } = part;
    const key = part.jobKey(parseDeadLetterId(id).jobId);
    if ((await this.redis.hstrlen(key, jobFields.data)) <= LISTED_DATA_BYTES) return await this.#load(found);
    const [name, failedReason, attempts, ...ofRejected] = await this.redis.hmget(key, ...LISTED_FIELDS);
    if (typeof name !== 'string') return undefined;
    const [account, refusal] = ofRejected;
    const common = { id, name, failedAt, accountId: accountOfJob({ account_id: account }) };
    if (place === DEAD_LETTERS_QUEUE) {
      return { ...common, queue: EVENTS_QUEUE, reason: refusal ?? '', attemptsMade: 1 };
    }
    return { ...common, queue: place, reason: failedReason ?? '', attemptsMade: Number(attempts ?? 0) };
  }

  async #putEventBack(shard: Shard, jobId: string): Promise<boolean> {
    const rejectedEvents = shard[DEAD_LETTERS_QUEUE];
    const key = rejectedEvents.jobKey(jobId);
    const data = await this.redis.hget(key, jobFields.data);
    if (data === null) return false;
    const rejected = rejectedJobSchema.safeParse(parsedOrUndefined(data));
    if (!rejected.success)
      throw new AppError(
        'conflict',
        "The stored job of this dead letter can't be read, so it can't be retried. Drop it, and publish the event again.",
      );
    const { job } = rejected.data;
    // Later than its present time: two retries within a millisecond must get different ids.
    const at = Math.max(this.clock(), job.timestamp + 1);
    const timestamp = await beginRetry({ job: key, at })(this.redis);
    if (timestamp === undefined) return false;
    const opts = { jobId: retriedJobId(job, timestamp), timestamp };
    // Add it there first, then remove it here: if this breaks off in between, it is put back once more, and
    // is the same event.
    await shard[EVENTS_QUEUE].queue.add({ name: job.name, data: job.data, opts });
    await this.#removeFrom(rejectedEvents, jobId);
    return true;
  }

  async #removeFrom({ set, queue }: Part, jobId: string): Promise<boolean> {
    if ((await this.redis.zscore(set, jobId)) === null) return false;
    await queue.remove(jobId);
    await this.redis.zrem(set, jobId);
    return true;
  }
}

function openShard(redis: RedisClient, prefix: string): Shard {
  const open = (place: DeadLetterPlace): Part => {
    const { failed, job: jobKey } = createJobKeys(prefix, place);
    const set = place === DEAD_LETTERS_QUEUE ? queueKeysOf(prefix).rejectedJobs : failed;
    return { place, queue: new OnDemandQueue(place, { redis, prefix }), set, jobKey };
  };
  return {
    [EVENTS_QUEUE]: open(EVENTS_QUEUE),
    [DELIVERIES_QUEUE]: open(DELIVERIES_QUEUE),
    [REPLAYS_QUEUE]: open(REPLAYS_QUEUE),
    [ERASURES_QUEUE]: open(ERASURES_QUEUE),
    [DEAD_LETTERS_QUEUE]: open(DEAD_LETTERS_QUEUE),
  };
}

interface Found extends DeadLetterMark {
  readonly part: Part;
}

/** While a job moves to another shard it is in both. */
function distinct(newest: readonly Found[]): readonly Found[] {
  const ids = new Set<DeadLetterId>();
  return newest.filter(({ id }) => !ids.has(id) && ids.add(id));
}

const FIELDS = [jobFields.name, jobFields.data, jobFields.failedReason, jobFields.attemptsMade] as const;

// Up to this size a list reads the data of each job to learn its account. Events can have megabytes. The
// account of a larger invalid event is stored beside its data; that of a larger failed job is not shown.
const LISTED_DATA_BYTES = 16_384;
const LISTED_FIELDS = [
  jobFields.name,
  jobFields.failedReason,
  jobFields.attemptsMade,
  ...REJECTED_FIELDS,
] as const;

function placesOf(queue: DeadLetterQueue | undefined): readonly DeadLetterPlace[] {
  if (queue === undefined) return deadLetterPlaces;
  return queue === EVENTS_QUEUE ? [EVENTS_QUEUE, DEAD_LETTERS_QUEUE] : [queue];
}

// Jobs of the same millisecond are ordered by id. The ids begin with their part, so they are ordered part by
// part.
function partAfter(
  before: DeadLetterMark | undefined,
  place: DeadLetterPlace,
): Pick<ReadTimelineInput, 'after' | 'range'> {
  if (before === undefined) return {};
  const { place: reached, jobId } = parseDeadLetterId(before.id);
  const at = before.failedAt;
  if (place === reached) return { after: { id: jobId, at } };
  return { range: { until: `${place}.` < `${reached}.` ? at + 1 : at } };
}

/** For sorting. */
function newestFirst(one: DeadLetterMark, other: DeadLetterMark): number {
  if (one.failedAt !== other.failedAt) return other.failedAt - one.failedAt;
  if (one.id === other.id) return 0;
  return one.id < other.id ? 1 : -1;
}

function readRejected(text: string) {
  const attemptsMade = 1;
  const rejected = rejectedJobSchema.safeParse(parsedOrUndefined(text));
  if (!rejected.success) {
    const reason = 'The stored job cannot be read.';
    return { queue: EVENTS_QUEUE, accountId: undefined, reason, attemptsMade, dataText: text } as const;
  }
  const { job, reason, errors } = rejected.data;
  return {
    queue: EVENTS_QUEUE,
    jobId: job.id,
    name: job.name,
    accountId: accountOfJob(job.data),
    reason: describeRefusal(reason, errors),
    attemptsMade,
    dataText: JSON.stringify(job.data) ?? 'null',
  } as const;
}
