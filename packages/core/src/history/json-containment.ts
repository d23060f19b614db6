import { setImmediate } from 'node:timers/promises';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../platform/json';
import { isStorable } from '../platform/storable-text';

/**
 * Whether data contain a JSON object, as PostgreSQL's `@>` tells of `jsonb`, or have a text or a number at any place. Events
 * in Redis are searched here, those that have moved are searched there, and both must find the same.
 */

/** A JSON value in which a number is a text that begins with NUL. */
type Value = Scalar | readonly Value[] | { readonly [name: string]: Value };
type Scalar = null | boolean | string;
type Container = Exclude<Value, Scalar>;

const MOST_CHARACTERS = 1024 * 1024;
// `jsonb` writes a number out: 1e100000 would take 50 KB there. It refuses those that are longer still.
const LONG_EXPONENT = /[eE][+-]?\d{4}/;
// Tried at the first digit of a number alone: at each digit, numbers of 999 digits would take a second.
const LONG_NUMBER = /(?<!\d)\d{1000}/;
const ESCAPE = /\\u/;
const STRING_OR_WORD = /"[^"\\]*(?:\\.[^"\\]*)*"|[^\s",:[\]{}]+/g;

/**
 * Whether `jsonb` takes a JSON text, and takes little space for it. It refuses NUL and half a surrogate
 * pair, and JSON may write both as escapes.
 */
export function isSearchable(json: string): boolean {
  if (json.length > MOST_CHARACTERS) return false;
  // Hardly any text has one of them.
  if (![ESCAPE, LONG_EXPONENT, LONG_NUMBER].some((one) => one.test(json))) return true;
  for (const [token] of json.matchAll(STRING_OR_WORD)) if (isUnstorable(token)) return false;
  return true;
}

/** @param token the JSON text of a string, a number or a word. */
function isUnstorable(token: string): boolean {
  if (!token.startsWith('"')) return LONG_EXPONENT.test(token) || LONG_NUMBER.test(token);
  return token.includes('\\u') && !isStorable(JSON.parse(token) as string);
}

/** A step takes some tenths of a microsecond. */
const MOST_STEPS = 256 * 1024;
const CHARACTERS_A_STEP = 16;
/** Some milliseconds. */
const STEPS_IN_ONE_GO = 8 * 1024;

/**
 * What a page of a search may cost: a step for each 16 characters, for each token and for each comparison. So it ends
 * behind 4 MiB of long texts, and sooner where there is more to compare.
 */
export class SearchWork {
  #left = MOST_STEPS;
  #untilPause = STEPS_IN_ONE_GO;

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  spendOnText(characters: number): void {
    this.#left -= characters / CHARACTERS_A_STEP;
  }

  /** @returns whether others should have their turn now. */
  spend(steps: number): boolean {
    this.#left -= steps;
    this.#untilPause -= steps;
    if (this.#untilPause > 0) return false;
    this.#untilPause = STEPS_IN_ONE_GO;
    return true;
  }
}

/** Work that stops now and then. */
type Pieces<Result> = Generator<void, Result, void>;

async function letOthersIn<Result>(pieces: Pieces<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
    await setImmediate();
  }
}

function inOneGo<Result>(pieces: Pieces<Result>): Result {
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
  }
}

/**
 * The bounds of a pattern. Each value in its lists is compared with each value in a list of the data, and lists and
 * objects cost the most.
 */
export const PATTERN_BOUNDS = { bytes: 1_024, levels: 8, listed: 16, nested: 4 };

interface Listed {
  /** How many values there are in lists. */
  readonly listed: number;
  /** How many of them are lists or objects. */
  readonly nested: number;
}

/** Count what the lists of a pattern have, on all levels. */
export function countListed(value: unknown): Listed {
  if (typeof value !== 'object' || value === null) return { listed: 0, nested: 0 };
  const values: readonly unknown[] = Object.values(value);
  const own = Array.isArray(value) ? values : [];
  const below = values.map(countListed);
  return {
    listed: below.reduce((sum, each) => sum + each.listed, own.length),
    nested: below.reduce((sum, each) => sum + each.nested, own.filter(isObject).length),
  };
}

// It contains nothing in particular.
const EMPTY = /^\s*\{\s*\}\s*$/;

/** What data have to contain. Its members are listed once, not for each object that it is compared with. */
type Wanted = Scalar | readonly Wanted[] | ReadonlyMap<string, Wanted>;

function wantedOf(value: Value): Wanted {
  if (isScalar(value)) return value;
  if (isArray(value)) return value.map(wantedOf);
  return new Map(Object.entries(value).map(([name, member]) => [name, wantedOf(member)]));
}

/** A text or a number that is looked for at every place of data. */
const ANYWHERE = /^\s*["\d-]/;

/** What is looked for in data: an object that they contain, or a text or a number that they have at any place. */
export class JsonPattern {
  /** All data contain it, and events without any are found as well. */
  readonly isEmpty: boolean;
  /** Whether an index knows it, which has paths with their values: it knows neither `{"a":[{}]}` nor a value at any place. */
  readonly isIndexed: boolean;
  /** The values one of which must be at any place; `undefined`: it is an object. */
  readonly #anywhere: readonly Scalar[] | undefined;
  /** `undefined`: no data contain it. */
  readonly #wanted: Wanted | undefined;

  /** @param json the text of a JSON object, text or number. */
  constructor(json: string) {
    this.isEmpty = EMPTY.test(json);
    const value = inOneGo(read(json, new SearchWork()));
    this.#anywhere =
      ANYWHERE.test(json) && value !== undefined ? [value, written(json)].filter(isScalar) : undefined;
    this.isIndexed = this.#anywhere === undefined && value !== undefined && hasScalar(value);
    this.#wanted = value === undefined ? undefined : wantedOf(value);
  }

  get isInNone(): boolean {
    return this.#wanted === undefined;
  }

  /**
   * Whether data contain it. It comes to its end even if that takes more than is left: a pattern within its bounds
   * takes some steps for each value of the data.
   *
   * @param json the text of a JSON value.
   */
  async isIn(json: string, work: SearchWork): Promise<boolean> {
    if (this.#anywhere) return await letOthersIn(isAnywhere(json, this.#anywhere, work));
    return this.#wanted !== undefined && (await letOthersIn(isIn(json, this.#wanted, work)));
  }
}

/**
 * The values that a text or a number is looked for as, as JSON: a number also finds the text that is written like it, since
 * people do not know which of the two an id is. `undefined`: the pattern is an object.
 */
export function valuesAnywhere(json: string): readonly [string, string] | undefined {
  return ANYWHERE.test(json) ? [json.trim(), JSON.stringify(written(json))] : undefined;
}

/** A number as a text; of a text, the text. */
function written(json: string): string {
  const text = json.trim();
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}

function* isAnywhere(json: string, values: readonly Scalar[], work: SearchWork): Pieces<boolean> {
  const data = yield* read(json, work);
  const open = data === undefined ? [] : [data];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (work.spend(1)) yield;
    if (!isScalar(one)) for (const inner of Object.values(one)) open.push(inner);
    else if (values.includes(one)) return true;
  }
  return false;
}

function* isIn(json: string, wanted: Wanted, work: SearchWork): Pieces<boolean> {
  const data = yield* read(json, work);
  return data !== undefined && (yield* contains(data, wanted, work));
}

/** An array or an object that is being read. */
interface Open {
  readonly container: Value[] | Record<string, Value>;
  /** Of the member that comes next. */
  name: string | undefined;
}

/**
 * Read a JSON text that JSON.parse has accepted. JSON.parse would merge numbers that no double can tell apart, and does
 * not stop.
 *
 * @returns `undefined` for a text that is not searchable.
 */
function* read(json: string, work: SearchWork): Pieces<Value | undefined> {
  if (json.length > MOST_CHARACTERS) return undefined;
  const open: Open[] = [];
  const top: Value[] = [];
  let within: Open = { container: top, name: undefined };
  for (let at = 0; at < json.length; ) {
    const code = json.charCodeAt(at);
    if (isBetween(code)) {
      at += 1;
      continue;
    }
    if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      within = open.pop() ?? within;
      at += 1;
      continue;
    }
    if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      const container = code === OPEN_ARRAY ? [] : {};
      add(within, container);
      open.push(within);
      within = { container, name: undefined };
      at += 1;
    } else {
      const end = code === QUOTE ? endOfString(json, at) : endOfWord(json, at);
      const token = json.slice(at, end);
      at = end;
      if (isUnstorable(token)) return undefined;
      if (isNext(within)) within.name = JSON.parse(token) as string;
      else add(within, valueOf(token));
    }
    if (work.spend(1)) yield;
  }
  return top[0];
}

const SPACE = 0x20;
const COLON = 0x3a;

function isBetween(code: number): boolean {
  return code <= SPACE || code === COMMA || code === COLON;
}

function endOfWord(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (isBetween(code) || code === CLOSE_ARRAY || code === CLOSE_OBJECT) return at;
  }
  return json.length;
}

