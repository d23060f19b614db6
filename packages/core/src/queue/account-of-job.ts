import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../model/event';
import { rejectedJobSchema } from './rejected-job';

// All our jobs say whose they are by the first; a replay's is the replay as it was ordered.
const jobOfAccountSchema = z.union([
  z.object({ account_id: accountIdSchema }).transform(({ account_id }) => account_id),
  z.object({ accountId: accountIdSchema }).transform(({ accountId }) => accountId),
]);

/** Whose job it says that it is, on any of our queues: also one that is not as it should be. */
export function accountOfJob(data: unknown): AccountId | undefined {
  return jobOfAccountSchema.safeParse(data).data;
}

/** Whose job it was that became a dead letter for not being a valid event. */
export function accountOfRejectedJob(data: unknown): AccountId | undefined {
  const rejected = rejectedJobSchema.safeParse(data);
  return rejected.success ? accountOfJob(rejected.data.job.data) : undefined;
}
