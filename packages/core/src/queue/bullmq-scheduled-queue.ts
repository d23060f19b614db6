import type { AccountId } from '../domain/account';
import type { EventId } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { EVENTS_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import type { Emit } from '../domain/signal';
import { chunksOf } from '../platform/batches';
import { DueTimer } from '../platform/due-timer';
import { type Atomic, together } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import { findInAny, type Mark, readTimeline, type TimeRange } from '../platform/redis-timeline';
import { createJobKeys } from './bullmq-layout';
import {
  addScheduled,
  placeScheduled,
  removeScheduled,
  scheduledStanding,
  takeDue,
} from './bullmq-scheduled-queue.script';

/** An event that waits for its time. */
export interface ScheduledEntry {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  /** Milliseconds since the Unix epoch. */
  readonly deliverAt: number;
}

/** What waits, in all shards together. */
export interface ScheduledStanding {
  readonly waiting: number;
  /** How long one has been due already, the one of which that is longest. Milliseconds. */
  readonly overdueMs: number;
}

/** An account's events go to its home shard, the one of its jobs on the events queue. */
const AT_ONCE = 100;

/**
 * The events that wait for their time, outside of BullMQ: an entry in a list of their account, for weeks
 * maybe. One script moves those that are due onto the queue of events, account by account. A job there says which event,
 * and its record says whether it is due: so an entry may be there twice, or too early, and must never be in neither.
 */
export class ScheduledQueue {
  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
  ) {}

  /** Adding an event that waits here changes nothing. */
  addAll(entries: readonly ScheduledEntry[]): Step {
    return together(
      byAccount(entries).flatMap(([accountId, some]) =>
        addedTo(this.shards.homeShardOf(accountId), accountId, some),
      ),
    );
  }

  /** Bring an event forward, if it waits here for a later time. */
  hasten(entry: ScheduledEntry): Step {
    return together(
      this.shards.homeShardsOf(entry.accountId).map((shard) => placedIn(shard, entry, { onlyHastens: true })),
    );
  }

  /** Set an event's time, whether it waits here or not. */
  place(entry: ScheduledEntry): Step<void> {
    return placedIn(this.shards.homeShardOf(entry.accountId), entry, { onlyHastens: false });
  }

  remove(accountId: AccountId, eventIds: readonly EventId[]): Step {
    return together(
      this.shards
        .homeShardsOf(accountId)
        .map((shard) =>
          removeScheduled({ ...keysIn(shard, accountId), account: accountId, events: eventIds }),
        ),
    );
  }

  /** Whether an event waits here. */
  async has(accountId: AccountId, eventId: EventId): Promise<boolean> {
    const lists = this.shards
      .homeShardsOf(accountId)
      .map(({ prefix }) => queueKeysOf(prefix).scheduled(accountId));
    return (await findInAny(this.redis, lists, [eventId])).includes(true);
  }

  /** The account's events that wait, those that are due next first. */
  async list(
    accountId: AccountId,
    limit: number,
    { range, after }: { readonly range?: TimeRange | undefined; readonly after?: Mark | undefined } = {},
  ): Promise<readonly ScheduledEntry[]> {
    const lists = await Promise.all(
      this.shards.homeShardsOf(accountId).map(async ({ prefix }) => {
        const key = queueKeysOf(prefix).scheduled(accountId);
        return await readTimeline(this.redis, key, { order: 'oldest_first', range, limit, after });
      }),
    );
    const [only = [], ...others] = lists;
    // While the queues are split again it may be in two of them.
    const all = others.length === 0 ? only : [...new Map(lists.flat().map((one) => [one.id, one])).values()];
    return all
      .toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .map(({ id, at }) => ({ accountId, eventId: id as EventId, deliverAt: at }));
  }

  /**
   * Move some of a shard's events that are due onto the queue of events.
   *
   * @param atomic runs the step on this Redis.
   * @returns in how many milliseconds the next one is due, by the clock of Redis; `undefined` if none waits.
   */
  async takeDue(prefix: string, atomic: Atomic, patienceMs = 0): Promise<number | undefined> {
    const shard = queueKeysOf(prefix);
    const { base } = createJobKeys(prefix, EVENTS_QUEUE);
    const taken = takeDue({ shard, base, scheduled: shard.scheduled('') });
    const [nextMs] = await atomic([taken], patienceMs);
    return nextMs;
  }

  async readStanding(): Promise<ScheduledStanding> {
    const standings = await Promise.all(
      this.shards.all().map(async ({ prefix }) => {
        const shard = queueKeysOf(prefix);
        return await scheduledStanding({ shard, scheduled: shard.scheduled('') })(this.redis);
      }),
    );
    return {
      waiting: standings.reduce((sum, { waiting }) => sum + waiting, 0),
      overdueMs: Math.max(...standings.map(({ overdueMs }) => overdueMs)),
    };
  }

  /**
   * Move all that waits in a shard and belongs to another one: first it is there, then it leaves this one. Gives how many did.
   */
  async bringHome(shard: QueueShard): Promise<number> {
    const { scheduled, scheduledAccounts } = queueKeysOf(shard.prefix);
    const accounts = (await this.redis.zrange(scheduledAccounts, '0', '-1')) as AccountId[];
    let moved = 0;
    for (const accountId of accounts) {
      const home = this.shards.homeShardOf(accountId);
      for (;;) {
        if (home.prefix === shard.prefix) break;
        const flat = await this.redis.zrange(scheduled(accountId), '0', String(AT_ONCE - 1), 'WITHSCORES');
        if (flat.length === 0) break;
        const entries = entriesOf(accountId, flat);
        await together(addedTo(home, accountId, entries))(this.redis);
        await removeScheduled({ ...keysIn(shard, accountId), ...listsOf(accountId, entries) })(this.redis);
        moved += entries.length;
      }
    }
    return moved;
  }
}

