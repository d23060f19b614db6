import { EVENTS_QUEUE } from '../domain/queues';
import type { Step } from '../platform/redis-script';
import { createJobKeys } from './bullmq-layout';
import type { QueueConnection } from './bullmq-on-demand-queue';
import { type SortPushedReply, sortPushed } from './bullmq-pushed-events.script';

const AT_ONCE = 200;
// Events come by the hundred within a moment: sorting once serves them all.
const SORT_EVERY_MS = 10;

/**
 * Puts events that producers have pushed into the fair order, account by account. BullMQ takes jobs without a
 * priority first, as they come, and those of one producer would keep all others waiting.
 */
export class PushedEvents {
  readonly #sortSome: Step<SortPushedReply>;
  #lastSortedAt = Number.NEGATIVE_INFINITY;
  #isInOrder = false;

  /** @param fewWaiting up to this many may wait without an order: workers take them at once. */
  constructor(
    private readonly connection: QueueConnection,
    fewWaiting: number,
  ) {
    const { base } = createJobKeys(connection.prefix, EVENTS_QUEUE);
    this.#sortSome = sortPushed({ base, most: AT_ONCE, few: fewWaiting });
  }

  /** Sort the waiting events, unless that was just done and they overtake no ordered ones. */
  async sort(): Promise<void> {
    const now = performance.now();
    if (!this.#isInOrder && now - this.#lastSortedAt < SORT_EVERY_MS) return;
    this.#lastSortedAt = now;
    for (;;) {
      const { sorted, isInOrder } = await this.#sortSome(this.connection.redis);
      this.#isInOrder = isInOrder;
      if (sorted < AT_ONCE) return;
    }
  }
}
