import { z } from 'zod';
import { type DeliveryParts, deliveryIdOf, parseDeliveryId } from '../deliveries/delivery-id';
import { accountIdSchema } from '../events/event';
import { type JobSide, jobSides } from '../gates/parked';

/** A delivery's job: its id is the delivery's id, so the account is nearly all it carries. Never payload, never secret. */
export const deliveryJobSchema = z.object({
  account_id: accountIdSchema,
  /** Whether it waited at its endpoint's gate. */
  released: z.literal(true).optional(),
});
export type DeliveryJob = z.input<typeof deliveryJobSchema>;

const SECOND_SIDE_MARK = '~';

/**
 * A delivery has two job ids, used in turn: when a parked delivery is put back onto the queue, the job that parked it
 * may not have ended yet, and BullMQ ignores a job whose id is still there.
 */
export function deliveryJobId(parts: DeliveryParts, side: JobSide): string {
  return deliveryIdOf(parts) + (side === 'second' ? SECOND_SIDE_MARK : '');
}

/** Both. */
export function deliveryJobIds(parts: DeliveryParts): string[] {
  return jobSides.map((side) => deliveryJobId(parts, side));
}

/** `undefined` for a text that is no such id. */
export function parseDeliveryJobId(text: string): (DeliveryParts & { readonly side: JobSide }) | undefined {
  const isSecond = text.endsWith(SECOND_SIDE_MARK);
  const parts = parseDeliveryId(isSecond ? text.slice(0, -SECOND_SIDE_MARK.length) : text);
  return parts && { ...parts, side: isSecond ? 'second' : 'first' };
}
