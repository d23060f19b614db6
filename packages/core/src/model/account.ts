import { z } from 'zod';
import { AppError } from '../kernel/app-error';
import { textSchema } from '../kernel/text';
import { type AccountId, accountIdSchema } from './event';

/** The operator's own account. It always exists, and its admin keys may act for every other account. */
export const DEFAULT_ACCOUNT = 'default' as AccountId;

export const ACCOUNT_ID_PREFIX = 'acct';

export const accountWeightSchema = z.int().min(1).max(100);

/** In bytes; 0: as much as there is room for. */
export const accountQuotaSchema = z.int().min(0);

/** An account as it is stored. What belongs to one is invisible to all others. */
export const accountSchema = z.object({
  id: accountIdSchema,
  name: z.string().optional(),
  /** How much of what there is it gets where accounts take turns; absent: 1. */
  weight: accountWeightSchema.optional(),
  /** How many bytes it may store; absent: as many as any. */
  quotaBytes: accountQuotaSchema.optional(),
  /** Tells the request that created it from any other; old ones lack it. */
  creation: z.string().optional(),
  /** Milliseconds since the Unix epoch. */
  createdAt: z.number(),
  /** When its erasure was asked for. From then on it is nobody's any more: there is nothing left to do but to erase it. */
  erasingSince: z.number().optional(),
});
export type Account = Readonly<z.infer<typeof accountSchema>>;

/** One that is being erased is there no more, for all but its erasure. */
export function isThere(account: Account | undefined): account is Account {
  return account !== undefined && account.erasingSince === undefined;
}

// Anything but control characters, which a terminal would obey: in this form as most generators of code know no \p{Cc}.
// oxlint-disable-next-line no-control-regex -- it is to find them
const NO_CONTROL_CHARACTERS = /^[^\x00-\x1f\x7f-\x9f]*$/;

/** What people call an account or a key, without the white space around it. */
export const displayNameSchema = textSchema(100)
  .regex(NO_CONTROL_CHARACTERS, 'must not hold control characters')
  .regex(/\S/, 'must not be empty')
  .trim();

export function accountNotFound(): AppError {
  return new AppError('not_found', 'There is no account with this id.');
}
