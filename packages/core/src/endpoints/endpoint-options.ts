import { z } from 'zod';
import { sentSettings } from '../domain/setting-schemas';
import { type TargetUrlRules, targetUrlSchema } from '../domain/target-url';
import { type ValidationError, validationErrorsOf } from '../platform/app-error';
import { inWords, textSchema } from '../platform/zod-words';
import { payloadFilterSchema } from './filters/payload-filter';

const MAX_FILTERS = 100;

// The form of filters for API descriptions. Any other text matches nothing, and is refused as unknown.
const FILTER_FORM = {
  pattern: '^([*]|[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)*[.][*]|[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)+)$',
  maxLength: 102,
};

// Which types there are is looked up: see `requireKnownFilters`.
/** Which events an endpoint asks for. */
export const eventsSchema = z
  .array(z.string().meta(FILTER_FORM))
  .min(1, 'must name at least one event type')
  .max(MAX_FILTERS, `must name at most ${MAX_FILTERS} event types`)
  .refine((filters) => new Set(filters).size === filters.length, 'must not name an event type twice')
  .meta({ uniqueItems: true, example: ['order.*', 'invoice.paid'] });

export const MAX_METADATA = 50;

const keySchema = textSchema(64).min(1);
const metadataValueSchema = textSchema(500);

/** The client's own notes on an endpoint. */
export const metadataSchema = z.record(keySchema, metadataValueSchema).meta({ maxProperties: MAX_METADATA });

/** The same as a merge patch: `null` removes a member. */
export const metadataPatchSchema = z.record(keySchema, metadataValueSchema.nullable());

export const MAX_HEADERS = 20;
const MAX_VALUE_LENGTH = 1_000;

/** What stands for a value when an endpoint is read back. */
export const MASKED_VALUE = '***';

// RFC 9110: a field name is a token; a value is visible ASCII with spaces and tabs inside.
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

// Ours, and those that say how the message itself is to be read: an endpoint that set one of them could forge a
// signature's surroundings or smuggle a second request into the connection.
const FORBIDDEN = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]);
const FORBIDDEN_PREFIXES = ['proxy-', 'webhook-', 'x-service-'];

const nameSchema = z
  .string()
  .regex(NAME, 'must be the name of an HTTP header, such as X-Tenant')
  .refine(
    (name) => !isForbidden(name.toLowerCase()),
    'is a header that Hookferry sets itself; choose another name',
  );

const valueSchema = z
  .string()
  .max(MAX_VALUE_LENGTH, `must have at most ${MAX_VALUE_LENGTH} characters`)
  .regex(VALUE, 'must be visible ASCII characters, with no white space around them')
  .refine((value) => value !== MASKED_VALUE, 'is the mask that responses show, not a value');

/** Headers of an endpoint's own; the names inside are in lower case. */
export const customHeadersSchema = z
  .record(nameSchema, valueSchema)
  .meta({ maxProperties: MAX_HEADERS })
  .transform(lowerNames);

/** The same as a merge patch: `null` removes a header. */
export const customHeadersPatchSchema = z.record(nameSchema, valueSchema.nullable()).transform(lowerNames);

function isForbidden(name: string): boolean {
  return FORBIDDEN.has(name) || FORBIDDEN_PREFIXES.some((prefix) => name.startsWith(prefix));
}

function lowerNames<Value>(headers: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** What a deployment permits is its own to say: a form must not refuse what the service would take. */
const whateverIsPermitted: TargetUrlRules = {
  allowHttp: true,
  allowInternalNames: true,
  addressPolicy: { classify: () => ({ allowed: true }) },
};

const draftSchema = z.strictObject({
  url: targetUrlSchema(whateverIsPermitted),
  events: eventsSchema,
  filter: payloadFilterSchema.optional(),
  ...z.object(sentSettings).partial().shape,
  metadata: metadataSchema.optional(),
  headers: customHeadersSchema.optional(),
});

/**
 * What is wrong with an endpoint that somebody is about to register, in a browser: by the rules and in the words of the
 * service, as far as they don't hang on its settings or on other endpoints.
 */
export function checkEndpointDraft(draft: unknown): readonly ValidationError[] {
  const { error } = draftSchema.safeParse(draft, inWords);
  return error ? validationErrorsOf(error) : [];
}
