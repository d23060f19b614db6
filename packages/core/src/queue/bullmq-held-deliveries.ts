import { z } from 'zod';
import type { AccountId } from '../domain/account';
import {
  decodeHolds,
  deliveryIdOf,
  encodeHold,
  encodeHoldTime,
  type HoldReason,
  type PastHold,
} from '../domain/delivery';
import { decodeAddress, type EndpointAddress, type EndpointId, encodeAddress } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import { type Clock, systemClock } from '../platform/clock';
import { type Atomic, createAtomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type Step } from '../platform/redis-script';
import {
  findInAny,
  type Mark,
  readTimeline,
  type TimeRange,
  timelinePages,
} from '../platform/redis-timeline';
import { createJobKeys, DELAYED_SCORE, jobFields } from './bullmq-layout';
import { COUNT_HELD, FAIR_ORDER, PUT_BACK } from './libraries';
import { byShard, PerShard } from './per-shard';

/** A held delivery, with its position among those of its endpoint. */
export interface HeldDelivery {
  readonly eventId: EventId;
  /** When its event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
}

export interface EnteringDelivery extends HeldDelivery {
  /** When its former attempt began. Absent: there was none. Milliseconds since the Unix epoch. */
  readonly previousStartedAt?: number | undefined;
}

export interface ReleaseRequest {
  /** The most deliveries to release, those whose events were accepted first. */
  readonly most: number;
  /** How many of them go in one request; then one is released for each request, and takes the others. */
  readonly perRequest?: number | undefined;
  /** Of these alone. */
  readonly only?: readonly EventId[] | undefined;
  /** The result of `wakeUpDueAt` at the start of the wake-up. */
  readonly wakeUpWasDueAt: number | undefined;
  /** When the next wake-up is due, if some stay. Milliseconds since the Unix epoch. */
  readonly wakeUpAgainAt: number;
  readonly now: number;
}

export interface Released {
  readonly released: number;
  /** Those that were asked for and have no job at all. */
  readonly missing: readonly EventId[];
  /** How many are still held. */
  readonly left: number;
}

const ONE_PAGE = 1_000;
// A wake-up takes milliseconds. If the process that claimed it dies, another one does it after this time.
const CLAIM_MS = 5_000;
// A job may take this long from a worker to the delayed jobs.
const SOON_MS = 100;

/**
 * Deliveries that are held: each is a delayed job, and has an entry here with the hash tag of the job's
 * shard, so that both change in one step. The job comes back by itself when its delay is over, whatever
 * happens to the entry. The entry finds it before that.
 *
 * Deliveries that are still elsewhere while the queues are being split again are counted and listed. Moving
 * them to their home shard releases them.
 */
export class HeldDeliveries {
  readonly #shards = new PerShard(openShard);

