import { z } from 'zod';
import { queueKeysOf } from '../domain/keys';
import { EVENTS_QUEUE } from '../domain/queues';
import { defineScript } from '../platform/redis-script';
import { createJobKeys, jobFields } from './bullmq-layout';
import type { QueueConnection } from './bullmq-on-demand-queue';
import { FAIR_ORDER, PUT_BACK } from './libraries';

// A producer's job may have a megabyte, so only small ones are parsed. In a larger one, the account is near
// the beginning, or the job counts as one without an account.
const PARSED_BYTES = 4_096;
const HEAD_BYTES = 512;
const AT_ONCE = 200;
// Events come by the hundred within a moment: sorting once serves them all.
const SORT_EVERY_MS = 10;

/** The flow that all events of an account belong to. */
export const EVENTS_FLOW = '*';

// The longest waiting are at the right. A few waiting jobs need no order, unless others are in order already:
// BullMQ would take these later ones first. KEYS: wait, prioritized, priority counter, the fair order's
// state, weights. ARGV: prefix of the jobs' keys, how many, how many need none, the flow. Gives how many were
// sorted, and whether some are in order. An account that is only likely is good enough for the fair order, and is not
// noted: a strict order relies on what is.
const SORT = defineScript(
  `
  local function account_of(data)
    local first = string.match(data, '^{"account_id":"([%w_-]+)"')
    if first then return first, first end
    if #data > ${PARSED_BYTES} then
      return string.match(string.sub(data, 1, ${HEAD_BYTES}), '"account_id"%s*:%s*"([%w_-]+)"') or '', ''
    end
    local is_json, event = pcall(cjson.decode, data)
    local account = is_json and type(event) == 'table' and string.match(tostring(event.account_id), '^[%w_-]+$') or ''
    return account, account
  end

  local wait, prioritized = KEYS[1], KEYS[2]
  local queue = {base = ARGV[1], prioritized = prioritized, counter = KEYS[3]}
  local is_in_order = redis.call('EXISTS', prioritized)
  if is_in_order == 0 and redis.call('LLEN', wait) <= tonumber(ARGV[3]) then return {0, 0} end
  local jobs = redis.call('RPOP', wait, ARGV[2]) or {}
  local priority_of, finish = fair_order(prioritized, KEYS[4], KEYS[5])
  for _, job in ipairs(jobs) do
    local account, known = account_of(redis.call('HGET', ARGV[1] .. job, '${jobFields.data}') or '')
    local priority = priority_of(account, ARGV[4], 1)
    redis.call('HSET', ARGV[1] .. job, 'priority', priority, '${jobFields.account}', known)
    put_in_place(queue, {job}, {priority})
  end
  finish()
  return {#jobs, 1}`,
  FAIR_ORDER,
  PUT_BACK,
);

const sortedSchema = z.tuple([z.number(), z.number()]);

/**
 * Puts events that producers have pushed into the fair order, account by account. BullMQ takes jobs without a
 * priority first, as they come, and those of one producer would keep all others waiting.
 */
export class PushedEvents {
  readonly #keys: readonly string[];
  readonly #base: string;
  #lastSortedAt = Number.NEGATIVE_INFINITY;
  #isInOrder = false;

  /** @param fewWaiting up to this many may wait without an order: workers take them at once. */
  constructor(
    private readonly connection: QueueConnection,
    private readonly fewWaiting: number,
  ) {
    const jobKeys = createJobKeys(connection.prefix, EVENTS_QUEUE);
    const { base, wait, prioritized, priorityCounter } = jobKeys;
    this.#base = base;
    const { fairOrder, accountWeights } = queueKeysOf(connection.prefix);
    this.#keys = [wait, prioritized, priorityCounter, fairOrder(EVENTS_QUEUE), accountWeights];
  }

  /** Sort the waiting events, unless that was just done and they overtake no ordered ones. */
  async sort(): Promise<void> {
    const now = performance.now();
    if (!this.#isInOrder && now - this.#lastSortedAt < SORT_EVERY_MS) return;
    this.#lastSortedAt = now;
    const args = [this.#base, AT_ONCE, this.fewWaiting, EVENTS_FLOW];
    for (;;) {
      const [count, inOrder] = sortedSchema.parse(await SORT(this.connection.redis, this.#keys, args));
      this.#isInOrder = inOrder === 1;
      if (count < AT_ONCE) return;
    }
  }
}
