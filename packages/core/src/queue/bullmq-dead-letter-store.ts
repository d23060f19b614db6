import { z } from 'zod';
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
import { DEAD_LETTERS_QUEUE, EVENTS_QUEUE, type QueueShards } from '../domain/queues';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import { type RedisClient, withStorageErrors } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { type ReadTimelineInput, readTimeline } from '../platform/redis-timeline';
import type {
  DeadLetterAct,
  DeadLetterMark,
  DeadLetterPage,
  DeadLetterStore,
} from '../replays/manage-dead-letters';
import {
  accountOfJob,
  describeRefusal,
  REJECTED_FIELDS,
  redrivenJobId,
  rejectedJobSchema,
} from './bullmq-dead-letters';
import { createJobKeys, jobFields } from './bullmq-layout';
import { BullmqOnDemandQueue, type QueueConnection } from './bullmq-on-demand-queue';
import { PerShard } from './shards-in-force';

/** The dead letters of all shards. A job has failed in one; which one nobody needs to know. */
export function createShardedDeadLetterStore(redis: RedisClient, shards: QueueShards, clock: Clock) {
  const perShard = new PerShard(redis, (connection) => createBullmqDeadLetterStore(connection, clock));
  const stores = () => perShard.inEach(shards.all());

  async function list(
    queue: DeadLetterQueue | undefined,
    limit: number,
    before?: DeadLetterMark,
  ): Promise<DeadLetterPage> {
    return merge(await Promise.all(stores().map((store) => store.list(queue, limit, before))), limit);
  }

  async function find(id: DeadLetterId): Promise<DeadLetter | undefined> {
    const found = await Promise.all(stores().map((store) => store.find(id)));
    return found.find((deadLetter) => deadLetter !== undefined);
  }

  return {
    list,
    find,

    async claim(id, act) {
      for (const store of stores()) {
        const answer = await store.claim(id, act);
        if (answer !== 'gone') return answer;
      }
      return 'gone';
    },

    async putBack(id) {
      for (const store of stores()) {
        if (await store.putBack(id)) return true;
      }
      return false;
    },

    async remove(id) {
      for (const store of stores()) {
        if (await store.remove(id)) return true;
      }
      return false;
    },

    async close(): Promise<void> {
      await Promise.all(perShard.made().map((store) => store.close()));
    },
  } satisfies DeadLetterStore & { close(): Promise<void> };
}

/** What is older than the end of a page may have others of that shard before it, which the next pages bring. */
function merge(pages: readonly DeadLetterPage[], limit: number): DeadLetterPage {
  const [end] = pages.flatMap(({ nextCursor }) => nextCursor ?? []).toSorted(newestFirst);
  // While a job is brought to another shard it is in both.
  const distinct = new Map(pages.flatMap(({ deadLetters }) => deadLetters).map((one) => [one.id, one]));
  const newest = [...distinct.values()].sort(newestFirst);
  const surely = end === undefined ? newest : newest.filter((one) => newestFirst(one, end) <= 0);
  const deadLetters = surely.slice(0, limit);
  const last = deadLetters.at(-1);
  if (surely.length > limit && last)
    return { deadLetters, nextCursor: { id: last.id, failedAt: last.failedAt } };
  return { deadLetters, nextCursor: end };
}

// So that whoever goes on with it after a crash puts back the same job, of the same time: the same event. KEYS: job.
// ARGV: the time. Gives the one that was set first.
const BEGIN_REDRIVE = defineScript(`
  if redis.call('EXISTS', KEYS[1]) == 0 then return nil end
  redis.call('HSETNX', KEYS[1], 'redrivenAt', ARGV[1])
  return redis.call('HGET', KEYS[1], 'redrivenAt')`);

const redrivenAtSchema = z.string().transform(Number).nullable();

const FIELDS = [jobFields.name, jobFields.data, jobFields.failedReason, jobFields.attemptsMade] as const;