/** Whether the name of a member comes next. */
function isNext({ container, name }: Open): boolean {
  return !Array.isArray(container) && name === undefined;
}

function add(to: Open, value: Value): void {
  const { container, name = '' } = to;
  if (Array.isArray(container)) container.push(value);
  // An assignment would set the prototype.
  else if (name === '__proto__') {
    Object.defineProperty(container, name, { value, enumerable: true, configurable: true, writable: true });
  } else container[name] = value;
  to.name = undefined;
}

const WORDS: ReadonlyMap<string, Scalar> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

function valueOf(token: string): Scalar {
  if (token.startsWith('"')) return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
  const word = WORDS.get(token);
  // No text that is searchable has a NUL of its own.
  return word === undefined ? `\0${numberOf(token)}` : word;
}

const PLAIN = /^-?[1-9]\d*$/;
const NUMBER = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<fraction>\d+))?(?:[eE](?<exponent>.+))?$/;

/** The same text for all ways to write the same number. */
function numberOf(token: string): string {
  if (!token.endsWith('0') && PLAIN.test(token)) return `${token}e0`;
  const { sign = '', whole = '', fraction = '', exponent = '0' } = NUMBER.exec(token)?.groups ?? {};
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = withoutZeros(digits);
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

function withoutZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

function* contains(data: Value | undefined, wanted: Wanted, work: SearchWork): Pieces<boolean> {
  if (work.spend(1)) yield;
  if (isWantedScalar(wanted)) return data === wanted;
  if (data === undefined || isScalar(data)) return false;
  if (isWantedList(wanted)) return isArray(data) && (yield* hasEach(data, wanted, work));
  if (isArray(data)) return false;
  for (const [name, one] of wanted) {
    if (!(yield* contains(memberOf(data, name), one, work))) return false;
  }
  return true;
}

/** Arrays are sets: neither the order counts, nor how often something is there. */
function* hasEach(data: readonly Value[], wanted: readonly Wanted[], work: SearchWork): Pieces<boolean> {
  for (const one of wanted) {
    if (isWantedScalar(one)) {
      if (work.spend(data.length / CHARACTERS_A_STEP)) yield;
      if (!data.includes(one)) return false;
    } else if (!(yield* hasSome(data, one, work))) return false;
  }
  return true;
}

function* hasSome(data: readonly Value[], wanted: Wanted, work: SearchWork): Pieces<boolean> {
  for (const item of data) {
    if (isScalar(item)) {
      if (work.spend(1)) yield;
    } else if (yield* contains(item, wanted, work)) return true;
  }
  return false;
}

function isWantedScalar(wanted: Wanted): wanted is Scalar {
  return !isObject(wanted);
}

function isWantedList(wanted: Exclude<Wanted, Scalar>): wanted is readonly Wanted[] {
  return Array.isArray(wanted);
}

function hasScalar(value: Value): boolean {
  return isScalar(value) || Object.values(value).some(hasScalar);
}

function memberOf(data: { readonly [name: string]: Value }, name: string): Value | undefined {
  return Object.hasOwn(data, name) ? data[name] : undefined;
}

function isScalar(value: Value): value is Scalar {
  return !isObject(value);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function isArray(value: Container): value is readonly Value[] {
  return Array.isArray(value);
}