function addedTo(
  shard: QueueShard,
  accountId: AccountId,
  entries: readonly ScheduledEntry[],
): readonly Step<void>[] {
  return chunksOf(entries, AT_ONCE).map((chunk) =>
    addScheduled({ ...keysIn(shard, accountId), ...listsOf(accountId, chunk) }),
  );
}

function placedIn(
  shard: QueueShard,
  { accountId: account, eventId: event, deliverAt: time }: ScheduledEntry,
  { onlyHastens }: { readonly onlyHastens: boolean },
): Step<void> {
  return placeScheduled({ ...keysIn(shard, account), account, event, time, onlyHastens });
}

function keysIn({ prefix }: QueueShard, accountId: AccountId) {
  const shard = queueKeysOf(prefix);
  return { shard, scheduled: shard.scheduled(accountId) };
}

function listsOf(account: AccountId, entries: readonly ScheduledEntry[]) {
  const events = entries.map(({ eventId }) => eventId);
  return { account, events, times: entries.map(({ deliverAt }) => deliverAt) };
}

function byAccount(entries: readonly ScheduledEntry[]) {
  const groups = new Map<AccountId, ScheduledEntry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.accountId);
    if (group) group.push(entry);
    else groups.set(entry.accountId, [entry]);
  }
  return [...groups];
}

function entriesOf(accountId: AccountId, flat: readonly string[]): readonly ScheduledEntry[] {
  const entries: ScheduledEntry[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    entries.push({ accountId, eventId: flat[i] as EventId, deliverAt: Number(flat[i + 1]) });
  }
  return entries;
}

export interface DueEventsOptions {
  readonly scheduledQueue: Pick<ScheduledQueue, 'takeDue'>;
  /** Of the shard. */
  readonly prefix: string;
  readonly atomic: Atomic;
  readonly emit: Emit;
}

/** Moves a shard's events onto the queue of events when they are due: any number of processes may do so. */
export class DueEvents {
  readonly #timer: DueTimer;

  constructor(private readonly options: DueEventsOptions) {
    const { atomic } = options;
    this.#timer = new DueTimer({ run: (patienceMs) => this.#run(patienceMs), flush: () => atomic([]) });
  }

  start(): void {
    this.#timer.start();
  }

  async stop(): Promise<void> {
    await this.#timer.stop();
  }

  async #run(patienceMs: number): Promise<number | undefined> {
    const { scheduledQueue, prefix, atomic, emit } = this.options;
    try {
      return await scheduledQueue.takeDue(prefix, atomic, patienceMs);
    } catch (error) {
      emit({ name: 'task.failed', task: 'publish due events', error });
      return undefined;
    }
  }
}
