import { z } from 'zod';
import { accountIdSchema } from '../events/event';

/** A delivery's job: its id is the delivery's id, so the account is all it carries. Never payload, never secret. */
export const deliveryJobSchema = z.object({ account_id: accountIdSchema });
export type DeliveryJob = z.input<typeof deliveryJobSchema>;
