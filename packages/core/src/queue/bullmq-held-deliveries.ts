import { z } from 'zod';
import type { AccountId } from '../domain/account';
import { deliveryIdOf, type HoldReason } from '../domain/delivery';
import { decodeAddress, type EndpointId, encodeAddress } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import { systemClock } from '../platform/clock';
import { type RedisClient, withStorageErrors } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { type Mark, readTimeline, type TimeRange } from '../platform/redis-timeline';
import { createJobKeys, DELAYED_SCORE, jobFields, PUT_BACK } from './bullmq-layout';
import type { QueueConnection } from './bullmq-on-demand-queue';
import { FAIR_ORDER } from './fair-order';
import type {
  EndpointAddress,
  HeldDeliveries,
  HeldDelivery,
  Released,
  ReleaseRequest,
} from './held-deliveries';
import { COUNT_HELD } from './redis-held-counts';
import { byShard, PerShard } from './shards-in-force';

/**
 * What is held, beside the jobs in their shards. What is still elsewhere while the queues are being split anew is counted and
 * listed; it is released by being brought home.
 *
 * @param served the shards whose looks this process makes.
 */
export function createShardedHeldDeliveries(
  redis: RedisClient,
  shards: QueueShards,
  served: () => readonly QueueShard[] = () => shards.all(),
) {
  const stores = new PerShard(redis, createBullmqHeldDeliveries);
  const atHome = ({ endpointId }: EndpointAddress) => stores.in(shards.homeShardOf(endpointId));
  const anywhere = (endpointId: EndpointId) => stores.inEach(shards.homeShardsOf(endpointId));

  return {
    enter: (address, ...rest) => atHome(address).enter(address, ...rest),
    release: (address, request) => atHome(address).release(address, request),
    askForWakeUp: (address, at) => atHome(address).askForWakeUp(address, at),
    wakeUpDueAt: (address) => atHome(address).wakeUpDueAt(address),

    async claimDueWakeUps(now, most) {
      const due = await Promise.all(stores.inEach(served()).map((store) => store.claimDueWakeUps(now, most)));
      return due.flat();
    },

    async *pagesOf(endpointId) {
      for (const store of anywhere(endpointId)) yield* store.pagesOf(endpointId);
    },

    async count(endpointId: EndpointId): Promise<number> {
      const counts = await Promise.all(anywhere(endpointId).map((store) => store.count(endpointId)));
      return counts.reduce((sum, count) => sum + count, 0);
    },

    async isHeld(endpointId: EndpointId, eventId: EventId): Promise<boolean> {
      const answers = anywhere(endpointId).map((store) => store.isHeld(endpointId, eventId));
      return (await Promise.all(answers)).includes(true);
    },

    /** Which of these are held. */
    async findHeld(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>> {
      const found = anywhere(endpointId).map((store) => store.findHeld(endpointId, eventIds));
      return new Set((await Promise.all(found)).flatMap((some) => [...some]));
    },

    /** Those of an account's endpoints that hold deliveries, as they are counted. */
    async findHolding(
      accountId: AccountId,
      endpointIds: readonly EndpointId[],
    ): Promise<readonly EndpointId[]> {
      const addresses = endpointIds.flatMap((id) => shards.homeShardsOf(id).map((shard) => ({ id, shard })));
      const found = byShard(addresses, ({ shard }) => shard).map(([shard, some]) =>
        stores.in(shard).findHolding(
          accountId,
          some.map(({ id }) => id),
        ),
      );
      return [...new Set((await Promise.all(found)).flat())];
    },

    /** An endpoint's by the acceptance of their events, the newest first. */
    async listNewest(
      endpointId: EndpointId,
      range: TimeRange,
      limit: number,
      after: Mark | undefined,
    ): Promise<readonly Mark[]> {
      const parts = anywhere(endpointId).map((store) => store.listNewest(endpointId, range, limit, after));
      const marks = (await Promise.all(parts)).flat();
      return parts.length === 1 ? marks : firstOf(marks, limit);
    },
  } satisfies HeldDeliveries & Partial<BullmqHeldDeliveries>;
}

/** While an endpoint has deliveries in two shards, one may be in both for a moment. */
function firstOf(marks: readonly Mark[], limit: number): readonly Mark[] {
  const byId = new Map(marks.map((mark) => [mark.id, mark]));
  return [...byId.values()].toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).slice(0, limit);
}

