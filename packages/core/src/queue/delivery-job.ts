import { z } from 'zod';
import { type DeliveryRequested, triggers } from '../model/delivery';
import { accountIdSchema } from '../model/event';

/** A delivery's job: its id is the delivery's id, so the account is nearly all it carries. Never payload, never secret. */
export const deliveryJobSchema = z.object({
  account_id: accountIdSchema,
  /** What it was added for, if somebody has asked for the delivery to be sent once more. */
  request: z
    .object({ id: z.string(), trigger: z.enum(triggers).exclude(['schedule']), at: z.number() })
    .optional(),
});
export type DeliveryJob = z.input<typeof deliveryJobSchema>;

export function encodeRequest({
  requestId: id,
  trigger,
  requestedAt: at,
}: DeliveryRequested): NonNullable<DeliveryJob['request']> {
  return { id, trigger, at };
}

export function decodeRequest({
  request,
}: z.output<typeof deliveryJobSchema>): DeliveryRequested | undefined {
  return request && { requestId: request.id, trigger: request.trigger, requestedAt: request.at };
}
