import { z } from 'zod';
import { type TargetUrlRules, targetUrlSchema } from '../egress/target-url';
import type { Fault } from '../kernel/app-error';
import { faultsOf } from '../kernel/faults';
import { inWords } from '../kernel/zod-words';
import { customHeadersSchema } from './custom-headers';
import { eventsSchema, optionSchemas } from './endpoint-options';
import { metadataSchema } from './metadata';
import { payloadFilterSchema } from './payload-filter-schema';

/** What a deployment permits is its own to say: a form must not refuse what the service would take. */
const whateverIsPermitted: TargetUrlRules = {
  allowHttp: true,
  allowInternalNames: true,
  classifyAddress: () => ({ allowed: true }),
};

const draftSchema = z.strictObject({
  url: targetUrlSchema(whateverIsPermitted),
  events: eventsSchema,
  filter: payloadFilterSchema.optional(),
  ...z.object(optionSchemas).partial().shape,
  metadata: metadataSchema.optional(),
  headers: customHeadersSchema.optional(),
});

/**
 * What is wrong with an endpoint that somebody is about to register, in a browser: by the rules and in the words of the
 * service, as far as they don't hang on its settings or on other endpoints.
 */
export function checkEndpointDraft(draft: unknown): readonly Fault[] {
  const { error } = draftSchema.safeParse(draft, inWords);
  return error ? faultsOf(error) : [];
}
