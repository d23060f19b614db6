import { z } from 'zod';
import { accountIdSchema } from '../events/event';
import { displayNameSchema } from './display-name';

/** What may be said of a new account. Without an id it is given one. */
export const newAccountSchema = z.strictObject({
  id: accountIdSchema.optional(),
  name: displayNameSchema.optional(),
});
export type NewAccount = z.output<typeof newAccountSchema>;
