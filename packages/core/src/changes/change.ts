import { z } from 'zod';
import { attemptOutcomeSchema } from '../model/attempt';
import { endStatuses } from '../model/delivery-log';
import { endpointIdSchema } from '../model/endpoint';
import { eventIdSchema } from '../model/event';
import { replayIdSchema } from '../model/replay';

export const deliveryChanges = ['created', 'attempted', 'held', 'requested', 'ended'] as const;
export const endpointChanges = [
  'created',
  'updated',
  'deleted',
  'enabled',
  'disabled',
  'breaker_opened',
  'breaker_closed',
] as const;
export const replayChanges = ['progress', 'ended'] as const;

/** What a change says of a delivery. What it does not know is absent. Times are in milliseconds since the Unix epoch. */
const changedDeliverySchema = z.object({
  eventId: eventIdSchema,
  endpointId: endpointIdSchema,
  type: z.string().optional(),
  status: z.enum(['pending', 'held', ...endStatuses]).optional(),
  attemptCount: z.int().optional(),
  lastOutcome: attemptOutcomeSchema.nullable().optional(),
  lastResponseStatus: z.int().nullable().optional(),
  nextAttemptAt: z.number().nullable().optional(),
  createdAt: z.number().optional(),
});
export type ChangedDelivery = Readonly<z.infer<typeof changedDeliverySchema>>;

/** Something that has happened to what an account has. */
export const changeSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('delivery'),
    change: z.enum(deliveryChanges),
    delivery: changedDeliverySchema,
  }),
  z.object({ kind: z.literal('webhook'), change: z.enum(endpointChanges), endpointId: endpointIdSchema }),
  z.object({
    kind: z.literal('replay'),
    change: z.enum(replayChanges),
    replayId: replayIdSchema,
    endpointId: endpointIdSchema,
  }),
  /** Changes came before this that are not there: too many at once, or they could not be written. */
  z.object({ kind: z.literal('reset') }),
]);
export type Change = Readonly<z.infer<typeof changeSchema>>;

/** The endpoint that it is about; `undefined` if it concerns all. */
export function endpointOf(change: Change): string | undefined {
  if (change.kind === 'reset') return undefined;
  return change.kind === 'delivery' ? change.delivery.endpointId : change.endpointId;
}
