import type { Queue } from 'bullmq';
import type { AccountId } from '../domain/account';
import { queueKeysOf } from '../domain/keys';
import {
  DEAD_LETTERS_QUEUE,
  DELIVERIES_QUEUE,
  EVENTS_QUEUE,
  type QueueShards,
  REPLAYS_QUEUE,
} from '../domain/queues';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import { type Mark, readTimeline } from '../platform/redis-timeline';
import { createJobKeys, type JobKeys, jobFields } from './bullmq-layout';
import { openQueue } from './bullmq-on-demand-queue';
import { accountOfJob, accountOfRejectedJob } from './bullmq-rejected-events';
import { PerShard } from './per-shard';

/** The position of the search through the queues for an account's jobs. */
export interface JobsCursor {
  readonly queue: number;
  /** The last job of the part before, since earlier jobs come and go. In a list its `at` has no meaning. */
  readonly after?: Mark | undefined;
  /** The number of the shard, and of all shards; absent: the only one. */
  readonly shard?: number | undefined;
  readonly of?: number | undefined;
}

/** Part of a queue, as BullMQ 6 has it, or the list beside it. */
interface Searched {
  readonly queue: Queue;
  readonly keys: JobKeys;
  readonly key: string;
  readonly kind: 'list' | 'sorted set';
}

const LOOKED_AT = 100;

/**
 * Finds an account's jobs where they may stay for long: events that wait, that a producer has delayed or that
 * are invalid, jobs that failed for good, and dead letters. These queues have no list by account, so they are
 * scanned. Events are searched first where they come from, then where they go to, so that none gets past the
 * search.
 *
 * The shards are searched one after the other, the first shard last, as the other shards' invalid events move
 * there. When the shards change meanwhile, the search starts again.
 */
export class AccountJobs {
  readonly #searched: PerShard<readonly Searched[]>;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<QueueShards, 'all'>,
  ) {
    this.#searched = new PerShard((prefix) => openSearched(redis, prefix));
  }

  /** Scan some jobs and remove the account's. Gives the cursor to go on with, `undefined` at the end. */
  async removeSome(accountId: AccountId, cursor: JobsCursor): Promise<JobsCursor | undefined> {
    const shards = this.#searched.inEach(this.shards.all().toReversed());
    const { shard = 0, of = 1, ...within } = cursor;
    if (of !== shards.length) return inShard({ queue: 0 }, 0, shards.length);
    const next = await this.#removeIn(shards[shard] ?? [], accountId, within);
    if (next) return inShard(next, shard, of);
    return shard + 1 < of ? inShard({ queue: 0 }, shard + 1, of) : undefined;
  }

  async #removeIn(
    shard: readonly Searched[],
    accountId: AccountId,
    { queue, after }: JobsCursor,
  ): Promise<JobsCursor | undefined> {
    const searched = shard[queue];
    if (!searched) return undefined;
    const marks = await this.#read(searched, after);
    const isRemoved = await Promise.all(marks.map(({ id }) => this.#removeIfOf(accountId, searched, id)));
    if (marks.length < LOOKED_AT) return { queue: queue + 1 };
    // In a list, only a job that is still there can be found again.
    const left = searched.kind === 'list' ? marks.filter((_mark, index) => !isRemoved[index]) : marks;
    return { queue, after: left.at(-1) ?? after };
  }

  async #read({ key, kind }: Searched, after: Mark | undefined): Promise<readonly Mark[]> {
    if (kind === 'sorted set')
      return await readTimeline(this.redis, key, { order: 'oldest_first', limit: LOOKED_AT, after });
    // New jobs are added at this end and taken from the other one, so that nothing moves up meanwhile. If the
    // last job is gone, the search starts again.
    const at = after === undefined ? null : await this.redis.lpos(key, after.id);
    const first = at === null ? 0 : at + 1;
    const ids = await this.redis.lrange(key, first, first + LOOKED_AT - 1);
    return ids.map((id) => ({ id, at: 0 }));
  }

  async #removeIfOf(accountId: AccountId, { queue, keys, key }: Searched, id: string): Promise<boolean> {
    const isRejected = queue.name === DEAD_LETTERS_QUEUE;
    const { data: dataField, schedulerKey } = jobFields;
    const [data, scheduler] = await this.redis.hmget(keys.job(id), dataField, schedulerKey);
    const readAccount = isRejected ? accountOfRejectedJob : accountOfJob;
    if (readAccount(parsedOrUndefined(data ?? '')) !== accountId) return false;
    // A job of a producer's scheduler belongs to the scheduler. Its events are dropped when they are taken.
    if (scheduler !== null || (await queue.remove(id)) !== 1) return false;
    if (isRejected) await this.redis.zrem(key, id);
    return true;
  }
}

function inShard(cursor: JobsCursor, shard: number, of: number): JobsCursor {
  return of === 1 ? cursor : { ...cursor, shard, of };
}

/** In the order of the search. */
function openSearched(redis: RedisClient, prefix: string): readonly Searched[] {
  const open = (name: string) => ({
    queue: openQueue(name, { redis, prefix }),
    keys: createJobKeys(prefix, name),
  });
  const [events, rejected] = [open(EVENTS_QUEUE), open(DEAD_LETTERS_QUEUE)];
  const [deliveries, replays] = [open(DELIVERIES_QUEUE), open(REPLAYS_QUEUE)];
  return [
    { ...events, key: events.keys.delayed, kind: 'sorted set' },
    { ...events, key: events.keys.prioritized, kind: 'sorted set' },
    { ...events, key: events.keys.wait, kind: 'list' },
    { ...events, key: events.keys.paused, kind: 'list' },
    { ...events, key: events.keys.failed, kind: 'sorted set' },
    { ...rejected, key: queueKeysOf(prefix).rejectedJobs, kind: 'sorted set' },
    { ...deliveries, key: deliveries.keys.failed, kind: 'sorted set' },
    { ...replays, key: replays.keys.failed, kind: 'sorted set' },
  ];
}