// Up to here the data of each are read for a list, to learn whose it is. Events can have megabytes: of a larger one that
// is invalid it stands beside its data, and of a job that failed it is not told.
const LISTED_DATA_BYTES = 16_384;
const LISTED_FIELDS = [
  jobFields.name,
  jobFields.failedReason,
  jobFields.attemptsMade,
  ...REJECTED_FIELDS,
] as const;

// Between two who want to do different things with the same failed job: what it is to be stays with the job, for as long
// as it is among the failed. With the time of its failure, so that it means nothing any more when the job fails again.
// KEYS: the failed, job. ARGV: job id, what is to be done, what else could be.
const CLAIM = defineScript(`
  local failedAt = redis.call('ZSCORE', KEYS[1], ARGV[1])
  if not failedAt or redis.call('EXISTS', KEYS[2]) == 0 then return 'gone' end
  if redis.call('HGET', KEYS[2], 'claim') == ARGV[3] .. ' ' .. failedAt then return 'taken' end
  redis.call('HSET', KEYS[2], 'claim', ARGV[2] .. ' ' .. failedAt)
  return 'claimed'`);

const claimAnswerSchema = z.enum(['claimed', 'taken', 'gone']);

/**
 * The dead letters where they are: nothing is moved for becoming one, so none can get lost on its way. Jobs that failed
 * for good are in the sorted set that BullMQ has of each queue's failed jobs, by when they failed; invalid events are on
 * a queue of their own, with a sorted set of ours beside it, by when they came there.
 */