// Of jobs that are held along so many are looked at together, as long as half of them are the endpoint's, and so many held.
const ALONG_PAGE = 50;
const MOST_ALONG = 200;
// Between one that is held along and the next: they are not to come back together.
const ALONG_SPREAD_MS = 15_000;

/*
 * An earlier look stays. A job that is held along goes from waiting to delayed together with its entry, as if it had been
 * taken for that, started once included: its worker is to know later that it had waited. One that was put back is left alone:
 * somebody has room for it.
 */
// KEYS: held, looks, counts, what is counted, prioritized, delayed. ARGV: event, time of acceptance, endpoint, when to look,
// reason, what the keys of jobs begin with, what the ids of its jobs end with, for how long others are delayed ('' for none),
// now. Gives the ids of the jobs that were held along.
const ENTER = defineScript(`${COUNT_HELD}
  local held, prioritized, delayed, base, suffix = KEYS[1], KEYS[5], KEYS[6], ARGV[6], ARGV[7]
  redis.call('ZADD', held, 'NX', ARGV[2], ARGV[1])
  redis.call('ZADD', KEYS[2], 'LT', ARGV[4], ARGV[3])

  local along, accepted, seen, page, enough = {}, {}, 0, nil, false
  while ARGV[8] ~= '' and not enough do
    page = redis.call('ZRANGE', prioritized, seen, seen + ${ALONG_PAGE - 1})
    local before = #along
    for _, job in ipairs(page) do
      if string.sub(job, -#suffix) == suffix and #along < ${MOST_ALONG} then
        local known = redis.call('HMGET', base .. job, '${jobFields.acceptedAt}', '${jobFields.waitingSince}')
        if known[1] and known[1] ~= '' and not known[2] then
          table.insert(along, job)
          table.insert(accepted, known[1])
        end
      end
    end
    seen = seen + #page
    enough = #page < ${ALONG_PAGE} or (#along - before) * 2 < #page or #along >= ${MOST_ALONG}
  end
  for i, job in ipairs(along) do
    local delay = tonumber(ARGV[8]) + i * ${ALONG_SPREAD_MS}
    redis.call('ZREM', prioritized, job)
    redis.call('ZADD', delayed, string.format('%d', (tonumber(ARGV[9]) + delay) * ${DELAYED_SCORE}), job)
    redis.call('HSET', base .. job, 'delay', string.format('%d', delay))
    redis.call('HINCRBY', base .. job, '${jobFields.attemptsStarted}', 1)
    redis.call('ZADD', held, 'NX', accepted[i], string.sub(job, 1, -#suffix - 1))
  end
  count_held(KEYS[3], KEYS[4], ARGV[3], redis.call('ZCARD', held), ARGV[5])
  return along`);

// Whoever asks has changed something, and a look that is under way may not have seen it. So the time is another one in any
// case, by which that look's end can tell. KEYS: looks. ARGV: endpoint, when to look.
const ASK_FOR_LOOK = defineScript(`
  local due = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 'inf')
  redis.call('ZADD', KEYS[1], string.format('%d', math.min(due - 1, tonumber(ARGV[2]))), ARGV[1])`);

/*
 * An entry goes together with the moving of its job from delayed to waiting, as BullMQ's own `promote` does it but for its
 * place, which it has in the fair order as it is now, or when
 * the job is waiting already or is gone. While a worker is at the job it may be about to delay it: then there is another
 * look soon, and the entry stays. So it does for a job whose worker died, which BullMQ puts back.
 *
 * When the next look is due is only changed if nobody has asked for one meanwhile.
 */
