import { z } from 'zod';
import { accountQuotaSchema, accountWeightSchema, displayNameSchema } from '../model/account';
import { accountIdSchema } from '../model/event';

/** What may be said of a new account. Without an id it is given one. */
export const newAccountSchema = z
  .strictObject({
    id: accountIdSchema.optional(),
    name: displayNameSchema.optional(),
    weight: accountWeightSchema.optional(),
    quota_bytes: accountQuotaSchema.optional(),
  })
  .meta({ id: 'NewAccount' });
export type NewAccount = z.output<typeof newAccountSchema>;

/** What may be changed of an account. */
export const accountPatchSchema = z
  .strictObject({
    weight: accountWeightSchema.optional(),
    /** `null`: as for all accounts. */
    quota_bytes: accountQuotaSchema.nullish(),
  })
  .meta({ id: 'AccountPatch' });
export type AccountPatch = z.output<typeof accountPatchSchema>;
