import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../model/event';

/** Erases an account. */
export const erasureJobSchema = z.object({
  account_id: accountIdSchema,
  /** How far it is with what no list leads to. */
  place: z
    .object({
      queue: z.number(),
      after: z.object({ id: z.string(), at: z.number() }).optional(),
      shard: z.number().optional(),
      of: z.number().optional(),
      search: z
        .object({ masters: z.array(z.string()).readonly(), master: z.string(), cursor: z.string() })
        .optional(),
    })
    .optional(),
});
export type ErasureJob = z.input<typeof erasureJobSchema>;

/** One for each account. An account's id may be a bare integer, which BullMQ does not take. */
export function erasureJobId(accountId: AccountId): string {
  return `account.${accountId}`;
}