  /** @param served the shards whose wake-ups this process handles. */
  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
    private readonly served: () => readonly QueueShard[] = () => shards.all(),
    private readonly atomic: Atomic = createAtomic(redis),
    private readonly clock: Clock = systemClock,
  ) {}

  /**
   * Enter a delivery whose job is about to be delayed, and ask for a wake-up of its endpoint. Idempotent.
   *
   * @param alongForMs if given, some of the endpoint's other deliveries, those next in order, are held along
   *   with it without being taken first. Their jobs come back by themselves after this many milliseconds, or
   *   some time later.
   * @returns the events of the deliveries held along.
   */
  async enter(
    address: EndpointAddress,
    { eventId, acceptedAt, previousStartedAt = 0 }: EnteringDelivery,
    wakeUpAt: number,
    reason: HoldReason,
    alongForMs?: number,
  ): Promise<readonly EventId[]> {
    const { jobs, keys } = this.#homeShard(address);
    const index = [keys.held(address.endpointId), keys.wakeUps, keys.heldCounts, keys.countedAsHeld];
    const suffix = suffixOf(address.endpointId);
    const entry = [eventId, acceptedAt, encodeAddress(address), wakeUpAt, reason];
    const now = this.clock();
    const told = [encodeHold({ reason, since: now }), encodeHoldTime(previousStartedAt)];
    const args = [...entry, jobs.base, suffix, alongForMs ?? '', now, ...told];
    const along = idsSchema.parse(await ENTER(this.redis, [...index, jobs.prioritized, jobs.delayed], args));
    return along.map((jobId) => jobId.slice(0, -suffix.length) as EventId);
  }

  /**
   * Put jobs back onto the queue. Each entry is removed with that, or when its job turns out not to be
   * delayed any more.
   */
  async release(address: EndpointAddress, request: ReleaseRequest): Promise<Released> {
    const { most, perRequest = 1, only = [], wakeUpWasDueAt = '', wakeUpAgainAt, now } = request;
    const { endpointId } = address;
    const { jobs, keys, releaseKeys } = this.#homeShard(address);
    const end = [wakeUpWasDueAt, wakeUpAgainAt, now + SOON_MS, perRequest];
    const args = [jobs.base, encodeAddress(address), suffixOf(endpointId), most, ...end, ...only];
    const reply = await RELEASE(this.redis, [keys.held(endpointId), ...releaseKeys], args);
    const [released, left, missing] = releasedSchema.parse(reply);
    return { released, left, missing: missing as EventId[] };
  }

  /** Forget a delivery that has ended while it was held. The job that has found that out ends by itself. */
  async forget(address: EndpointAddress, eventId: EventId): Promise<void> {
    const { keys } = this.#homeShard(address);
    const index = [keys.held(address.endpointId), keys.heldCounts, keys.countedAsHeld];
    await FORGET(this.redis, index, [eventId, encodeAddress(address)]);
  }

  /** Ask for a wake-up of an endpoint, unless an earlier one is due. */
  async askForWakeUp(address: EndpointAddress, at: number): Promise<void> {
    await ASK_FOR_WAKE_UP(this.redis, [this.#homeShard(address).keys.wakeUps], [encodeAddress(address), at]);
  }

  async wakeUpDueAt(address: EndpointAddress): Promise<number | undefined> {
    const due = await this.redis.zscore(this.#homeShard(address).keys.wakeUps, encodeAddress(address));
    return due === null ? undefined : Number(due);
  }

  /**
   * Claim some endpoints whose wake-up is due, for one caller. They are due again soon, in case the caller
   * fails.
   */
  async claimDueWakeUps(now: number, most: number): Promise<readonly EndpointAddress[]> {
    const due: string[] = [];
    const claims = this.#shards.inEach(this.served()).map(
      ({ keys }): Step =>
        async (target) => {
          const some = await CLAIM_DUE(target, [keys.wakeUps], [now, most, now + CLAIM_MS]);
          due.push(...idsSchema.parse(some));
        },
    );
    await Promise.all(claims.map((claim) => this.atomic([claim])));
    return due.map(decodeAddress);
  }

  /** All held deliveries of an endpoint, page by page, ordered by the acceptance of their events. */
  async *pagesOf(endpointId: EndpointId): AsyncGenerator<readonly HeldDelivery[], void> {
    const order = 'oldest_first';
    for (const key of this.#listsOf(endpointId)) {
      const pages = timelinePages(ONE_PAGE, (limit, after) =>
        readTimeline(this.redis, key, { order, limit, after }),
      );
      for await (const page of pages) {
        yield page.map(({ id, at }) => ({ eventId: id as EventId, acceptedAt: at }));
      }
    }
  }

  async count(endpointId: EndpointId): Promise<number> {
    const counts = await Promise.all(this.#listsOf(endpointId).map((key) => this.redis.zcard(key)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async isHeld(endpointId: EndpointId, eventId: EventId): Promise<boolean> {
    return (await this.findHeld(endpointId, [eventId])).has(eventId);
  }

  /** The held ones among these. */
  async findHeld(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>> {
    const areHeld = await findInAny(this.redis, this.#listsOf(endpointId), eventIds);
    return new Set(eventIds.filter((_, i) => areHeld[i]));
  }

  /** What the job of a held delivery tells of its holds. Those before the former attempt may be among them. */
  async holdsOf(endpointId: EndpointId, eventId: EventId): Promise<readonly PastHold[]> {
    const id = deliveryIdOf({ eventId, endpointId });
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    const told = shards.map(({ jobs }) => this.redis.hget(jobs.job(id), jobFields.holds));
    return (await Promise.all(told)).flatMap((text) => decodeHolds(text ?? ''));
  }

  /** The account's endpoints that hold deliveries, by their counts. */
  async findHolding(
    accountId: AccountId,
    endpointIds: readonly EndpointId[],
  ): Promise<readonly EndpointId[]> {
    const asked = endpointIds.flatMap((id) => this.shards.homeShardsOf(id).map((shard) => ({ id, shard })));
    const found = byShard(asked, ({ shard }) => shard).map(async ([shard, some]) => {
      const addresses = some.map(({ id }) => encodeAddress({ accountId, endpointId: id }));
      const counted = await this.redis.hmget(this.#shards.in(shard).keys.countedAsHeld, ...addresses);
      return some.flatMap(({ id }, i) => (counted[i] === null ? [] : [id]));
    });
    return [...new Set((await Promise.all(found)).flat())];
  }

  /** An endpoint's held deliveries by the acceptance of their events, the newest first. */
  async listNewest(
    endpointId: EndpointId,
    range: TimeRange,
    limit: number,
    after: Mark | undefined,
  ): Promise<readonly Mark[]> {
    const order = 'newest_first';
    const lists = this.#listsOf(endpointId);
    const parts = lists.map((key) => readTimeline(this.redis, key, { order, range, limit, after }));
    const marks = (await Promise.all(parts)).flat();
    return parts.length === 1 ? marks : firstOf(marks, limit);
  }

  #homeShard({ endpointId }: EndpointAddress): Shard {
    return this.#shards.in(this.shards.homeShardOf(endpointId));
  }

  #listsOf(endpointId: EndpointId): readonly string[] {
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    return shards.map(({ keys }) => keys.held(endpointId));
  }
}

type Shard = ReturnType<typeof openShard>;

function openShard(prefix: string) {
  const jobs = createJobKeys(prefix, DELIVERIES_QUEUE);
  const { delayed, prioritized, priorityCounter, meta, active, marker, events } = jobs;
  const keys = queueKeysOf(prefix);
  const queue = [delayed, prioritized, priorityCounter, meta, active, marker, events];
  const order = [keys.fairOrder(DELIVERIES_QUEUE), keys.accountWeights];
  const releaseKeys = [keys.wakeUps, ...queue, ...order, keys.heldCounts, keys.countedAsHeld];
  return { jobs, keys, releaseKeys };
}

/** The suffix of the ids of an endpoint's jobs. */
function suffixOf(endpointId: EndpointId): string {
  return deliveryIdOf({ eventId: '' as EventId, endpointId });
}

/** While an endpoint has deliveries in two shards, one may be in both for a moment. */
function firstOf(marks: readonly Mark[], limit: number): readonly Mark[] {
  const byId = new Map(marks.map((mark) => [mark.id, mark]));
  return [...byId.values()].toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).slice(0, limit);
}

const releasedSchema = z.tuple([z.number(), z.number(), z.array(z.string())]);
const idsSchema = z.array(z.string());

// This many waiting jobs are read at a time, as long as half of them are the endpoint's, and at most as many
// are held along.
const ALONG_PAGE = 50;
const MOST_ALONG = 200;
// Redis stores a job in another form, which takes more memory, once a field of it is longer than 64 bytes.
const MOST_HOLDS_BYTES = 63 - 9 + 1;
// The most of the delay between jobs that are held along: they must not come back together.
const ALONG_SPREAD_MS = 15_000;

/*
 * An earlier wake-up stays. A job that is held along moves from waiting to delayed together with its entry,
 * as if a worker had taken it for that, its count of starts included: its worker must know later that it has
 * waited. A job that was put back is left alone: there is room for it.
 *
 * The job tells why it is held, once for each reason, to the attempt that follows.
 */
// KEYS: held, wake-ups, counts, counted endpoints, prioritized, delayed. ARGV: event, time of acceptance,
// endpoint, time of the wake-up, reason, prefix of the jobs' keys, suffix of the ids of the endpoint's jobs,
// for how long others are delayed ('' for none), now, the hold as its job tells it, when its former attempt began. Gives
// the ids of the jobs that were held along.
const ENTER = defineScript(
  `
  local held, prioritized, delayed, base, suffix = KEYS[1], KEYS[5], KEYS[6], ARGV[6], ARGV[7]
  redis.call('ZADD', held, 'NX', ARGV[2], ARGV[1])
  redis.call('ZADD', KEYS[2], 'LT', ARGV[4], ARGV[3])

  local own = base .. ARGV[1] .. suffix
  local stored, known = unpack(redis.call('HMGET', own, '${jobFields.timestamp}', '${jobFields.holds}'))
  local is_first = not known or string.sub(known, -8) < ARGV[11]
  if stored and is_first then
    redis.call('HSET', own, '${jobFields.holds}', ARGV[10])
  elseif stored and string.sub(known, -9, -9) ~= string.sub(ARGV[10], 1, 1) and #known < ${MOST_HOLDS_BYTES} then
    redis.call('HSET', own, '${jobFields.holds}', known .. ARGV[10])
  end

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
    local delay = tonumber(ARGV[8]) + math.floor(i * math.min(${ALONG_SPREAD_MS}, ARGV[8] / ${MOST_ALONG}))
    redis.call('ZREM', prioritized, job)
    redis.call('ZADD', delayed, string.format('%d', (tonumber(ARGV[9]) + delay) * ${DELAYED_SCORE}), job)
    redis.call('HSET', base .. job, 'delay', string.format('%d', delay), '${jobFields.holds}', ARGV[10])
    redis.call('HINCRBY', base .. job, '${jobFields.attemptsStarted}', 1)
    redis.call('ZADD', held, 'NX', accepted[i], string.sub(job, 1, -#suffix - 1))
  end
  count_held(KEYS[3], KEYS[4], ARGV[3], redis.call('ZCARD', held), ARGV[5])
  return along`,
  COUNT_HELD,
);

// The caller has changed something that a running wake-up may not have seen. So this always changes the time,
// and the running wake-up sees the difference at the end. KEYS: wake-ups. ARGV: endpoint, time of the
// wake-up.
const ASK_FOR_WAKE_UP = defineScript(`
  local due = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 'inf')
  redis.call('ZADD', KEYS[1], string.format('%d', math.min(due - 1, tonumber(ARGV[2]))), ARGV[1])`);

/*
 * An entry is removed together with the move of its job from delayed to waiting. The move works as BullMQ's
 * own `promote`, except that the job gets its position in the present fair order. The entry is also removed
 * when the job is waiting already or is gone. A worker that runs the job may be about to delay it: then the
 * entry stays, and another wake-up follows soon. The same goes for a job whose worker died, which BullMQ puts
 * back.
 *
 * The time of the next wake-up only changes if no other was asked for meanwhile. Of those that go together in requests,
 * the last few are left alone then: several processes wake up at the same time, and the first one has released for all
 * of them.
 */
// KEYS: held, wake-ups, delayed, prioritized, priority counter, meta, active, marker, events, the fair
// order's state, weights, counts, counted endpoints. ARGV: prefix of the jobs' keys, endpoint, suffix of the
// ids of its jobs, how many, when the wake-up was due ('' for never), when the next one is due, when one is due soon,
// how many go in one request, the only events to release (none for any).
const RELEASE = defineScript(
  `
  local held, wake_ups, delayed, prioritized, counter, meta, active, marker, events = unpack(KEYS)
  local base, endpoint, suffix, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
  local account, flow = string.match(endpoint, '^(.*)/(.*)$')
  -- What has waited already goes by an order of its own, not behind those of the endpoint that came later.
  flow = flow .. ':held'
  local queue = {base = base, prioritized = prioritized, counter = counter, meta = meta, active = active}
  queue.marker, queue.events = marker, events
  local priority_of, finish = fair_order(prioritized, KEYS[10], KEYS[11])
  local released, missing, is_busy = 0, {}, false
  local due = redis.call('ZSCORE', wake_ups, endpoint)
  local is_unchanged = (due and string.format('%d', due) or '') == ARGV[5]
  if tonumber(ARGV[8]) > 1 then
    local requests = redis.call('ZCARD', held) / ARGV[8]
    most = math.min(most, is_unchanged and math.ceil(requests) or math.floor(requests))
  end

  local function release(event)
    local job = event .. suffix
    if redis.call('ZREM', delayed, job) == 1 then
      put_back(queue, job, priority_of(account, flow, 1))
      released = released + 1
    elseif redis.call('EXISTS', base .. job) == 0 then
      table.insert(missing, event)
    elseif redis.call('LPOS', active, job) then
      is_busy = true
      return
    end
    redis.call('ZREM', held, event)
  end

  if #ARGV > 8 then
    for i = 9, #ARGV do
      local event = ARGV[i]
      if released >= math.max(most, 1) then break end
      if redis.call('ZSCORE', held, event) then release(event)
      elseif most > 0 and redis.call('EXISTS', base .. event .. suffix) == 0 then table.insert(missing, event) end
    end
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
  if left == 0 then
    if is_unchanged then redis.call('ZREM', wake_ups, endpoint) end
  elseif is_busy then
    redis.call('ZADD', wake_ups, is_unchanged and 'CH' or 'LT', ARGV[7], endpoint)
  else
    redis.call('ZADD', wake_ups, is_unchanged and 'CH' or 'LT', ARGV[6], endpoint)
  end
  return {released, left, missing}`,
  FAIR_ORDER,
  PUT_BACK,
  COUNT_HELD,
);

// KEYS: held, counts, counted endpoints. ARGV: event, endpoint.
const FORGET = defineScript(
  `
  if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return end
  count_held(KEYS[2], KEYS[3], ARGV[2], redis.call('ZCARD', KEYS[1]))`,
  COUNT_HELD,
);

// KEYS: wake-ups. ARGV: now, how many, when they are due again.
const CLAIM_DUE = defineScript(`
  local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
  for _, endpoint in ipairs(due) do redis.call('ZADD', KEYS[1], ARGV[3], endpoint) end
  return due`);
