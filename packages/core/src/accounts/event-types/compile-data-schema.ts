import { faultOf } from '@hookferry/producer/fault-words';
import { _, Ajv2020, type AnySchema, type ErrorObject, type KeywordCxt } from 'ajv/dist/2020';
import type { FuncKeywordDefinition, RegExpEngine } from 'ajv/dist/types';
import addFormats from 'ajv-formats';
import { RE2JS } from 're2js';
import { AppError, MAX_VALIDATION_ERRORS, type ValidationError } from '../../platform/app-error';
import { parseUrl } from '../../platform/parse-url';
import { schemaFaultOf, UnusableRegExp } from './schema-fault';

/** Give the validation errors of an event's `data`: all of them, a hundred at most. */
export type CheckData = (data: unknown) => readonly ValidationError[];

/**
 * Compile a JSON Schema (2020-12) into a check. It may refer only to itself: nothing is fetched. Any check
 * ends soon, whatever the schema: data that would take too long are refused.
 *
 * @throws AppError `invalid_request` when it is not a reliable schema; an unknown keyword is an error too.
 */
export function compileDataSchema(schema: AnySchema): CheckData {
  // The first error ends it: valid data, and most others, need no more.
  const check = compileCheck(schema, { mostWork: MOST_WORK });
  let explain: CheckData | undefined;
  return (data) => {
    const first = check(data);
    if (first.length === 0 || isUnfinished(first)) return first;
    explain ??= compileCheck(schema, { mostWork: MOST_WORK_TO_EXPLAIN, allErrors: true, verbose: true });
    const all = explain(data);
    // It may have been too much work to find them all.
    return isUnfinished(all) ? first : all;
  };
}

interface CheckOptions {
  readonly mostWork: number;
  /** Go on behind the first error. */
  readonly allErrors?: true;
  /** Give the schema with each error, to word it by. */
  readonly verbose?: true;
}

function compileCheck(schema: AnySchema, { mostWork, ...options }: CheckOptions): CheckData {
  const workMeter = createWorkMeter(mostWork);
  // A new one each time: ajv keeps every schema by its `$id`, and would refuse the next version.
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    code: { regExp: createLinearRegExp(workMeter) },
    ...options,
  });
  addFormats.default(ajv);
  ajv.addFormat('url', isUrl);
  ajv.removeKeyword('uniqueItems').addKeyword(createUniqueItems(workMeter));
  meterWork(ajv, schema, workMeter);
  const validate = compile(ajv, schema);
  return (data) => {
    workMeter.begin();
    try {
      return validate(data) ? [] : toFaults(validate.errors ?? []);
    } catch (error) {
      if (error instanceof TooMuchWork) return [TOO_MUCH_WORK];
      if (!(error instanceof RangeError)) throw error;
      return [ENDLESS];
    }
  };
}

/** Branches of a schema may say the same of one member. */
function toFaults(errors: readonly ErrorObject[]): readonly ValidationError[] {
  const some = errors.slice(0, MAX_VALIDATION_ERRORS).map(faultOf);
  return [...new Map(some.map((fault) => [`${fault.pointer} ${fault.detail}`, fault])).values()];
}

const TOO_MUCH_WORK: ValidationError = {
  pointer: '/data',
  detail: 'cannot be checked: the schema of its type needs too much work',
};

const ENDLESS: ValidationError = {
  pointer: '/data',
  detail: 'cannot be checked: the schema of its type refers to itself without end',
};

function isUnfinished([error]: readonly ValidationError[]): boolean {
  return error === TOO_MUCH_WORK || error === ENDLESS;
}

function compile(ajv: Ajv2020, schema: AnySchema) {
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new AppError('invalid_request', 'The schema is not a JSON Schema (2020-12): see "errors".', {
      validationErrors: [schemaFaultOf(ajv, schema, error)],
    });
  }
}

/**
 * For each character, beside the expression's own size: it is slow, and 200,000 characters take a quarter of
 * a second.
 */
const UNITS_A_CHARACTER = 4;
const INSTRUCTIONS_A_UNIT = 8;

/**
 * Regular expressions in linear time, for any text and any expression: JavaScript's own would let one payload
 * keep a process busy for years. They know neither lookaround nor back-references, which JSON Schema advises
 * against anyway.
 *
 * @throws Error for an invalid expression, or one that would take too much memory.
 */
function createLinearRegExp({ spend }: Pick<WorkMeter, 'spend'>): RegExpEngine {
  const engine = (pattern: string) => {
    const compiled = compileRegExp(pattern);
    const unitsACharacter = UNITS_A_CHARACTER + compiled.programSize() / INSTRUCTIONS_A_UNIT;
    return {
      test: (text: string) => {
        spend(1 + text.length * unitsACharacter);
        return compiled.matcher(text).find();
      },
      // ajv tells one from another by this.
      toString: () => pattern,
    };
  };
  // For checks that are written to a file, which this product never does.
  return Object.assign(engine, { code: 'linearRegExp' });
}

function compileRegExp(pattern: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch (error) {
    throw error instanceof Error ? new UnusableRegExp(pattern, error) : error;
  }
}

const ITEM_CHARACTERS_A_UNIT = 4;

/**
 * JSON Schema's `uniqueItems` in linear time. ajv's own compares each item with each: an array within the
 * limits of an event could keep a process busy for a minute.
 */