export function createBullmqDeadLetterStore(connection: QueueConnection, clock: Clock) {
  const { redis, prefix } = connection;
  const keysOf = (place: DeadLetterPlace) => createJobKeys(prefix, place);
  const { rejectedJobs } = queueKeysOf(prefix);
  const queues = new Map(
    deadLetterPlaces.map((place) => [place, new BullmqOnDemandQueue(place, connection)]),
  );

  const setOf = (place: DeadLetterPlace) =>
    place === DEAD_LETTERS_QUEUE ? rejectedJobs : keysOf(place).failed;

  function queueOf(place: DeadLetterPlace): BullmqOnDemandQueue {
    const queue = queues.get(place);
    if (!queue) throw new Error(`No dead letters are kept in ${place}.`);
    return queue;
  }

  async function load({ id, failedAt }: DeadLetterMark): Promise<DeadLetter | undefined> {
    const { place, jobId } = parseDeadLetterId(id);
    const [name, data, reason, attempts] = await redis.hmget(keysOf(place).job(jobId), ...FIELDS);
    if (typeof name !== 'string' || typeof data !== 'string') return undefined;
    const found = { id, failedAt, name, jobId };
    if (place === DEAD_LETTERS_QUEUE) return { ...found, ...readRejected(data) };
    const accountId = accountOfJob(parsedOrUndefined(data));
    const attemptsMade = Number(attempts ?? 0);
    return { ...found, queue: place, accountId, reason: reason ?? '', attemptsMade, dataText: data };
  }

  async function loadListed(mark: DeadLetterMark): Promise<ListedDeadLetter | undefined> {
    const { id, failedAt } = mark;
    const { place, jobId } = parseDeadLetterId(id);
    const key = keysOf(place).job(jobId);
    if ((await redis.hstrlen(key, 'data')) <= LISTED_DATA_BYTES) return await load(mark);
    const [name, failedReason, attempts, ...ofRejected] = await redis.hmget(key, ...LISTED_FIELDS);
    if (typeof name !== 'string') return undefined;
    const [account, refusal] = ofRejected;
    const common = { id, name, failedAt, accountId: accountOfJob({ account_id: account }) };
    if (place === DEAD_LETTERS_QUEUE) {
      return { ...common, queue: EVENTS_QUEUE, reason: refusal ?? '', attemptsMade: 1 };
    }
    return { ...common, queue: place, reason: failedReason ?? '', attemptsMade: Number(attempts ?? 0) };
  }

  async function marksOf(place: DeadLetterPlace, limit: number, before?: DeadLetterMark) {
    const marks = await readTimeline(redis, setOf(place), {
      order: 'newest_first',
      limit,
      ...partAfter(before, place),
    });
    return marks.map(({ id, at }): DeadLetterMark => ({ id: deadLetterIdOf(place, id), failedAt: at }));
  }

  const { list, find } = withStorageErrors({
    async list(queue: DeadLetterQueue | undefined, limit: number, before?: DeadLetterMark) {
      const marks = await Promise.all(placesOf(queue).map((place) => marksOf(place, limit + 1, before)));
      const newest = marks.flat().sort(newestFirst);
      const page = newest.slice(0, limit);
      const deadLetters = await Promise.all(page.map(loadListed));
      return {
        // Others may have gone meanwhile.
        deadLetters: deadLetters.filter((deadLetter) => deadLetter !== undefined),
        nextCursor: newest.length > limit ? page.at(-1) : undefined,
      };
    },

    async find(id: DeadLetterId) {
      const { place, jobId } = parseDeadLetterId(id);
      const failedAt = await redis.zscore(setOf(place), jobId);
      return failedAt === null ? undefined : await load({ id, failedAt: Number(failedAt) });
    },
  });

  async function putEventBack(jobId: string): Promise<boolean> {
    const key = keysOf(DEAD_LETTERS_QUEUE).job(jobId);
    const data = await redis.hget(key, jobFields.data);
    if (data === null) return false;
    const rejected = rejectedJobSchema.safeParse(parsedOrUndefined(data));
    if (!rejected.success) throw new AppError('conflict', 'What was kept of the event can not be read.');
    const { job } = rejected.data;
    // Later than the time that it has: also two within a millisecond are to have ids of their own.
    const time = Math.max(clock(), job.timestamp + 1);
    const timestamp = redrivenAtSchema.parse(await BEGIN_REDRIVE(redis, [key], [time]));
    if (timestamp === null) return false;
    const opts = { jobId: redrivenJobId(job, timestamp), timestamp };
    // First there, then not here: what breaks off in between is put back once more, and is the same event.
    await queueOf(EVENTS_QUEUE).add({ name: job.name, data: job.data, opts });
    await removeFrom(DEAD_LETTERS_QUEUE, jobId);
    return true;
  }

  async function removeFrom(place: DeadLetterPlace, jobId: string): Promise<boolean> {
    if ((await redis.zscore(setOf(place), jobId)) === null) return false;
    await queueOf(place).remove(jobId);
    await redis.zrem(setOf(place), jobId);
    return true;
  }

  const { claim, putBack, remove } = withStorageErrors({
    // An invalid event needs none: whoever drops one that is being put back takes nothing from the events queue.
    async claim(id: DeadLetterId, act: DeadLetterAct) {
      const { place, jobId } = parseDeadLetterId(id);
      if (place === DEAD_LETTERS_QUEUE) return 'claimed';
      const jobKey = keysOf(place).job(jobId);
      const other: DeadLetterAct = act === 'drop' ? 'redrive' : 'drop';
      return claimAnswerSchema.parse(await CLAIM(redis, [setOf(place), jobKey], [jobId, act, other]));
    },

    putBack(id: DeadLetterId) {
      const { place, jobId } = parseDeadLetterId(id);
      return place === DEAD_LETTERS_QUEUE ? putEventBack(jobId) : queueOf(place).retryFailed(jobId);
    },

    remove(id: DeadLetterId) {
      const { place, jobId } = parseDeadLetterId(id);
      return removeFrom(place, jobId);
    },
  });

  return {
    list,
    find,
    claim,
    putBack,
    remove,
    async close(): Promise<void> {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
    },
  };
}

function placesOf(queue: DeadLetterQueue | undefined): readonly DeadLetterPlace[] {
  if (queue === undefined) return deadLetterPlaces;
  return queue === EVENTS_QUEUE ? [EVENTS_QUEUE, DEAD_LETTERS_QUEUE] : [queue];
}

// Those of one millisecond stand by their ids: place by place, as these begin with it.
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
    const reason = 'What was kept of it can not be read.';
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
