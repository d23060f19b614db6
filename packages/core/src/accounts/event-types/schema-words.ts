import type { ErrorObject } from 'ajv/dist/2020';
import { jsonPointer, shorten, type ValidationError } from '../../platform/app-error';
import { FORMATS, NAMES, nearestTo, UNKNOWN_NAME } from '../../platform/zod-words';

/**
 * ajv's error in the words that errors of built-in types have, about the member that is wrong: ajv points to the object around
 * a missing or forbidden one.
 */
export function inWordsOfSchema(error: ErrorObject): ValidationError {
  const {
    instancePath,
    keyword,
    params,
    parentSchema,
    message = 'does not match the schema of its type',
  } = error;
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
function propertiesIn(schema: ErrorObject['parentSchema']): Params {
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
