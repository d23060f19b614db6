import { z } from 'zod';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE } from '../domain/queues';
import type { Emit } from '../domain/signal';
import type { Clock } from '../platform/clock';
import { DueTimer } from '../platform/due-timer';
import type { Atomic } from '../platform/redis-atomic';
import { defineScript } from '../platform/redis-script';
import { createJobKeys, DELAYED_SCORE, jobFields } from './bullmq-layout';
import { FAIR_ORDER, PUT_BACK } from './libraries';

export interface DueDeliveriesOptions {
  /** Of the shard. */
  readonly prefix: string;
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Delivery jobs are delayed by this much longer than they need. BullMQ would put them back with their
 * original priority: behind today's jobs, or before them, thousands at once when a receiver has failed as
 * many. So this file puts them back first, with their position in the present fair order, and BullMQ is the
 * fallback.
 */
export const DUE_GRACE_MS = 250;

const AT_ONCE = 200;

// BullMQ's score of a delayed job is its time with 12 bits behind it. KEYS: delayed, prioritized, priority
// counter, meta, active, marker, events, the fair order's state, weights. ARGV: prefix of the jobs' keys,
// until when, how many. Gives how many it put back, and when the next one is due.
const PUT_BACK_DUE = defineScript(
  `
  local delayed, prioritized, counter, meta, active, marker, events = unpack(KEYS)
  local until_score = (tonumber(ARGV[2]) + 1) * ${DELAYED_SCORE} - 1
  local jobs = redis.call('ZRANGEBYSCORE', delayed, 0, until_score, 'LIMIT', 0, ARGV[3])
  if #jobs > 0 then
    local queue = {base = ARGV[1], prioritized = prioritized, counter = counter, meta = meta, active = active}
    queue.marker, queue.events = marker, events
    local priority_of, finish = fair_order(prioritized, KEYS[8], KEYS[9])
    redis.call('ZREM', delayed, unpack(jobs))
    for _, job in ipairs(jobs) do
      local account = string.match(redis.call('HGET', ARGV[1] .. job, '${jobFields.data}') or '', '"account_id":"([%w_-]+)"') or ''
      put_back(queue, job, priority_of(account, string.match(job, '[^.]*$'), 1))
    end
    finish()
    wake_workers(queue)
  end
  local next = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
  return {#jobs, next[2] and math.floor(tonumber(next[2]) / ${DELAYED_SCORE}) or -1}`,
  FAIR_ORDER,
  PUT_BACK,
);

const putBackSchema = z.tuple([z.number(), z.number()]);

/**
 * Puts deliveries back onto their queue when their next attempt is due, each at its position in the fair
 * order.
 */
export class DueDeliveries {
  readonly #keys: readonly string[];
  readonly #base: string;
  readonly #timer: DueTimer;

  constructor(private readonly options: DueDeliveriesOptions) {
    const jobKeys = createJobKeys(options.prefix, DELIVERIES_QUEUE);
    const { base, delayed, prioritized, priorityCounter, meta, active, marker, events } = jobKeys;
    this.#base = base;
    const queue = [delayed, prioritized, priorityCounter, meta, active, marker, events];
    const { fairOrder, accountWeights } = queueKeysOf(options.prefix);
    this.#keys = [...queue, fairOrder(DELIVERIES_QUEUE), accountWeights];
    const { atomic } = options;
    this.#timer = new DueTimer({ run: (patienceMs) => this.#run(patienceMs), flush: () => atomic([]) });
  }

  start(): void {
    this.#timer.start();
  }

  async stop(): Promise<void> {
    await this.#timer.stop();
  }

  /** Expect a delivery to be due at a time. Deliveries of other processes are found within about a second. */
  expect(dueAt: number): void {
    this.#timer.expectIn(dueAt - this.options.clock());
  }

  /**
   * Put back all that are due. Gives when the next one is due, if there is one.
   *
   * @param patienceMs how long that may wait to go along with other scripts.
   */
  async runOnce(patienceMs = 0): Promise<number | undefined> {
    const { atomic, clock } = this.options;
    for (;;) {
      const args = [this.#base, clock() + DUE_GRACE_MS, AT_ONCE];
      let reply: unknown;
      await atomic(
        [async (target) => void (reply = await PUT_BACK_DUE(target, this.#keys, args))],
        patienceMs,
      );
      const [count, next] = putBackSchema.parse(reply);
      if (count < AT_ONCE) return next < 0 ? undefined : next - DUE_GRACE_MS;
    }
  }

  async #run(patienceMs: number): Promise<number | undefined> {
    const { clock, emit } = this.options;
    try {
      const next = await this.runOnce(patienceMs);
      return next === undefined ? undefined : next - clock();
    } catch (error) {
      emit({ name: 'task.failed', task: 'queue due deliveries', error });
      return undefined;
    }
  }
}
