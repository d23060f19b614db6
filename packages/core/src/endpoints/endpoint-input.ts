import { z } from 'zod';
import { type TargetUrlRules, targetUrlSchema } from '../egress/target-url';
import { sentDurationSchema } from '../kernel/duration';
import { textSchema } from '../kernel/text';
import { foundElsewhere } from '../kernel/zod-words';
import { endpointStatusSchema, endpointUidSchema, orderings } from '../model/endpoint';
import { customHeadersPatchSchema, customHeadersSchema } from './custom-headers';
import { FILTER_FORM } from './event-filter';
import { metadataPatchSchema, metadataSchema } from './metadata';
import { payloadFilterSchema } from './payload-filter-schema';
import { secretSchema } from './secret';
import { newTlsSchema, tlsPatchSchema } from './tls-input';

const MAX_FILTERS = 100;

// Which types there are is looked up: see `requireKnownFilters`.
export const eventsSchema = z
  .array(z.string().meta(FILTER_FORM))
  .min(1, 'must name at least one event type')
  .max(MAX_FILTERS, `must name at most ${MAX_FILTERS} event types`)
  .refine((filters) => new Set(filters).size === filters.length, 'must not name an event type twice')
  .meta({ uniqueItems: true, example: ['keyword.*', 'brief.created'] });

// One value, which a patch replaces as a whole: of a merged one nobody knows what it says, and `null` is a value in it.
const filterSchema = payloadFilterSchema.transform((filter) => JSON.stringify(filter));

const MAX_DELAYS = 30;
const MAX_DELAY_MS = 7 * 86_400_000;

/** What an endpoint may have or lack; `null` in a patch takes it away. */
const optionSchemas = {
  description: textSchema(500),
  rate_limit: z.int().min(1).max(10_000),
  ordering: z.enum(orderings),
  uid: endpointUidSchema,
  timeout_ms: z.int().min(1_000).max(60_000),
  retry_schedule: z
    .array(
      sentDurationSchema
        .refine((delayMs) => delayMs <= MAX_DELAY_MS, 'must be at most 7d')
        .meta({ description: 'At most `7d`.', example: '5m' }),
    )
    .min(1, 'must have at least one delay; attempts = entries + 1')
    .max(MAX_DELAYS, `must have at most ${MAX_DELAYS} delays`),
};

/** What a client may say when it registers an endpoint. */
export function newEndpointSchema(rules: TargetUrlRules) {
  return z
    .strictObject({
      url: targetUrlSchema(rules),
      events: eventsSchema,
      filter: filterSchema.optional(),
      secret: secretSchema.optional(),
      // Later it is changed by enabling and disabling.
      status: endpointStatusSchema.optional(),
      tls: newTlsSchema.optional(),
      ...z.object(optionSchemas).partial().shape,
      metadata: metadataSchema.optional(),
      headers: customHeadersSchema.optional(),
    })
    .transform(renameMembers)
    .meta({ id: 'NewWebhook' });
}
export type NewEndpoint = z.output<ReturnType<typeof newEndpointSchema>>;

/** What a client may change (a merge patch, RFC 7396: `null` removes). */
export function endpointPatchSchema(rules: TargetUrlRules) {
  return z
    .strictObject({
      url: targetUrlSchema(rules).optional(),
      events: eventsSchema.optional(),
      filter: filterSchema.nullish(),
      description: optionSchemas.description.nullish(),
      rate_limit: optionSchemas.rate_limit.nullish(),
      ordering: optionSchemas.ordering.nullish(),
      uid: optionSchemas.uid.nullish(),
      timeout_ms: optionSchemas.timeout_ms.nullish(),
      retry_schedule: optionSchemas.retry_schedule.nullish(),
      tls: tlsPatchSchema.nullish(),
      metadata: metadataPatchSchema.nullish(),
      headers: customHeadersPatchSchema.nullish(),
    })
    .register(foundElsewhere, {
      status: 'is changed by POST /v1/webhooks/{id}/disable and POST /v1/webhooks/{id}/enable',
      secret: 'is changed by POST /v1/webhooks/{id}/rotate-secret',
    })
    .transform(renameMembers)
    .meta({ id: 'WebhookPatch' });
}
export type EndpointPatch = z.output<ReturnType<typeof endpointPatchSchema>>;

/** What a client may say of a listener: of an endpoint's members those that mean something without a URL. */
export const listenerMembers = {
  events: eventsSchema.default(['*']),
  secret: secretSchema.optional(),
  ...z
    .object(optionSchemas)
    .pick({ description: true, ordering: true, timeout_ms: true, retry_schedule: true })
    .partial().shape,
};

const INNER_NAMES = {
  rate_limit: 'rateLimit',
  timeout_ms: 'timeoutMs',
  retry_schedule: 'retrySchedule',
} as const;

type InnerName<Name> = Name extends keyof typeof INNER_NAMES ? (typeof INNER_NAMES)[Name] : Name;

/** JSON's names end at the door. */
export function renameMembers<Input extends object>(input: Input) {
  const renamed = Object.entries(input).map(([name, value]) => [
    Object.hasOwn(INNER_NAMES, name) ? INNER_NAMES[name as keyof typeof INNER_NAMES] : name,
    value,
  ]);
  return Object.fromEntries(renamed) as { [Name in keyof Input as InnerName<Name>]: Input[Name] };
}
