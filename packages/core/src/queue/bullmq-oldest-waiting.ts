import { z } from 'zod';
import { withStorageErrors } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import { workedQueues } from '../model/queue-names';
import { createJobKeys, jobFields, PRIORITY_SCORE } from './bullmq-layout';
import type { QueueConnection } from './bullmq-open-queue';

/** How long the oldest job of a queue has waited. */
export interface OldestWaiting {
  readonly queue: string;
  /** 0 if none waits. */
  readonly waitedMs: number;
}

/**
 * So many of those that are taken next are looked at. Of flows that wait each has its first one among the next few rounds, so
 * the oldest of all is among these as long as no more than some hundred flows wait; of more, it is the oldest of these.
 */
const LOOKED_AT = 1_000;

// A score among the prioritized counts up with each job that is put there: the lowest has waited for the longest. Those
// without a priority are taken from the right. KEYS: wait, prioritized. ARGV: what the keys of jobs begin with, how many.
const OLDEST = defineScript(`
  local first, oldest = nil, nil
  local next = redis.call('ZRANGE', KEYS[2], 0, ARGV[2] - 1, 'WITHSCORES')
  for i = 1, #next, 2 do
    local count = tonumber(next[i + 1]) % ${PRIORITY_SCORE}
    if not first or count < first then first, oldest = count, next[i] end
  end
  local since = {}
  for _, job in ipairs({redis.call('LINDEX', KEYS[1], -1) or '', oldest or ''}) do
    local times = redis.call('HMGET', ARGV[1] .. job, '${jobFields.waitingSince}', '${jobFields.timestamp}')
    table.insert(since, times[1] or times[2] or '')
  end
  return since`);

const sinceSchema = z.array(z.string().transform((text) => (text === '' ? undefined : Number(text))));

/** Reads how long the oldest job of each queue has waited, by a few commands however many wait. */
export function createBullmqOldestWaiting({ redis, prefix }: QueueConnection) {
  return withStorageErrors({
    /** @param now milliseconds since the Unix epoch. */
    async read(now: number): Promise<OldestWaiting[]> {
      return await Promise.all(
        workedQueues.map(async (queue) => {
          const { base, wait, prioritized } = createJobKeys(prefix, queue);
          const times = sinceSchema.parse(await OLDEST(redis, [wait, prioritized], [base, LOOKED_AT]));
          const since = Math.min(...times.filter((time) => time !== undefined), now);
          return { queue, waitedMs: now - since };
        }),
      );
    },
  });
}

export type BullmqOldestWaiting = ReturnType<typeof createBullmqOldestWaiting>;
