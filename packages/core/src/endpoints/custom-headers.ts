import { z } from 'zod';

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
  .regex(NAME, 'must be the name of an HTTP header')
  .refine((name) => !isForbidden(name.toLowerCase()), 'is a header that deliveries set themselves');

const valueSchema = z
  .string()
  .max(MAX_VALUE_LENGTH, `must have at most ${MAX_VALUE_LENGTH} characters`)
  .regex(VALUE, 'must be visible ASCII characters, with no white space around them')
  .refine((value) => value !== MASKED_VALUE, 'is the mask that values are read back with, not a value');

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
