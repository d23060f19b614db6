import { z } from 'zod';
import { storageUnavailable } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import type { AccountId } from '../model/event';
import { keys } from '../model/keys';
import { createJobKeys } from './bullmq-job-keys';
import { FAIR_ORDER } from './fair-order';
import type { QueueConnection } from './queue-connection';

// KEYS: prioritized, state, weights. ARGV: account, flow.
const PRIORITY = defineScript(`${FAIR_ORDER}
  local priority_of, finish = fair_order(KEYS[1], KEYS[2], KEYS[3])
  local priority = priority_of(ARGV[1], ARGV[2], 1)
  finish()
  return priority`);

/** Gives a job that is to be put back its place in a queue's fair order, for BullMQ to put it there. */
export class BullmqFairOrder {
  readonly #keys: readonly string[];

  constructor(
    private readonly connection: QueueConnection,
    queue: string,
  ) {
    const { prioritized } = createJobKeys(connection.prefix, queue);
    this.#keys = [prioritized, keys.fairOrder(queue), keys.accountWeights];
  }

  /** BullMQ's `priority`. @throws AppError `storage_unavailable`. */
  async priorityOf(accountId: AccountId, flow: string): Promise<number> {
    try {
      return z.number().parse(await PRIORITY(this.connection.redis, this.#keys, [accountId, flow]));
    } catch (error) {
      throw storageUnavailable(error);
    }
  }
}
