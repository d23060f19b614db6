import { z } from 'zod';
import { endpointIdSchema } from '../endpoints/endpoint';
import { accountIdSchema } from '../events/event';

/** Asks for a look at an endpoint's gate. */
export const wakeJobSchema = z.object({ account_id: accountIdSchema, endpoint_id: endpointIdSchema });
export type WakeJob = z.input<typeof wakeJobSchema>;