function createUniqueItems({ spend }: Pick<WorkMeter, 'spend'>): FuncKeywordDefinition {
  return {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (isWanted: boolean, items: readonly unknown[]) => {
      if (!isWanted) return true;
      spend(1 + JSON.stringify(items).length / ITEM_CHARACTERS_A_UNIT);
      return areUnique(items);
    },
    error: { message: 'must not have equal items' },
  };
}

function areUnique(items: readonly unknown[]): boolean {
  return new Set(items.map((item) => JSON.stringify(inOrder(item)))).size === items.length;
}

// Objects with the same members are equal, in any order of the members.
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return { members: members.map(([name, member]) => [name, inOrder(member)]) };
}

const SCHEME = /^(?:https?|ftp):\/\//i;

/**
 * The format `url`: an absolute URL of the web. ajv-formats' own takes time that grows with the square of the
 * length of a text, seconds for one within the limits of an event. It also refuses addresses of private
 * networks, which this accepts.
 */
function isUrl(text: string): boolean {
  return SCHEME.test(text) && !/\s/.test(text) && parseUrl(text) !== undefined;
}

/**
 * The most work of a check of one event's data. A unit is about the cost of a short schema for one value, or
 * of a few characters of a text: all units together take one or two tenths of a second at worst. Usual
 * schemas need a few thousand units.
 */
const MOST_WORK = 1_000_000;
/** The same to find all errors of data that have one. It bounds their number as well: an item that is wrong costs a unit. */
const MOST_WORK_TO_EXPLAIN = 20_000;
/** A part of a schema of this many characters counts as one unit for each value that it applies to. */
const SCHEMA_CHARACTERS_A_UNIT = 64;
/** Each reference calls a function. */
const UNITS_A_REFERENCE = 4;
/** Formats scan a text once; lengths are counted much faster. */
const LENGTH_CHARACTERS_A_UNIT = 16;

/** Counts the work of a check. */
export interface WorkMeter {
  /** Call it before each check. */
  readonly begin: () => void;
  /** @throws TooMuchWork when it exceeds the bound of a check. */
  readonly spend: (units: number) => void;
}

class TooMuchWork extends Error {
  override readonly name = 'TooMuchWork';
}

function createWorkMeter(mostWork: number): WorkMeter {
  // Until the first check: ajv checks the schema itself with it.
  let left = MOST_WORK;
  return {
    begin() {
      left = mostWork;
    },
    spend(units) {
      left -= units;
      if (left < 0) throw new TooMuchWork();
    },
  };
}

// Keywords that apply a part of the schema to all members or items.
const LOOPS = [
  'items',
  'contains',
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
  'unevaluatedItems',
];
const REFERENCES = ['$ref', '$dynamicRef'];

/**
 * Meter all keywords that can make a check long: references, which can reach the same part repeatedly and, in
 * the branches of an `anyOf`, twice as often with each level; loops; and keywords that read each character of
 * a text. All others run once for each position in the schema, which has a bound.
 */
function meterWork(ajv: Ajv2020, schema: unknown, { spend }: WorkMeter): void {
  for (const name of LOOPS) {
    meter(ajv, name, (cxt) => {
      const units = unitsOf(cxt.schema);
      return (data) => spend((1 + sizeOf(data)) * units);
    });
  }
  for (const name of REFERENCES) {
    meter(ajv, name, (cxt) => {
      const units = UNITS_A_REFERENCE * unitsOf(targetOf(schema, cxt.schema));
      return () => spend(units);
    });
  }
  for (const name of ['enum', 'const']) {
    meter(ajv, name, (cxt) => {
      const units = unitsOf(cxt.schema);
      return () => spend(units);
    });
  }
  for (const name of ['minLength', 'maxLength']) {
    meter(ajv, name, () => (data) => spend(Math.ceil(lengthOf(data) / LENGTH_CHARACTERS_A_UNIT)));
  }
  meter(ajv, 'format', () => (data) => spend(1 + lengthOf(data)));
}

/** The rule keeps its position among the others: the rule that runs last must stay last. */
function meter(ajv: Ajv2020, name: string, workOf: (cxt: KeywordCxt) => (data: unknown) => void): void {
  const rule = ajv.RULES.all[name];
  if (typeof rule !== 'object' || !('code' in rule.definition)) {
    throw new Error(`ajv has no keyword "${name}" that makes code.`);
  }
  const { definition } = rule;
  const { code } = definition;
  definition.code = (cxt, ruleType) => {
    const work = cxt.gen.scopeValue('func', { ref: workOf(cxt) });
    cxt.gen.code(_`${work}(${cxt.data})`);
    code(cxt, ruleType);
  };
}

function unitsOf(schema: unknown): number {
  return Math.ceil((JSON.stringify(schema)?.length ?? 0) / SCHEMA_CHARACTERS_A_UNIT) || 1;
}

function sizeOf(data: unknown): number {
  if (Array.isArray(data)) return data.length;
  return typeof data === 'object' && data !== null ? Object.keys(data).length : 0;
}

function lengthOf(data: unknown): number {
  return typeof data === 'string' ? data.length : 0;
}

/** The target of a reference; the whole schema, if that is not obvious. */
function targetOf(schema: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return schema;
  const parts = decodeURIComponent(reference.slice('#/'.length)).split('/');
  const found = parts.reduce<unknown>(partOf, schema);
  return found ?? schema;
}

function partOf(value: unknown, part: string): unknown {
  const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
