/**
 * Whether data contain a JSON value, as PostgreSQL's `@>` tells of `jsonb`: what is in Redis is searched here, what has
 * moved is searched there, and both must find the same.
 */

/** A JSON value in which a number is a text that begins with NUL. */
type Value = null | boolean | string | readonly Value[] | { readonly [name: string]: Value };
type Container = Exclude<Value, null | boolean | string>;

const MOST_CHARACTERS = 1024 * 1024;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/g;
// `jsonb` writes a number out: 1e100000 would take 50 KB there. It refuses those that are longer still.
const LONG_EXPONENT = /[eE][+-]?\d{4}/;
const LONG_NUMBER = /\d{1000}/;
const ESCAPE = /\\u/i;

/**
 * Whether `jsonb` takes a JSON text, and takes little space for it. It refuses NUL and half a surrogate
 * pair, and JSON may write both as escapes.
 */
export function isSearchable(json: string): boolean {
  if (json.length > MOST_CHARACTERS) return false;
  if (ESCAPE.test(json) && hasUnstorableEscape(json)) return false;
  const withoutStrings = json.replace(STRING, '""');
  return !LONG_EXPONENT.test(withoutStrings) && !LONG_NUMBER.test(withoutStrings);
}

const UNSTORABLE = /\p{Surrogate}|\0/u;

function hasUnstorableEscape(json: string): boolean {
  for (const [text] of json.matchAll(STRING)) {
    if (text.includes('\\u') && UNSTORABLE.test(JSON.parse(text) as string)) return true;
  }
  return false;
}

// It contains nothing in particular.
const EMPTY = /^\s*\{\s*\}\s*$/;

/** What is looked for in data. */
export class JsonPattern {
  /** All data contain it, and events without any are found as well. */
  readonly isEmpty: boolean;
  /** `undefined`: no data contain it. */
  readonly #wanted: Value | undefined;

  /** @param json the text of a JSON value. */
  constructor(json: string) {
    this.isEmpty = EMPTY.test(json);
    this.#wanted = isSearchable(json) ? parse(json) : undefined;
  }

  get isInNone(): boolean {
    return this.#wanted === undefined;
  }

  /** Whether there is a value at one of its places: `{"a":[{}]}` has none. */
  get hasValues(): boolean {
    return this.#wanted !== undefined && hasScalar(this.#wanted);
  }

  /** @param json the text of a JSON value. */
  isIn(json: string): boolean {
    const wanted = this.#wanted;
    if (wanted === undefined || !isSearchable(json)) return false;
    const data = parse(json);
    // Only at the top does an array contain a value that is in none.
    return Array.isArray(data) && isScalar(wanted) ? data.includes(wanted) : contains(data, wanted);
  }
}

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

// JSON.parse would merge numbers that no double can tell apart. No text that is searchable has a NUL of its own.
function parse(json: string): Value {
  return JSON.parse(
    json.replace(STRING_OR_NUMBER, (text) => (text.startsWith('"') ? text : `"\\u0000${valueOf(text)}"`)),
  ) as Value;
}

const NUMBER = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>.+))?$/;

/** The same text for all ways to write the same number. */
function valueOf(number: string): string {
  const { sign = '', whole = '', fraction = '', exponent = '0' } = NUMBER.exec(number)?.groups ?? {};
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

function contains(data: Value | undefined, wanted: Value): boolean {
  if (isScalar(wanted)) return data === wanted;
  if (data === undefined || isScalar(data)) return false;
  if (isArray(wanted)) return isArray(data) && hasEach(data, wanted);
  return (
    !isArray(data) && Object.entries(wanted).every(([name, value]) => contains(memberOf(data, name), value))
  );
}

/** Arrays are sets: neither the order counts, nor how often something is there. */
function hasEach(data: readonly Value[], wanted: readonly Value[]): boolean {
  const items = new Set(data);
  return wanted.every((one) => (isScalar(one) ? items.has(one) : data.some((item) => contains(item, one))));
}

function hasScalar(value: Value): boolean {
  return isScalar(value) || Object.values(value).some(hasScalar);
}

function memberOf(data: { readonly [name: string]: Value }, name: string): Value | undefined {
  return Object.hasOwn(data, name) ? data[name] : undefined;
}

function isScalar(value: Value): value is Exclude<Value, Container> {
  return value === null || typeof value !== 'object';
}

function isArray(value: Container): value is readonly Value[] {
  return Array.isArray(value);
}
