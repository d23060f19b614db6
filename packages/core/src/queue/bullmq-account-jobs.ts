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
import type { AccountJobs, QueuePlace } from '../operations/erase-account';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import { type Mark, readTimeline } from '../platform/redis-timeline';
import { accountOfJob, accountOfRejectedJob } from './bullmq-dead-letters';
import { createJobKeys, type JobKeys, jobFields } from './bullmq-layout';
import { openQueue, type QueueConnection } from './bullmq-on-demand-queue';
import { PerShard } from './shards-in-force';

/**
 * Finds an account's jobs in all shards, one after the other: the first at the end, as what is no valid event gets there from
 * the others. When there are other shards meanwhile, it begins anew.
 */
export class ShardedAccountJobs implements AccountJobs {
  readonly #jobs: PerShard<BullmqAccountJobs>;

  constructor(
    redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#jobs = new PerShard(redis, (connection) => new BullmqAccountJobs(connection));
  }

  async removeSome(accountId: AccountId, place: QueuePlace): Promise<QueuePlace | undefined> {
    const searched = this.#jobs.inEach(this.shards.all().toReversed());
    const { shard = 0, of = 1, ...within } = place;
    if (of !== searched.length) return inShard({ queue: 0 }, 0, searched.length);
    const next = await searched[shard]?.removeSome(accountId, within);
    if (next) return inShard(next, shard, of);
    return shard + 1 < of ? inShard({ queue: 0 }, shard + 1, of) : undefined;
  }

  async close(): Promise<void> {
    await Promise.all(this.#jobs.made().map((jobs) => jobs.close()));
  }
}

function inShard(place: QueuePlace, shard: number, of: number): QueuePlace {
  return of === 1 ? place : { ...place, shard, of };
}

/** Part of a queue, as BullMQ 6 has it, or the list that we have beside it. */
interface Searched {
  readonly queue: string;
  readonly key: string;
  readonly kind: 'list' | 'sorted set';
}

const LOOKED_AT = 100;

/**
 * Finds an account's jobs where they may stay for long: events that wait, that a producer has put off or that came to
 * nothing, whatever failed for good, and dead letters. These queues have no list by account, so they are gone through.
 * Of the events, first where they come from, then where they go to, so that none gets past the search.
 */
export class BullmqAccountJobs implements AccountJobs {
  readonly #queues = new Map<string, Queue>();
  readonly #searched: readonly Searched[];

  constructor(private readonly connection: QueueConnection) {
    const setOf = (queue: string, state: 'delayed' | 'prioritized' | 'failed') =>
      ({ queue, key: this.#keysOf(queue)[state], kind: 'sorted set' }) as const;
    const listOf = (queue: string, state: 'wait' | 'paused') =>
      ({ queue, key: this.#keysOf(queue)[state], kind: 'list' }) as const;
    this.#searched = [
      setOf(EVENTS_QUEUE, 'delayed'),
      setOf(EVENTS_QUEUE, 'prioritized'),
      listOf(EVENTS_QUEUE, 'wait'),
      listOf(EVENTS_QUEUE, 'paused'),
      setOf(EVENTS_QUEUE, 'failed'),
      { queue: DEAD_LETTERS_QUEUE, key: queueKeysOf(connection.prefix).rejectedJobs, kind: 'sorted set' },
      setOf(DELIVERIES_QUEUE, 'failed'),
      setOf(REPLAYS_QUEUE, 'failed'),
    ];
    for (const { queue } of this.#searched) {
      if (!this.#queues.has(queue)) this.#queues.set(queue, openQueue(queue, connection));
    }
  }

  async removeSome(accountId: AccountId, { queue, after }: QueuePlace): Promise<QueuePlace | undefined> {
    const searched = this.#searched[queue];
    if (!searched) return undefined;
    const marks = await this.#read(searched, after);
    const isRemoved = await Promise.all(marks.map(({ id }) => this.#removeIfOf(accountId, searched, id)));
    if (marks.length < LOOKED_AT) return { queue: queue + 1 };
    // In a list only one that is still there can be found again.
    const left = searched.kind === 'list' ? marks.filter((_mark, index) => !isRemoved[index]) : marks;
    return { queue, after: left.at(-1) ?? after };
  }

  async #read({ key, kind }: Searched, after: Mark | undefined): Promise<readonly Mark[]> {
    const { redis } = this.connection;
    if (kind === 'sorted set')
      return await readTimeline(redis, key, { order: 'oldest_first', limit: LOOKED_AT, after });
    // Where new ones are added: they are taken from the other end, so that nothing moves up meanwhile. Without the one
    // that was the last, it begins anew.
    const at = after === undefined ? null : await redis.lpos(key, after.id);
    const first = at === null ? 0 : at + 1;
    const ids = await redis.lrange(key, first, first + LOOKED_AT - 1);
    return ids.map((id) => ({ id, at: 0 }));
  }

  async #removeIfOf(accountId: AccountId, { queue, key }: Searched, id: string): Promise<boolean> {
    const { redis } = this.connection;
    const [data, scheduler] = await redis.hmget(
      this.#keysOf(queue).job(id),
      jobFields.data,
      jobFields.schedulerKey,
    );
    const readAccount = queue === DEAD_LETTERS_QUEUE ? accountOfRejectedJob : accountOfJob;
    if (readAccount(parsedOrUndefined(data ?? '')) !== accountId) return false;
    // A job of a producer's scheduler is the scheduler's alone; what comes of it is dropped when it is taken.
    if (scheduler !== null || (await this.#queues.get(queue)?.remove(id)) !== 1) return false;
    if (queue === DEAD_LETTERS_QUEUE) await redis.zrem(key, id);
    return true;
  }

  #keysOf(queue: string): JobKeys {
    return createJobKeys(this.connection.prefix, queue);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}
