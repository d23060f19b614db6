import { Ajv2020, type AnySchema, type ErrorObject } from 'ajv/dist/2020';
import type { FuncKeywordDefinition, RegExpEngine } from 'ajv/dist/types';
import addFormats from 'ajv-formats';
import { RE2JS } from 're2js';
import { AppError, type Fault } from '../kernel/app-error';
import { jsonPointer, shorten } from '../kernel/faults';
import { schemaFaultOf, UnusableRegExp } from './schema-fault';
import { createWorkMeter, meterWork, TooMuchWork, type WorkMeter } from './schema-work';

/** What is wrong with an event's `data`; nothing, if nothing is. */
export type CheckData = (data: unknown) => readonly Fault[];

/**
 * Makes a check out of a JSON Schema (2020-12). It refers to itself at most: nothing is fetched. Whatever the schema is like,
 * a check ends soon: data that would take too long are refused.
 *
 * @throws AppError `invalid_request` when it is no schema that can be relied on; an unknown keyword is a fault too.
 */
export function compileDataSchema(schema: AnySchema): CheckData {
  const meter = createWorkMeter();
  // A new one each time: ajv keeps every schema by its `$id`, and would refuse the next version.
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    code: { regExp: createLinearRegExp(meter) },
  });
  addFormats.default(ajv);
  ajv.addFormat('url', isUrl);
  ajv.removeKeyword('uniqueItems').addKeyword(createUniqueItems(meter));
  meterWork(ajv, schema, meter);
  const validate = compile(ajv, schema);
  // The first fault ends a check.
  return (data) => {
    meter.begin();
    try {
      return validate(data) ? [] : (validate.errors ?? []).map(toFault);
    } catch (error) {
      if (error instanceof TooMuchWork) return [TOO_MUCH_WORK];
      if (!(error instanceof RangeError)) throw error;
      return [{ pointer: '/data', detail: 'can not be checked: its schema refers to itself without end' }];
    }
  };
}

const TOO_MUCH_WORK: Fault = {
  pointer: '/data',
  detail: 'can not be checked: with the schema of its type that is too much work',
};

function compile(ajv: Ajv2020, schema: AnySchema) {
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new AppError('invalid_request', 'The schema is not a JSON Schema (2020-12): see "errors".', {
      faults: [schemaFaultOf(ajv, schema, error)],
    });
  }
}

function toFault({
  instancePath,
  keyword,
  message = 'is not as its schema asks',
  params,
}: ErrorObject): Fault {
  return {
    pointer: `/data${shortenParts(instancePath)}${memberOf(params)}`,
    detail: WORDS[keyword] ?? message,
  };
}

// Where ajv's own words are about the object around the member that we point to.
const WORDS: Readonly<Record<string, string>> = {
  required: 'is required',
  additionalProperties: 'is not a known member',
  unevaluatedProperties: 'is not a known member',
};

function shortenParts(pointer: string): string {
  return pointer.split('/').map(shorten).join('/');
}

// ajv points to the object around a member that is missing, or that should not be there.
function memberOf(params: Readonly<Record<string, unknown>>): string {
  const member = params.additionalProperty ?? params.unevaluatedProperty ?? params.missingProperty;
  return typeof member === 'string' ? jsonPointer([member]) : '';
}

/** For each character, beside what the size of the expression adds: it is slow, and 200,000 characters are a quarter second. */
const UNITS_A_CHARACTER = 4;
const INSTRUCTIONS_A_UNIT = 8;

/**
 * Regular expressions whose time grows with the length of a text and no faster, whatever both are like: JavaScript's own
 * would let one payload keep a process busy for years. They know no looking around and no references to what was matched
 * before, which JSON Schema advises against anyway.
 *
 * @throws Error for what is none, or would take more memory than is reasonable.
 */
export function createLinearRegExp({ spend }: Pick<WorkMeter, 'spend'>): RegExpEngine {
  const engine = (pattern: string) => {
    const compiled = compileRegExp(pattern);
    const unitsACharacter = UNITS_A_CHARACTER + compiled.programSize() / INSTRUCTIONS_A_UNIT;
    return {
      test: (text: string) => {
        spend(1 + text.length * unitsACharacter);
        return compiled.matcher(text).find();
      },
      // By this ajv tells one from another.
      toString: () => pattern,
    };
  };
  // For checks that are written to a file, which none of ours is.
  return Object.assign(engine, { code: 'linearRegExp' });
}

function compileRegExp(pattern: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch (error) {
    throw error instanceof Error ? new UnusableRegExp(pattern, error) : error;
  }
}

const CHARACTERS_A_UNIT = 4;

/**
 * JSON Schema's `uniqueItems` by one look at each item. ajv's own compares each with each: an array that is within the
 * limits of an event could keep a process busy for a minute.
 */
export function createUniqueItems({ spend }: Pick<WorkMeter, 'spend'>): FuncKeywordDefinition {
  return {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (isWanted: boolean, items: readonly unknown[]) => {
      if (!isWanted) return true;
      spend(1 + JSON.stringify(items).length / CHARACTERS_A_UNIT);
      return areUnique(items);
    },
    error: { message: 'must not have items that are the same' },
  };
}

function areUnique(items: readonly unknown[]): boolean {
  return new Set(items.map((item) => JSON.stringify(inOrder(item)))).size === items.length;
}

// Objects with the same members are the same, in whichever order these are written.
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return { members: members.map(([name, member]) => [name, inOrder(member)]) };
}

const SCHEME = /^(?:https?|ftp):\/\//i;

/**
 * The format `url`: an absolute URL of the web. ajv-formats' own takes time that grows with the square of the length of a
 * text, seconds for one within the limits of an event; it also refuses addresses of private networks, which this takes.
 */
export function isUrl(text: string): boolean {
  return SCHEME.test(text) && !/\s/.test(text) && URL.canParse(text);
}
