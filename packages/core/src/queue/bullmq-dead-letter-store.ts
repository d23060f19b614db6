import { QueueKeys } from 'bullmq';
import { z } from 'zod';
import {
  type DeadLetter,
  type DeadLetterId,
  type DeadLetterPlace,
  type DeadLetterQueue,
  deadLetterIdOf,
  deadLetterPlaces,
  parseDeadLetterId,
} from '../dead-letters/dead-letter';
import type { DeadLetterMark } from '../dead-letters/manage-dead-letters';
import { keys } from '../redis/keys';
import { withStorageErrors } from '../redis/redis-errors';
import type { Clock } from '../runtime/clock';
import { BullmqOnDemandQueue } from './bullmq-on-demand-queue';
import type { QueueConnection } from './queue-connection';
import { DEAD_LETTERS_QUEUE, EVENTS_QUEUE } from './queue-names';
import { describeRefusal, redrivenJobId, rejectedJobSchema } from './rejected-job';

// So that whoever goes on with it after a crash puts back the same job, of the same time: the same event. KEYS: job.
// ARGV: the time. Gives the one that was set first.
const BEGIN_REDRIVE = `
  if redis.call('EXISTS', KEYS[1]) == 0 then return nil end
  redis.call('HSETNX', KEYS[1], 'redrivenAt', ARGV[1])
  return redis.call('HGET', KEYS[1], 'redrivenAt')`;

const redrivenAtSchema = z.string().transform(Number).nullable();

// What is read of a job's hash, as BullMQ 6 writes it.
const FIELDS = ['name', 'data', 'failedReason', 'atm'] as const;

/**
 * The dead letters where they are: nothing is moved for becoming one, so none can get lost on its way. Jobs that failed
 * for good are in the sorted set that BullMQ has of each queue's failed jobs, by when they failed; invalid events are on
 * a queue of their own, with a sorted set of ours beside it, by when they came there.
 */
export function createBullmqDeadLetterStore(connection: QueueConnection, clock: Clock) {
  const { redis, prefix } = connection;
  const queueKeys = new QueueKeys(prefix);
  const queues = new Map(
    deadLetterPlaces.map((place) => [place, new BullmqOnDemandQueue(place, connection)]),
  );

  const setOf = (place: DeadLetterPlace) =>
    place === DEAD_LETTERS_QUEUE ? keys.rejectedJobs : queueKeys.toKey(place, 'failed');

  function queueOf(place: DeadLetterPlace): BullmqOnDemandQueue {
    const queue = queues.get(place);
    if (!queue) throw new Error(`No dead letters are kept in ${place}.`);
    return queue;
  }

  async function marksOf(
    place: DeadLetterPlace,
    limit: number,
    before: DeadLetterMark | undefined,
  ): Promise<DeadLetterMark[]> {
    const marks: DeadLetterMark[] = [];
    // Those of one millisecond are ordered by id, so a page can end within a millisecond.
    for (let offset = 0; marks.length < limit; offset += limit) {
      const range = [before?.failedAt ?? '+inf', '-inf', 'WITHSCORES', 'LIMIT', offset, limit] as const;
      const found = toMarks(place, await redis.zrevrangebyscore(setOf(place), ...range));
      marks.push(...found.filter((mark) => before === undefined || newestFirst(before, mark) < 0));
      if (found.length < limit) break;
    }
    return marks;
  }

  async function load({ id, failedAt }: DeadLetterMark): Promise<DeadLetter | undefined> {
    const { place, jobId } = parseDeadLetterId(id);
    const [name, data, reason, attempts] = await redis.hmget(queueKeys.toKey(place, jobId), ...FIELDS);
    if (typeof name !== 'string' || typeof data !== 'string') return undefined;
    if (place === DEAD_LETTERS_QUEUE) return { ...readRejected(data), id, failedAt };
    const attemptsMade = Number(attempts ?? 0);
    return { id, queue: place, jobId, name, reason: reason ?? '', failedAt, attemptsMade, dataText: data };
  }

  const { list, find } = withStorageErrors({
    async list(queue: DeadLetterQueue | undefined, limit: number, before?: DeadLetterMark) {
      const marks = await Promise.all(placesOf(queue).map((place) => marksOf(place, limit + 1, before)));
      const newest = marks.flat().sort(newestFirst);
      const page = newest.slice(0, limit);
      const deadLetters = await Promise.all(page.map(load));
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
    const key = queueKeys.toKey(DEAD_LETTERS_QUEUE, jobId);
    const data = await redis.hget(key, 'data');
    if (data === null) return false;
    const { job } = rejectedJobSchema.parse(JSON.parse(data));
    // Later than the time that it has: also two within a millisecond are to have ids of their own.
    const time = Math.max(clock(), job.timestamp + 1);
    const timestamp = redrivenAtSchema.parse(await redis.eval(BEGIN_REDRIVE, 1, key, String(time)));
    if (timestamp === null) return false;
    const opts = { jobId: redrivenJobId(job, timestamp), timestamp };
    // First there, then not here: what breaks off in between is put back once more, and is the same event.
    await queueOf(EVENTS_QUEUE).add({ name: job.name, data: job.data, opts });
    await removeFrom(DEAD_LETTERS_QUEUE, jobId);
    return true;
  }

  // BullMQ leaves the count of its stalls, and would fail it for the next one.
  async function putFailedBack(place: DeadLetterPlace, jobId: string): Promise<boolean> {
    await redis.hdel(queueKeys.toKey(place, jobId), 'stc');
    return await queueOf(place).retryFailed(jobId);
  }

  async function removeFrom(place: DeadLetterPlace, jobId: string): Promise<boolean> {
    if ((await redis.zscore(setOf(place), jobId)) === null) return false;
    await queueOf(place).remove(jobId);
    await redis.zrem(setOf(place), jobId);
    return true;
  }

  const { putBack, remove } = withStorageErrors({
    putBack(id: DeadLetterId) {
      const { place, jobId } = parseDeadLetterId(id);
      return place === DEAD_LETTERS_QUEUE ? putEventBack(jobId) : putFailedBack(place, jobId);
    },

    remove(id: DeadLetterId) {
      const { place, jobId } = parseDeadLetterId(id);
      return removeFrom(place, jobId);
    },
  });

  return {
    list,
    find,
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

function toMarks(place: DeadLetterPlace, flat: readonly string[]): DeadLetterMark[] {
  const marks: DeadLetterMark[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    marks.push({ id: deadLetterIdOf(place, flat[i] ?? ''), failedAt: Number(flat[i + 1]) });
  }
  return marks;
}

function newestFirst(one: DeadLetterMark, other: DeadLetterMark): number {
  if (one.failedAt !== other.failedAt) return other.failedAt - one.failedAt;
  if (one.id === other.id) return 0;
  return one.id < other.id ? 1 : -1;
}

function readRejected(text: string): Omit<DeadLetter, 'id' | 'failedAt'> {
  const { job, reason, errors } = rejectedJobSchema.parse(JSON.parse(text));
  return {
    queue: EVENTS_QUEUE,
    jobId: job.id,
    name: job.name,
    reason: describeRefusal(reason, errors),
    attemptsMade: 1,
    dataText: JSON.stringify(job.data) ?? 'null',
  };
}
