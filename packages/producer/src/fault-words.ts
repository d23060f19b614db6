import type { EventFault } from './check-event';

/** An error of ajv: those of its members that faults are worded by. */
export interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** There if ajv is told to be `verbose`: then a fault names the type of a missing member, and the member that was meant. */
  readonly parentSchema?: Readonly<Record<string, unknown>>;
}

/**
 * ajv's error about an event's data in the words that the service has for all its faults, about the member that is wrong: ajv
 * points to the object around a missing or forbidden one. The service and this package word faults by it alike.
 */
export function faultOf({
  instancePath,
  keyword,
  params,
  parentSchema,
  message = 'does not match the schema of its type',
}: SchemaError): EventFault {
  const member = memberIn(params);
  const pointer = `/data${instancePath.split('/').map(shorten).join('/')}`;
  return {
    pointer: member === undefined ? pointer : pointer + jsonPointer([member]),
    detail: describe(keyword, params, member, propertiesIn(parentSchema)) ?? message,
  };
}

type Params = Readonly<Record<string, unknown>>;

function memberIn(params: Params): string | undefined {
  const member = params['additionalProperty'] ?? params['unevaluatedProperty'] ?? params['missingProperty'];
  return typeof member === 'string' ? member : undefined;
}

/** Known where ajv was told to give the schema with its errors. */
function propertiesIn(schema: Params | undefined): Params {
  const properties: unknown = schema?.['properties'];
  return typeof properties === 'object' && properties !== null ? { ...properties } : {};
}

function describe(
  keyword: string,
  params: Params,
  member: string | undefined,
  properties: Params,
): string | undefined {
  const limit = Number(params['limit']);
  switch (keyword) {
    case 'type':
      return `must be ${typesIn(params['type'])}`;
    case 'required':
      return describeMissing(member === undefined ? undefined : properties[member]);
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return describeUnknown(member ?? '', Object.keys(properties));
    case 'enum':
    case 'const':
      return allowedBy(params);
    case 'minimum':
      return `must be at least ${limit}`;
    case 'maximum':
      return `must be at most ${limit}`;
    case 'exclusiveMinimum':
      return `must be more than ${limit}`;
    case 'exclusiveMaximum':
      return `must be less than ${limit}`;
    case 'multipleOf':
      return `must be a multiple of ${Number(params['multipleOf'])}`;
    case 'minLength':
    case 'maxLength':
      return counted(keyword, limit, 'character', 'characters');
    case 'minItems':
    case 'maxItems':
      return counted(keyword, limit, 'entry', 'entries');
    case 'minProperties':
    case 'maxProperties':
      return counted(keyword, limit, 'member', 'members');
    case 'pattern':
      return `must match the pattern ${shorten(String(params['pattern']))}`;
    case 'format':
      return describeFormat(String(params['format']));
    default:
      return undefined;
  }
}

function typesIn(type: unknown): string {
  const types = Array.isArray(type) ? type.map(String) : String(type).split(',');
  return types.map((each) => OF_JSON[each] ?? NAMES[each] ?? each).join(', or ');
}

const OF_JSON: Readonly<Record<string, string>> = { integer: 'a whole number', number: 'a number' };

function describeMissing(schema: unknown): string {
  const type = typeof schema === 'object' && schema !== null ? (schema as Params)['type'] : undefined;
  return type === undefined ? 'is required' : `is required, and must be ${typesIn(type)}`;
}

function describeUnknown(name: string, known: readonly string[]): string {
  const nearest = nearestTo(name, known);
  return nearest === undefined ? UNKNOWN_NAME : `${UNKNOWN_NAME}; did you mean ${JSON.stringify(nearest)}?`;
}

const MOST_VALUES = 20;

/** ajv says that the value is none of those that are allowed, and not which these are. */
function allowedBy({ allowedValues, ...params }: Params): string | undefined {
  if ('allowedValue' in params) return `must be ${shorten(JSON.stringify(params['allowedValue']))}`;
  if (!Array.isArray(allowedValues)) return undefined;
  const shown = allowedValues.slice(0, MOST_VALUES).map((value) => shorten(JSON.stringify(value)));
  return `must be one of ${shown.join(', ')}${allowedValues.length > MOST_VALUES ? ', …' : ''}`;
}

function counted(keyword: string, limit: number, one: string, several: string): string {
  return `must have at ${keyword.startsWith('min') ? 'least' : 'most'} ${limit} ${limit === 1 ? one : several}`;
}

// By JSON Schema's names.
const NAMED_OTHERWISE: Readonly<Record<string, string>> = { 'date-time': 'datetime', uri: 'url' };

function describeFormat(format: string): string {
  const name = FORMATS[NAMED_OTHERWISE[format] ?? format];
  return name === undefined ? `must have the format ${format}` : `must be ${name}`;
}

/** Of a member of a body, or of a query parameter. */
export const UNKNOWN_NAME = 'is not a known name';

export const FORMATS: Readonly<Record<string, string>> = {
  url: 'a URL such as https://example.com/',
  datetime: 'a time such as 2026-11-21T12:00:00Z',
  email: 'a mail address such as ada@example.com',
};

export const NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

// Longer names are not spelling mistakes, and comparing takes time.
const LONGEST_MISSPELT = 64;
const FARTHEST = 0.4;

/** The known name that a misspelt one most likely means, if one is similar. */
export function nearestTo(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST_MISSPELT) return undefined;
  let nearest: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const distance = editsBetween(name.toLowerCase(), candidate.toLowerCase());
    if (distance > Math.max(name.length, candidate.length) * FARTHEST) continue;
    if (nearest === undefined || distance < nearest.distance) nearest = { name: candidate, distance };
  }
  return nearest?.name;
}

/** The number of characters to insert, delete or replace (Levenshtein). */
export function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** A path as a JSON Pointer (RFC 6901), with long names cut. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${shorten(String(part)).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

const MOST_SHOWN = 100;

/** Shorten a client's text in an error: a response must not be as long as the longest name. */
export function shorten(text: string): string {
  if (text.length <= MOST_SHOWN) return text;
  // Half of a surrogate pair is not a valid text.
  const cut = text.slice(0, MOST_SHOWN).replace(/[\uD800-\uDBFF]$/, '');
  return `${cut}…`;
}