// KEYS: held, looks, delayed, prioritized, priority counter, meta, active, marker, events, the fair order's state, weights,
// counts, what is counted.
// ARGV: what the keys of jobs begin with, endpoint, what the ids of its jobs end with, how many, the only one that is wanted
// ('' for any), when a look was due ('' for never), when it is due next, when it is soon.
const RELEASE = defineScript(`${FAIR_ORDER}${PUT_BACK}${COUNT_HELD}
  local held, looks, delayed, prioritized, counter, meta, active, marker, events = unpack(KEYS)
  local base, endpoint, suffix, most, only = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
  local account, flow = string.match(endpoint, '^(.*)/(.*)$')
  -- What has waited already goes by an order of its own, not behind those of the endpoint that came later.
  flow = flow .. ':held'
  local queue = {base = base, prioritized = prioritized, counter = counter, meta = meta, active = active}
  queue.marker, queue.events = marker, events
  local priority_of, finish = fair_order(prioritized, KEYS[10], KEYS[11])
  local released, is_missing, is_busy = 0, 0, false

  local function release(event)
    local job = event .. suffix
    if redis.call('ZREM', delayed, job) == 1 then
      put_back(queue, job, priority_of(account, flow, 1))
      released = released + 1
    elseif redis.call('EXISTS', base .. job) == 0 then
      is_missing = 1
    elseif redis.call('LPOS', active, job) then
      is_busy = true
      return
    end
    redis.call('ZREM', held, event)
  end

  if only ~= '' then
    if redis.call('ZSCORE', held, only) then release(only)
    elseif most > 0 and redis.call('EXISTS', base .. only .. suffix) == 0 then is_missing = 1 end
  elseif most > 0 then
    for _, event in ipairs(redis.call('ZRANGE', held, 0, most + 19)) do
      if released >= most then break end
      release(event)
    end
  end
  if released > 0 then
    finish()
    wake_workers(queue)
  end

  local left = redis.call('ZCARD', held)
  count_held(KEYS[12], KEYS[13], endpoint, left)
  local due = redis.call('ZSCORE', looks, endpoint)
  local is_unchanged = (due and string.format('%d', due) or '') == ARGV[6]
  if left == 0 then
    if is_unchanged then redis.call('ZREM', looks, endpoint) end
  elseif is_busy then
    redis.call('ZADD', looks, is_unchanged and 'CH' or 'LT', ARGV[8], endpoint)
  else
    redis.call('ZADD', looks, is_unchanged and 'CH' or 'LT', ARGV[7], endpoint)
  end
  return {released, left, is_missing}`);

// KEYS: looks. ARGV: now, how many, when they are due again.
const CLAIM_DUE = defineScript(`
  local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
  for _, endpoint in ipairs(due) do redis.call('ZADD', KEYS[1], ARGV[3], endpoint) end
  return due`);

const releasedSchema = z.tuple([z.number(), z.number(), z.number()]);
const dueSchema = z.array(z.string());
const alongSchema = z.array(z.string());

const ONE_PAGE = 1_000;

// A look takes milliseconds; one that was claimed by a process that died is done by another one after this.
const CLAIM_MS = 5_000;
// So long may a job be on its way from a worker to being delayed.
const SOON_MS = 100;

/**
 * The index of held deliveries, beside the jobs that it is about: both have the queue's hash tag, so that an entry and its
 * job change in one step.
 */
