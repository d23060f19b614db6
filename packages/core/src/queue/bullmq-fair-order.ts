import { z } from 'zod';
import type { AccountId } from '../events/event';
import { keys } from '../redis/keys';
import { storageUnavailable } from '../redis/redis-errors';
import { defineScript } from '../redis/redis-script';
import { createJobKeys } from './bullmq-job-keys';
import { FAIR_ORDER } from './fair-order';
import type { QueueConnection } from './queue-connection';

/** What takes its turn: an endpoint of an account, say. */
export interface Flow {
  readonly accountId: AccountId;
  readonly flow: string;
}

/** How much of its account's turn a job takes up; more for what can wait, such as a replay. */
export type StepLength = number;

// KEYS: prioritized, state, weights. ARGV: length of a step, then account and flow of each job.
const PRIORITIES = defineScript(`${FAIR_ORDER}
  local priority_of, finish = fair_order(KEYS[1], KEYS[2], KEYS[3])
  local priorities = {}
  for i = 2, #ARGV, 2 do
    table.insert(priorities, priority_of(ARGV[i], ARGV[i + 1], tonumber(ARGV[1])))
  end
  finish()
  return priorities`);

const prioritiesSchema = z.array(z.number());

/** Gives jobs that are about to be added to a queue their places in its fair order. */
export class BullmqFairOrder {
  readonly #keys: readonly string[];

  constructor(
    private readonly connection: QueueConnection,
    queue: string,
  ) {
    const { prioritized } = createJobKeys(connection.prefix, queue);
    this.#keys = [prioritized, keys.fairOrder(queue), keys.accountWeights];
  }

  /** BullMQ's `priority` for each, in their order. @throws AppError `storage_unavailable`. */
  async prioritiesOf(flows: readonly Flow[], step: StepLength = 1): Promise<readonly number[]> {
    const args = flows.flatMap(({ accountId, flow }) => [accountId, flow]);
    try {
      return prioritiesSchema.parse(await PRIORITIES(this.connection.redis, this.#keys, [step, ...args]));
    } catch (error) {
      throw storageUnavailable(error);
    }
  }
}
