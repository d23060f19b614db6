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

/** Of a member of a body, or of a query parameter. */
export const UNKNOWN_NAME = 'is not a known name';

export const FORMATS: Readonly<Record<string, string>> = {
  url: 'a URL such as https://example.com/',
  datetime: 'a time such as 2026-11-21T12:00:00Z',
  email: 'a mail address such as ada@example.com',
};

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
  const name = schema.format === 'safeint' ? 'a whole number' : 'a number';
  if (!isBound(least)) return isBound(most) ? `${name} of at most ${most}` : name;
  return isBound(most) ? `${name} from ${least} to ${most}` : `${name} of at least ${least}`;
}

function isBound(value: number | null): value is number {
  return Number.isFinite(value) && Math.abs(value ?? 0) < Number.MAX_SAFE_INTEGER;
}

export const NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

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

// Longer names are not spelling mistakes, and comparing takes time.
const MOST_CHARACTERS = 64;
const FARTHEST = 0.4;

/** The known name that a misspelt one most likely means, if one is similar. */
export function nearestTo(name: string, known: readonly string[]): string | undefined {
  if (name.length > MOST_CHARACTERS) return undefined;
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
