import { keys } from '../redis/keys';
import { defineScript } from '../redis/redis-script';
import { createJobKeys } from './bullmq-job-keys';
import { FAIR_ORDER } from './fair-order';
import type { QueueConnection } from './queue-connection';
import { EVENTS_QUEUE } from './queue-names';

// A producer's job may have a megabyte; its account is near the beginning, or it goes with those that have none.
const HEAD_BYTES = 512;
const AT_ONCE = 200;
// Events come by the hundred within a moment: one look serves them all.
const LOOK_EVERY_MS = 10;

/** The flow that all events of an account belong to. */
export const EVENTS_FLOW = '*';

// The longest waiting are at the right. A few that wait need no order. KEYS: wait, prioritized, priority counter, meta,
// marker, the fair order's state, weights. ARGV: what the keys of jobs begin with, how many, how many need none, the flow.
const SORT = defineScript(`${FAIR_ORDER}
  local wait, prioritized, counter = KEYS[1], KEYS[2], KEYS[3]
  if redis.call('LLEN', wait) <= tonumber(ARGV[3]) then return 0 end
  local jobs = redis.call('RPOP', wait, ARGV[2]) or {}
  local priority_of, finish = fair_order(prioritized, KEYS[6], KEYS[7])
  for _, job in ipairs(jobs) do
    local data = string.sub(redis.call('HGET', ARGV[1] .. job, 'data') or '', 1, ${HEAD_BYTES})
    local account = string.match(data, '"account_id"%s*:%s*"([%w_-]+)"') or ''
    local priority, count = priority_of(account, ARGV[4], 1), redis.call('INCR', counter)
    redis.call('ZADD', prioritized, priority * 0x100000000 + count % 0x100000000, job)
    redis.call('HSET', ARGV[1] .. job, 'priority', priority)
  end
  finish()
  return #jobs`);

/**
 * Puts events that producers have pushed into the fair order, account by account: BullMQ takes jobs without a priority
 * first, as they come, and those of one producer would keep all others waiting.
 */
export class PushedEvents {
  readonly #keys: readonly string[];
  readonly #base: string;
  #lastLook = Number.NEGATIVE_INFINITY;

  /** @param fewWaiting so many may wait without an order: workers take them at once. */
  constructor(
    private readonly connection: QueueConnection,
    private readonly fewWaiting: number,
  ) {
    const jobKeys = createJobKeys(connection.prefix, EVENTS_QUEUE);
    const { base, wait, prioritized, priorityCounter, meta, marker } = jobKeys;
    this.#base = base;
    const queue = [wait, prioritized, priorityCounter, meta, marker];
    this.#keys = [...queue, keys.fairOrder(EVENTS_QUEUE), keys.accountWeights];
  }

  /** Sorts what waits, if it has not just been done. */
  async sort(): Promise<void> {
    const now = performance.now();
    if (now - this.#lastLook < LOOK_EVERY_MS) return;
    this.#lastLook = now;
    const args = [this.#base, AT_ONCE, this.fewWaiting, EVENTS_FLOW];
    while ((await SORT(this.connection.redis, this.#keys, args)) === AT_ONCE);
  }
}
