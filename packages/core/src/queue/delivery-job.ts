import { z } from 'zod';
import { accountIdSchema } from '../domain/account';
import { type DeliveryRequested, triggers } from '../domain/delivery';

/** The request that a delivery is to be sent for, as its job has it, or its entry in a lane or a batch. */
export const requestSchema = z.object({
  id: z.string(),
  trigger: z.enum(triggers).exclude(['schedule']),
  at: z.number(),
});

/**
 * A delivery's job: its id is the delivery's id, so it carries little more than the account. Never payload,
 * never secret.
 */
export const deliveryJobSchema = z.object({
  account_id: accountIdSchema,
  /** The request that it was added for, if a client requested the delivery once more. */
  request: requestSchema.optional(),
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
}: Pick<z.output<typeof deliveryJobSchema>, 'request'>): DeliveryRequested | undefined {
  return request && { requestId: request.id, trigger: request.trigger, requestedAt: request.at };
}
