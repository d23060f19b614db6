import { z } from 'zod';
import { parsedOrUndefined } from '../kernel/json';
import { withStorageErrors } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import type { AccountId } from '../model/event';
import { DELIVERIES_QUEUE } from '../model/queue-names';
import { accountOfJob } from './account-of-job';
import { createJobKeys, jobFields } from './bullmq-layout';
import type { QueueConnection } from './bullmq-open-queue';

/** Whose deliveries wait, as far as some of them tell. */
export interface WaitingSample {
  /** How many wait in all. */
  readonly waiting: number;
  /** How many were looked at: all of them, or so many by chance. */
  readonly lookedAt: number;
  readonly byAccount: ReadonlyMap<AccountId, number>;
}

// Enough to find those with a tenth of all, and to say their share to within a few hundredths.
export const LOOKED_AT = 1_000;

// KEYS: prioritized. ARGV: what the keys of jobs begin with, how many. Gives how many wait, and the data of some.
const SAMPLE = defineScript(`
  local data = {}
  for _, job in ipairs(redis.call('ZRANDMEMBER', KEYS[1], ARGV[2])) do
    table.insert(data, redis.call('HGET', ARGV[1] .. job, '${jobFields.data}') or '')
  end
  return {redis.call('ZCARD', KEYS[1]), data}`);

const sampleSchema = z.tuple([z.number(), z.array(z.string())]);

/** Looks at some of the deliveries that wait in the fair order: there is no count of each account's. */
export function createBullmqWaitingSample({ redis, prefix }: QueueConnection) {
  return withStorageErrors({
    async read(): Promise<WaitingSample> {
      const { base, prioritized } = createJobKeys(prefix, DELIVERIES_QUEUE);
      const [waiting, data] = sampleSchema.parse(await SAMPLE(redis, [prioritized], [base, LOOKED_AT]));
      const byAccount = new Map<AccountId, number>();
      for (const text of data) {
        const account = accountOfJob(parsedOrUndefined(text));
        if (account !== undefined) byAccount.set(account, (byAccount.get(account) ?? 0) + 1);
      }
      return { waiting, lookedAt: data.length, byAccount };
    },
  });
}
