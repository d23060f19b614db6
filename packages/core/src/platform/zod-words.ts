import { FORMATS, NAMES, nearestTo, UNKNOWN_NAME } from '@hookferry/producer/fault-words';
import { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const MUST_BE = 'must be ';

/**
 * For `schema.safeParse(value, inWords)`: validation errors in this product's words, wherever a schema gives
 * none. zod's ("expected nonoptional, received undefined") are for authors of schemas, not for clients.
 */
export const inWords = { error: describe };

function describe(issue: Issue): string {
  if (issue.input === undefined && issue.code !== 'unrecognized_keys') return describeMissing(issue);
  switch (issue.code) {
    case 'invalid_type':
      return MUST_BE + (nameOf(issue) ?? `of the type ${issue.expected}`);
    case 'too_small':
      return `must ${verbFor(issue.origin)}at least ${issue.minimum}${unitFor(issue.origin, issue.minimum)}`;
    case 'too_big':
      return `must ${verbFor(issue.origin)}at most ${issue.maximum}${unitFor(issue.origin, issue.maximum)}`;
    case 'invalid_value':
      return MUST_BE + oneOf(issue.values);
    case 'invalid_format':
      return describeFormat(issue);
    case 'invalid_key':
      return issue.issues.map(({ message }) => message).join('; ');
    case 'unrecognized_keys':
      // A line for each: `validationErrorsOf` makes an error of each.
      return issue.keys
        .slice(0, MOST_TOLD)
        .map((key, i) => describeUnknown(key, issue.inst, i))
        .join('\n');
    case 'invalid_union':
      return describeUnion(issue);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'custom':
    case 'invalid_element':
      return 'is not valid';
  }
}

function describeMissing(issue: Issue): string {
  const form = formOf(issue);
  return form === undefined ? 'is required' : `is required, and ${MUST_BE}${form}`;
}

function formOf(issue: Issue): string | undefined {
  if (issue.code === 'invalid_type') return nameOf(issue);
  return issue.code === 'invalid_value' ? oneOf(issue.values) : undefined;
}

function oneOf(values: readonly unknown[]): string {
  return `${values.length > 1 ? 'one of ' : ''}${values.map(String).join(', ')}`;
}

// A body may contain only such names, and each is compared with all known ones.
const MOST_TOLD = 100;

/** For an object's schema: names that clients expect there in vain, and where they are. */
export const foundElsewhere = z.registry<Readonly<Record<string, string>>>();

/** The first unknown name of an object gets the list of those that there are: each would make a long answer. */
function describeUnknown(key: string, schema: unknown, index: number): string {
  if (!(schema instanceof z.ZodObject)) return UNKNOWN_NAME;
  const elsewhere = foundElsewhere.get(schema);
  if (elsewhere !== undefined && Object.hasOwn(elsewhere, key)) return elsewhere[key] ?? '';
  const known = Object.keys(schema.shape);
  if (known.length === 0) return `${UNKNOWN_NAME}; none can be given here`;
  const nearest = nearestTo(key, known);
  if (nearest !== undefined) return `${UNKNOWN_NAME}; did you mean ${JSON.stringify(nearest)}?`;
  return index === 0 ? `${UNKNOWN_NAME}; the known ones are ${known.join(', ')}` : UNKNOWN_NAME;
}

function describeFormat({ format, pattern }: Issue & { readonly code: 'invalid_format' }): string {
  const name = FORMATS[format];
  if (name !== undefined) return `must be ${name}`;
  return pattern === undefined ? `must have the format ${format}` : `must match ${pattern}`;
}

/** Names each of the alternatives. */
function describeUnion({ errors }: Issue & { readonly code: 'invalid_union' }): string {
  const messages = errors.flatMap(([first]) => (first?.path.length === 0 ? [first.message] : []));
  const asked = messages.filter((message) => message.startsWith(MUST_BE));
  if (asked.length === 0) return 'is not valid';
  return MUST_BE + [...new Set(asked)].map((message) => message.slice(MUST_BE.length)).join(', or ');
}

function nameOf({ expected, inst }: Issue & { readonly code: 'invalid_type' }): string | undefined {
  return expected === 'number' ? numberWithin(inst) : NAMES[expected];
}

/** A number, with the bounds that its schema has. */
function numberWithin(schema: unknown): string {
  if (!(schema instanceof z.ZodNumber)) return 'a number';
  const { minValue: least, maxValue: most } = schema;
  // JSON Schema's type, where a schema takes whole numbers of any size.
  const isWhole = schema.format === 'safeint' || schema.meta()?.['type'] === 'integer';
  const name = isWhole ? 'a whole number' : 'a number';
  if (!isBound(least)) return isBound(most) ? `${name} of at most ${most}` : name;
  return isBound(most) ? `${name} from ${least} to ${most}` : `${name} of at least ${least}`;
}

function isBound(value: number | null): value is number {
  return Number.isFinite(value) && Math.abs(value ?? 0) < Number.MAX_SAFE_INTEGER;
}

const UNITS: Readonly<Record<string, readonly [one: string, several: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
};

function verbFor(origin: string): string {
  return UNITS[origin] ? 'have ' : 'be ';
}

function unitFor(origin: string, limit: number | bigint): string {
  const [one, several] = UNITS[origin] ?? [];
  if (one === undefined) return '';
  return limit === 1 ? ` ${one}` : ` ${several}`;
}

/**
 * A text of at most this many characters, counted as JSON Schema does: by code points. JavaScript's `length`
 * counts some of them as two.
 */
export function textSchema(most: number) {
  return z
    .string()
    .refine((text) => isWithin(text, most), `must have at most ${most} characters`)
    .meta({ maxLength: most });
}

function isWithin(text: string, most: number): boolean {
  return text.length <= most || (text.length <= 2 * most && Array.from(text).length <= most);
}
