import { z } from 'zod';
import { type TargetUrlRules, targetUrlSchema } from '../egress/target-url';
import { foundElsewhere } from '../kernel/zod-words';
import { endpointStatusSchema } from '../model/endpoint';
import { customHeadersPatchSchema, customHeadersSchema } from './custom-headers';
import { eventsSchema, optionSchemas } from './endpoint-options';
import { metadataPatchSchema, metadataSchema } from './metadata';
import { payloadFilterSchema } from './payload-filter-schema';
import { secretSchema } from './secret';
import { newTlsSchema, tlsPatchSchema } from './tls-input';

// One value, which a patch replaces as a whole: of a merged one nobody knows what it says, and `null` is a value in it.
const filterSchema = payloadFilterSchema.transform((filter) => JSON.stringify(filter));

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
      max_concurrency: optionSchemas.max_concurrency.nullish(),
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
  max_concurrency: 'maxConcurrency',
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
