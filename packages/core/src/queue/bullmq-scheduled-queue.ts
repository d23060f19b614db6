import { z } from 'zod';
import type { AccountId } from '../domain/account';
import type { EventId } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { EVENTS_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import type { Emit } from '../domain/signal';
import { chunksOf } from '../platform/batches';
import { DueTimer } from '../platform/due-timer';
import type { Atomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type ScriptTarget } from '../platform/redis-script';
import { type Mark, readTimeline, type TimeRange } from '../platform/redis-timeline';
import { SCHEDULED_JOB_VERSION } from './bullmq-event-queue';
import { createJobKeys } from './bullmq-layout';
import { EVENTS_FLOW } from './bullmq-pushed-events';
import { FAIR_ORDER, PUT_BACK } from './libraries';

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

// For scripts: `look_at(key, accounts, account, not_before)` notes when to look at an account's events, and
// `count(key, change)` how many there are. Neither key stays when nothing waits.
const SCHEDULED = `
  local function now_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
  end
  local function look_at(key, accounts, account, not_before)
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if not first[1] then
      redis.call('ZREM', accounts, account)
    else
      redis.call('ZADD', accounts, string.format('%d', math.max(tonumber(first[2]), not_before)), account)
    end
  end
  local function count(key, change)
    if change ~= 0 and redis.call('INCRBY', key, change) <= 0 then redis.call('DEL', key) end
  end`;

// An entry that is there keeps its time. KEYS: the account's events, accounts, count. ARGV: account, then
// time and event of each.
const ADD = defineScript(
  `
  count(KEYS[3], redis.call('ZADD', KEYS[1], 'NX', unpack(ARGV, 2)))
  look_at(KEYS[1], KEYS[2], ARGV[1], 0)`,
  SCHEDULED,
);

// KEYS: as above. ARGV: account, event, time, whether only an earlier time counts, and for an event that waits here.
const PLACE = defineScript(
  `
  local at = redis.call('ZSCORE', KEYS[1], ARGV[2])
  if ARGV[4] == '1' and (not at or tonumber(at) <= tonumber(ARGV[3])) then return end
  count(KEYS[3], redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2]))
  look_at(KEYS[1], KEYS[2], ARGV[1], 0)`,
  SCHEDULED,
);

// Only if its time is the given one, where one is given. KEYS: as above. ARGV: account, then event and time ('': any) of each. Gives how many are gone.
const REMOVE = defineScript(
  `
  local gone = 0
  for i = 2, #ARGV, 2 do
    if ARGV[i + 1] == '' or redis.call('ZSCORE', KEYS[1], ARGV[i]) == ARGV[i + 1] then
      gone = gone + redis.call('ZREM', KEYS[1], ARGV[i])
    end
  end
  count(KEYS[3], -gone)
  look_at(KEYS[1], KEYS[2], ARGV[1], 0)
  return gone`,
  SCHEDULED,
);

/** This many events are taken at once, of this many accounts: a few milliseconds for Redis. */
const TAKEN_AT_ONCE = 200;
const ACCOUNTS_AT_ONCE = 50;
/** An event whose job of before is not over yet is looked at again. */
const AGAIN_AFTER_MS = 1_000;

// Its record decides when it ends, not BullMQ.
const JOB_OPTIONS = JSON.stringify({ attempts: 10_000 });

// An account that has more due events than its part goes behind the others that have some. KEYS: accounts,
// count, prioritized, priority counter, meta, active, marker, the fair order's state, weights. ARGV: prefix of the
// accounts' keys, of the jobs' keys. Gives whether there may be more that is due, and in how many milliseconds
// the next one is, -1 if there is none.
const TAKE_DUE = defineScript(
  `
  local accounts, prioritized, counter, meta, active, marker = KEYS[1], unpack(KEYS, 3, 7)
  local now = now_ms()
  local due_accounts = redis.call('ZRANGEBYSCORE', accounts, '-inf', now, 'LIMIT', 0, ${ACCOUNTS_AT_ONCE})
  if #due_accounts > 0 then
    local queue = {base = ARGV[2], prioritized = prioritized, counter = counter, meta = meta, active = active, marker = marker}
    local priority_of, finish = fair_order(prioritized, KEYS[8], KEYS[9])
    local each = math.floor(${TAKEN_AT_ONCE} / #due_accounts)
    local jobs, priorities = {}, {}
    for _, account in ipairs(due_accounts) do
      local key = ARGV[1] .. account
      local due = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'WITHSCORES', 'LIMIT', 0, each)
      for i = 1, #due, 2 do
        local event, at = due[i], due[i + 1]
        local job = account .. '.' .. event .. '.due'
        if redis.call('EXISTS', queue.base .. job) == 1 then
          redis.call('ZADD', key, string.format('%d', now + ${AGAIN_AFTER_MS}), event)
        else
          local data = '{"account_id":"' .. account .. '","id":"' .. event .. '","due_at":' .. at .. ',"v":${SCHEDULED_JOB_VERSION}}'
          local priority = priority_of(account, '${EVENTS_FLOW}', 1)
          redis.call('HSET', queue.base .. job, 'name', 'scheduled', 'data', data, 'opts', '${JOB_OPTIONS}',
            'timestamp', at, 'delay', 0, 'priority', priority)
          redis.call('ZREM', key, event)
          jobs[#jobs + 1] = job
          priorities[#jobs] = priority
        end
      end
      look_at(key, accounts, account, now)
    end
    if #jobs > 0 then
      put_in_place(queue, jobs, priorities)
      count(KEYS[2], -#jobs)
      finish()
      wake_workers(queue)
    end
  end
  local next = redis.call('ZRANGE', accounts, 0, 0, 'WITHSCORES')
  if not next[2] then return -1 end
  return string.format('%d', math.max(tonumber(next[2]) - now, 0))`,
  FAIR_ORDER,
  PUT_BACK,
  SCHEDULED,
);

// The events that have been due for longest are those of accounts to look at next. KEYS: accounts, count.
// ARGV: prefix of the accounts' keys.
const STANDING = defineScript(
  `
  local now, oldest = now_ms(), nil
  for _, account in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ${ACCOUNTS_AT_ONCE})) do
    local at = tonumber(redis.call('ZRANGE', ARGV[1] .. account, 0, 0, 'WITHSCORES')[2])
    if at and (not oldest or at < oldest) then oldest = at end
  end
  return {tonumber(redis.call('GET', KEYS[2]) or '0'), oldest and math.max(now - oldest, 0) or 0}`,
  SCHEDULED,
);

const takenSchema = z.coerce.number();
const standingSchema = z.tuple([z.number(), z.number()]);

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
  async addAll(entries: readonly ScheduledEntry[], target: ScriptTarget = this.redis): Promise<void> {
    const groups = byAccount(entries);
    await Promise.all(
      groups.map(async ([accountId, some]) => {
        const { prefix } = this.shards.homeShardOf(accountId);
        await this.#addTo(prefix, accountId, some, target);
      }),
    );
  }

  /** Bring an event forward, if it waits here for a later time. */
  async hasten(entry: ScheduledEntry, target: ScriptTarget = this.redis): Promise<void> {
    await Promise.all(
      this.shards.homeShardsOf(entry.accountId).map(({ prefix }) => this.#place(prefix, entry, '1', target)),
    );
  }

  /** Set an event's time, whether it waits here or not. */
  async place(entry: ScheduledEntry, target: ScriptTarget = this.redis): Promise<void> {
    await this.#place(this.shards.homeShardOf(entry.accountId).prefix, entry, '0', target);
  }

  async remove(accountId: AccountId, eventIds: readonly EventId[], target: ScriptTarget = this.redis) {
    const args = eventIds.flatMap((id) => [id, '']);
    await Promise.all(
      this.shards
        .homeShardsOf(accountId)
        .map(({ prefix }) => REMOVE(target, keysIn(prefix, accountId), [accountId, ...args])),
    );
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
    const { fairOrder, accountWeights, scheduled, scheduledAccounts, scheduledCount } = queueKeysOf(prefix);
    const jobs = createJobKeys(prefix, EVENTS_QUEUE);
    const { prioritized, priorityCounter, meta, active, marker } = jobs;
    const queue = [prioritized, priorityCounter, meta, active, marker];
    const taken = [scheduledAccounts, scheduledCount, ...queue, fairOrder(EVENTS_QUEUE), accountWeights];
    const [reply] = await atomic(
      [(target) => TAKE_DUE(target, taken, [scheduled(''), jobs.base])],
      patienceMs,
    );
    const nextMs = takenSchema.parse(reply);
    return nextMs < 0 ? undefined : nextMs;
  }

  async readStanding(): Promise<ScheduledStanding> {
    const standings = await Promise.all(
      this.shards.all().map(async ({ prefix }) => {
        const { scheduled, scheduledAccounts, scheduledCount } = queueKeysOf(prefix);
        const reply = await STANDING(this.redis, [scheduledAccounts, scheduledCount], [scheduled('')]);
        return standingSchema.parse(reply);
      }),
    );
    return {
      waiting: standings.reduce((sum, [waiting]) => sum + waiting, 0),
      overdueMs: Math.max(...standings.map(([, overdueMs]) => overdueMs)),
    };
  }

  /**
   * Move all that waits in a shard and belongs to another one: first it is there, then it leaves this one. Gives how many did.
   */
  async bringHome({ prefix }: QueueShard): Promise<number> {
    const { scheduled, scheduledAccounts } = queueKeysOf(prefix);
    const accounts = (await this.redis.zrange(scheduledAccounts, '0', '-1')) as AccountId[];
    let moved = 0;
    for (const accountId of accounts) {
      const home = this.shards.homeShardOf(accountId).prefix;
      for (;;) {
        if (home === prefix) break;
        const flat = await this.redis.zrange(scheduled(accountId), '0', String(AT_ONCE - 1), 'WITHSCORES');
        if (flat.length === 0) break;
        const entries = entriesOf(accountId, flat);
        await this.#addTo(home, accountId, entries, this.redis);
        const args = entries.flatMap(({ eventId, deliverAt }) => [eventId, deliverAt]);
        await REMOVE(this.redis, keysIn(prefix, accountId), [accountId, ...args]);
        moved += entries.length;
      }
    }
    return moved;
  }

  async #addTo(
    prefix: string,
    accountId: AccountId,
    entries: readonly ScheduledEntry[],
    target: ScriptTarget,
  ): Promise<void> {
    const added = chunksOf(entries, AT_ONCE).map((chunk) => {
      const args = chunk.flatMap(({ eventId, deliverAt }) => [deliverAt, eventId]);
      return ADD(target, keysIn(prefix, accountId), [accountId, ...args]);
    });
    await Promise.all(added);
  }

  async #place(
    prefix: string,
    { accountId, eventId, deliverAt }: ScheduledEntry,
    onlyEarlier: '0' | '1',
    target: ScriptTarget,
  ): Promise<void> {
    await PLACE(target, keysIn(prefix, accountId), [accountId, eventId, deliverAt, onlyEarlier]);
  }
}

function keysIn(prefix: string, accountId: AccountId): readonly string[] {
  const { scheduled, scheduledAccounts, scheduledCount } = queueKeysOf(prefix);
  return [scheduled(accountId), scheduledAccounts, scheduledCount];
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
