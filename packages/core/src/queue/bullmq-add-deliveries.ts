import { z } from 'zod';
import type { NewDelivery } from '../intake/fan-out-event';
import { systemClock } from '../kernel/clock';
import { storageUnavailable } from '../kernel/redis-errors';
import { defineScript, type ScriptTarget } from '../kernel/redis-script';
import { deliveryIdOf } from '../model/delivery';
import { queueKeysOf } from '../model/keys';
import { DELIVERIES_QUEUE } from '../model/queue-names';
import { createJobKeys, jobFields, PUT_BACK } from './bullmq-layout';
import type { QueueConnection } from './bullmq-open-queue';
import type { DeliveryJob } from './delivery-job';
import { FAIR_ORDER } from './fair-order';

/** A delivery that is to have a job. */
export interface DeliveryToAdd extends NewDelivery {
  readonly data: DeliveryJob;
  /** How much of its account's turn it takes up; more for what can wait, such as a replay. */
  readonly step: number;
}

/** Shortest names for what each pending delivery repeats: the job's id says the rest. */
const JOB_NAME = 'd';

// The retry policy decides when a delivery is at its end; BullMQ only has to be far from deciding it first. Each option is
// stored with each job, so there are no more than needed: what is the same for every job (its removal, its backoff) is the
// worker's setting.
const JOB_OPTIONS = JSON.stringify({ attempts: 10_000 });

// As BullMQ's own `add` does it, but each at its place in the fair order, all in one step, and without what only jobs that
// belong together need. KEYS: prioritized, priority counter, meta, active, marker, events, the fair order's state, weights.
// ARGV: what the keys of jobs begin with, now, then account, endpoint, job, data, length of its step and time of acceptance
// ('' if unknown) of each. Gives how many were added.
const ADD = defineScript(`${FAIR_ORDER}${PUT_BACK}
  local prioritized, counter, meta, active, marker, events = unpack(KEYS)
  local queue = {base = ARGV[1], prioritized = prioritized, counter = counter, meta = meta, active = active}
  queue.marker, queue.events = marker, events
  local priority_of, finish = fair_order(prioritized, KEYS[7], KEYS[8])
  local added = 0
  for i = 3, #ARGV, 6 do
    local account, endpoint, job, data, step, accepted_at = unpack(ARGV, i, i + 5)
    if redis.call('EXISTS', queue.base .. job) == 0 then
      redis.call('HSET', queue.base .. job, 'name', '${JOB_NAME}', 'data', data, 'opts', '${JOB_OPTIONS}',
        'timestamp', ARGV[2], 'delay', 0, '${jobFields.acceptedAt}', accepted_at)
      put_in_place(queue, job, priority_of(account, endpoint, tonumber(step)))
      redis.call('XADD', events, 'MAXLEN', '~', 10000, '*', 'event', 'waiting', 'jobId', job)
      added = added + 1
    end
  end
  if added > 0 then
    finish()
    wake_workers(queue)
  end
  return added`);

/** Gives deliveries their jobs. One that has a job keeps that, in whichever state. */
export function createAddDeliveries({ redis, prefix }: QueueConnection) {
  const jobKeys = createJobKeys(prefix, DELIVERIES_QUEUE);
  const { prioritized, priorityCounter, meta, active, marker, events } = jobKeys;
  const { fairOrder, accountWeights } = queueKeysOf(prefix);
  const order = [fairOrder(DELIVERIES_QUEUE), accountWeights];
  const scriptKeys = [prioritized, priorityCounter, meta, active, marker, events, ...order];

  /** How many had no job before. @throws AppError `storage_unavailable`; they may be on the queue all the same. */
  return async function addDeliveries(
    deliveries: readonly DeliveryToAdd[],
    target: ScriptTarget = redis,
  ): Promise<number> {
    if (deliveries.length === 0) return 0;
    try {
      const added = await ADD(target, scriptKeys, [
        jobKeys.base,
        systemClock(),
        ...deliveries.flatMap(argumentsOf),
      ]);
      return z.number().parse(added);
    } catch (error) {
      throw storageUnavailable(error);
    }
  };
}

function argumentsOf({ data, step, ...delivery }: DeliveryToAdd): readonly (string | number)[] {
  const { accountId, endpointId, acceptedAt = '' } = delivery;
  return [accountId, endpointId, deliveryIdOf(delivery), JSON.stringify(data), step, acceptedAt];
}
