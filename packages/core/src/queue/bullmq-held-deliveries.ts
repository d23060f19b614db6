import { z } from 'zod';
import type {
  EndpointAddress,
  HeldDeliveries,
  HeldDelivery,
  Released,
  ReleaseRequest,
} from '../admission/held-deliveries';
import { COUNT_HELD } from '../admission/redis-held-counts';
import { decodeAddress, encodeAddress } from '../endpoints/endpoint-address';
import { withStorageErrors } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import { type Mark, readTimeline, type TimeRange } from '../kernel/redis-timeline';
import { deliveryIdOf } from '../model/delivery';
import type { EndpointId } from '../model/endpoint';
import type { AccountId, EventId } from '../model/event';
import type { HoldReason } from '../model/hold-reason';
import { queueKeysOf } from '../model/keys';
import { DELIVERIES_QUEUE } from '../model/queue-names';
import { createJobKeys, PUT_BACK } from './bullmq-layout';
import type { QueueConnection } from './bullmq-open-queue';
import { FAIR_ORDER } from './fair-order';

// An earlier look stays. KEYS: held, looks, counts, what is counted. ARGV: event, time of acceptance, endpoint, when to look,
// reason.
const ENTER = defineScript(`${COUNT_HELD}
  redis.call('ZADD', KEYS[1], 'NX', ARGV[2], ARGV[1])
  redis.call('ZADD', KEYS[2], 'LT', ARGV[4], ARGV[3])
  count_held(KEYS[3], KEYS[4], ARGV[3], redis.call('ZCARD', KEYS[1]), ARGV[5])`);

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
      lookAt: number,
      reason: HoldReason,
    ): Promise<void> {
      const scriptKeys = [keys.held(address.endpointId), keys.looks, keys.heldCounts, keys.countedAsHeld];
      await ENTER(redis, scriptKeys, [eventId, acceptedAt, encodeAddress(address), lookAt, reason]);
    },

    async release(address: EndpointAddress, request: ReleaseRequest): Promise<Released> {
      const { most, only = '', lookWasDueAt = '', lookAgainAt, now } = request;
      const { endpointId } = address;
      const suffix = deliveryIdOf({ eventId: '' as EventId, endpointId });
      const { delayed, prioritized, priorityCounter, meta, active, marker, events } = jobKeys;
      const queue = [delayed, prioritized, priorityCounter, meta, active, marker, events];
      const order = [keys.fairOrder(DELIVERIES_QUEUE), keys.accountWeights];
      const args = [jobKeys.base, encodeAddress(address), suffix, most, only, lookWasDueAt, lookAgainAt];
      const reply = await RELEASE(
        redis,
        [keys.held(endpointId), keys.looks, ...queue, ...order, keys.heldCounts, keys.countedAsHeld],
        [...args, now + SOON_MS],
      );
      const [released, left, isMissing] = releasedSchema.parse(reply);
      return { released, left, isMissing: isMissing === 1 };
    },

    async askForLook(address: EndpointAddress, at: number): Promise<void> {
      await ASK_FOR_LOOK(redis, [keys.looks], [encodeAddress(address), at]);
    },

    async lookDueAt(address: EndpointAddress): Promise<number | undefined> {
      const due = await redis.zscore(keys.looks, encodeAddress(address));
      return due === null ? undefined : Number(due);
    },

    async claimDueLooks(now: number, most: number): Promise<readonly EndpointAddress[]> {
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

export type BullmqHeldDeliveries = ReturnType<typeof createBullmqHeldDeliveries>;