export function createBullmqHeldDeliveries({ redis, prefix }: QueueConnection) {
  const jobKeys = createJobKeys(prefix, DELIVERIES_QUEUE);
  const keys = queueKeysOf(prefix);

  async function findHeld(
    endpointId: EndpointId,
    eventIds: readonly EventId[],
  ): Promise<ReadonlySet<EventId>> {
    if (eventIds.length === 0) return new Set();
    const scores = await redis.zmscore(keys.held(endpointId), ...eventIds);
    return new Set(eventIds.filter((_, i) => scores[i] !== null));
  }

  const held = withStorageErrors({
    async enter(
      address: EndpointAddress,
      { eventId, acceptedAt }: HeldDelivery,
      wakeUpAt: number,
      reason: HoldReason,
      alongForMs?: number,
    ): Promise<readonly EventId[]> {
      const { prioritized, delayed, base } = jobKeys;
      const index = [keys.held(address.endpointId), keys.looks, keys.heldCounts, keys.countedAsHeld];
      const suffix = suffixOf(address.endpointId);
      const entry = [eventId, acceptedAt, encodeAddress(address), wakeUpAt, reason];
      const args = [...entry, base, suffix, alongForMs ?? '', systemClock()];
      const along = alongSchema.parse(await ENTER(redis, [...index, prioritized, delayed], args));
      return along.map((jobId) => jobId.slice(0, -suffix.length) as EventId);
    },

    async release(address: EndpointAddress, request: ReleaseRequest): Promise<Released> {
      const { most, only = '', wakeUpWasDueAt = '', wakeUpAgainAt, now } = request;
      const { endpointId } = address;
      const suffix = suffixOf(endpointId);
      const { delayed, prioritized, priorityCounter, meta, active, marker, events } = jobKeys;
      const queue = [delayed, prioritized, priorityCounter, meta, active, marker, events];
      const order = [keys.fairOrder(DELIVERIES_QUEUE), keys.accountWeights];
      const args = [jobKeys.base, encodeAddress(address), suffix, most, only, wakeUpWasDueAt, wakeUpAgainAt];
      const reply = await RELEASE(
        redis,
        [keys.held(endpointId), keys.looks, ...queue, ...order, keys.heldCounts, keys.countedAsHeld],
        [...args, now + SOON_MS],
      );
      const [released, left, isMissing] = releasedSchema.parse(reply);
      return { released, left, isMissing: isMissing === 1 };
    },

    async askForWakeUp(address: EndpointAddress, at: number): Promise<void> {
      await ASK_FOR_LOOK(redis, [keys.looks], [encodeAddress(address), at]);
    },

    async wakeUpDueAt(address: EndpointAddress): Promise<number | undefined> {
      const due = await redis.zscore(keys.looks, encodeAddress(address));
      return due === null ? undefined : Number(due);
    },

    async claimDueWakeUps(now: number, most: number): Promise<readonly EndpointAddress[]> {
      const due = dueSchema.parse(await CLAIM_DUE(redis, [keys.looks], [now, most, now + CLAIM_MS]));
      return due.map(decodeAddress);
    },

    async count(endpointId: EndpointId): Promise<number> {
      return await redis.zcard(keys.held(endpointId));
    },

    async isHeld(endpointId: EndpointId, eventId: EventId): Promise<boolean> {
      return (await redis.zscore(keys.held(endpointId), eventId)) !== null;
    },

    /** Which of these are held. */
    findHeld,

    /** Those of an account's endpoints that hold deliveries, as they are counted. */
    async findHolding(
      accountId: AccountId,
      endpointIds: readonly EndpointId[],
    ): Promise<readonly EndpointId[]> {
      if (endpointIds.length === 0) return [];
      const addresses = endpointIds.map((endpointId) => encodeAddress({ accountId, endpointId }));
      const counted = await redis.hmget(keys.countedAsHeld, ...addresses);
      return endpointIds.filter((_, i) => counted[i] !== null);
    },

    /** An endpoint's by the acceptance of their events, the newest first. */
    async listNewest(
      endpointId: EndpointId,
      range: TimeRange,
      limit: number,
      after: Mark | undefined,
    ): Promise<readonly Mark[]> {
      const order = 'newest_first';
      return await readTimeline(redis, keys.held(endpointId), { order, range, limit, after });
    },
  });
  return { ...held, pagesOf } satisfies HeldDeliveries;

  async function* pagesOf(endpointId: EndpointId): AsyncGenerator<readonly HeldDelivery[], void> {
    let after: Mark | undefined;
    for (;;) {
      const page = await readTimeline(redis, keys.held(endpointId), {
        order: 'oldest_first',
        limit: ONE_PAGE,
        after,
      });
      if (page.length > 0) yield page.map(({ id, at }) => ({ eventId: id as EventId, acceptedAt: at }));
      after = page.at(-1);
      if (page.length < ONE_PAGE) return;
    }
  }
}

/** What the ids of an endpoint's jobs end with. */
function suffixOf(endpointId: EndpointId): string {
  return deliveryIdOf({ eventId: '' as EventId, endpointId });
}

export type BullmqHeldDeliveries = ReturnType<typeof createBullmqHeldDeliveries>;
