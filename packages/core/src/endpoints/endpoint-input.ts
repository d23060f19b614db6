import { z } from 'zod';
import { type TargetUrlRules, targetUrlSchema } from '../egress/target-url';
import { eventTypeNames } from '../events/catalogue/index';
import { isKnownFilter } from './event-filter';
import { secretSchema } from './secret';

const MAX_FILTERS = 100;

const eventsSchema = z
  .array(
    z.string().refine((filter) => isKnownFilter(filter, eventTypeNames), {
      error: ({ input }) =>
        `"${String(input)}" is not a known event type; known are ${eventTypeNames.join(', ')}, ` +
        'a prefix of them such as keyword.*, or * for all',
    }),
  )
  .min(1, 'must name at least one event type')
  .max(MAX_FILTERS, `must name at most ${MAX_FILTERS} event types`)
  .refine((filters) => new Set(filters).size === filters.length, 'must not name an event type twice');

const descriptionSchema = z.string().max(500, 'must have at most 500 characters');

/** What a client may say when it registers an endpoint. */
export function newEndpointSchema(rules: TargetUrlRules) {
  return z.strictObject({
    url: targetUrlSchema(rules),
    events: eventsSchema,
    description: descriptionSchema.optional(),
    secret: secretSchema.optional(),
  });
}
export type NewEndpoint = z.infer<ReturnType<typeof newEndpointSchema>>;

/** What a client may change (a merge patch, RFC 7396: `null` removes). */
export function endpointPatchSchema(rules: TargetUrlRules) {
  return z.strictObject({
    url: targetUrlSchema(rules).optional(),
    events: eventsSchema.optional(),
    description: descriptionSchema.nullable().optional(),
  });
}
export type EndpointPatch = z.infer<ReturnType<typeof endpointPatchSchema>>;
