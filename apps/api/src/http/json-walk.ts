import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  parsedOrUndefined,
  QUOTE,
} from '@hookferry/core/platform/json';

export interface JsonBounds {
  /** The nesting of arrays and objects. */
  readonly maxDepth: number;
  /** Values at all depths together: items, members, and the arrays and objects around them. */
  readonly maxValues: number;
}

/** Each item of an array. */
export const EACH = Symbol('each');

/** The path to a value: by names of members, and through the items of an array once at most. */
export type JsonPath = readonly (string | typeof EACH)[];

const MARKS = new Set([QUOTE, COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]);
const IS_MARK = Uint8Array.from({ length: 256 }, (_, byte) => (MARKS.has(byte) ? 1 : 0));
const COLON = 0x3a;
// Between values there is only white space, with codes up to this one.
const SPACE = 0x20;
// As `\u0064`.
const LONGEST_ESCAPE = 6;

type Range = readonly [start: number, end: number];

/**
 * Walks a JSON text in UTF-8 once, before it is parsed and without a copy. It finds which bound the text
 * passes, and the positions of the values that are to be kept unchanged. Invalid JSON may pass a bound or
 * not; its parser will tell.
 *
 * `maxValues` counts commas and opening brackets: no text has more values than these and one, and only empty
 * arrays and objects count for two.
 */
export class JsonWalk {
  #at = 0;
  #depth = 0;
  #values = 0;
  #isInString = false;
  #isTooDeep = false;

  /** How many of the arrays and objects around this position are on the path. -1: there is no path. */
  #onPath: number;
  readonly #eachAt: number;
  /** Whether the next string in the innermost of them is the name of a member. */
  #expectsName = false;
  /** Whether the next value in it is on the path too, but not its end. */
  #leadsOn = true;
  /** Where the value at the end of the path begins, with white space and a colon before it. */
  #wantedAt: number | undefined;
  #itemAt = 0;
  #found: (Range | undefined)[] = [];

  constructor(
    private readonly bytes: Buffer,
    private readonly bounds: JsonBounds,
    private readonly path: JsonPath = [],
  ) {
    this.#onPath = path.length === 0 ? -1 : 0;
    this.#eachAt = path.indexOf(EACH);
  }

  /** Walk on over this many bytes, or a few more. @returns whether it has reached the end */
  goOn(mostBytes = Number.POSITIVE_INFINITY): boolean {
    const { bytes } = this;
    const end = Math.min(bytes.length, this.#at + mostBytes);
    let at = this.#isInString ? this.#passString(this.#at, end) : this.#at;
    while (at < end && !this.#isTooDeep) {
      while (at < end && IS_MARK[bytes[at] ?? 0] === 0) at += 1;
      if (at < end) at = this.#passMark(at, end);
    }
    this.#at = at;
    return this.#isTooDeep || at >= bytes.length;
  }

  get passedBound(): 'depth' | 'values' | undefined {
    if (this.#isTooDeep) return 'depth';
    return this.#values > this.bounds.maxValues ? 'values' : undefined;
  }

  /**
   * The texts of the values at the path, byte for byte; of a member named twice the last one, which
   * JSON.parse keeps. One for each item that the path goes through: empty where such a value is absent.
   */
  texts(): string[] {
    return this.#found.map((range) => (range === undefined ? '' : this.bytes.toString('utf8', ...range)));
  }

  #passText(start: number, end: number): number {
    const isName = this.#expectsName && this.#depth === this.#onPath;
    // A name is passed in one go: only the whole of it can be compared.
    const after = this.#passString(start + 1, isName ? this.bytes.length : end);
    if (isName) this.#takeName(start + 1, after - 1);
    return after;
  }

  /** @returns the position after the string's last quote, or the one to go on from */
  #passString(start: number, end: number): number {
    const { bytes } = this;
    let at = start;
    while (at < end) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        this.#isInString = false;
        return at + 1;
      }
      at += byte === BACKSLASH ? 2 : 1;
    }
    this.#isInString = true;
    return at;
  }

  /** @returns where to go on */
  #passMark(at: number, end: number): number {
    const isOnPath = this.#depth === this.#onPath;
    const mark = this.bytes[at] ?? 0;
    switch (mark) {
      case QUOTE:
        return this.#passText(at, end);
      case COMMA:
        this.#values += 1;
        if (isOnPath) this.#beginNext(at);
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.#values += 1;
        this.#depth += 1;
        this.#isTooDeep = this.#depth > this.bounds.maxDepth;
        if (isOnPath && this.#leadsOn) this.#enter(mark, at);
        break;
      default:
        if (isOnPath) this.#leave(at);
        this.#depth -= 1;
    }
    return at + 1;
  }

  #enter(mark: number, at: number): void {
    this.#leadsOn = false;
    const isArray = this.path[this.#onPath] === EACH;
    if (mark !== (isArray ? OPEN_ARRAY : OPEN_OBJECT)) return;
    this.#onPath += 1;
    if (isArray) this.#beginItem(at);
    else this.#expectsName = true;
  }

  #leave(at: number): void {
    this.#endValue(at);
    if (this.#step === EACH && this.#trim(this.#itemAt, at) === undefined) this.#found.pop();
    this.#expectsName = false;
    this.#onPath -= 1;
  }

  #beginNext(at: number): void {
    this.#endValue(at);
    if (this.#step === EACH) this.#beginItem(at);
    else this.#expectsName = this.#onPath > 0;
  }

  #beginItem(at: number): void {
    this.#itemAt = at + 1;
    this.#found.push(undefined);
    this.#beginValue(at + 1);
  }

  #takeName(start: number, end: number): void {
    this.#expectsName = false;
    if (!this.#isName(start, end, String(this.#step))) return;
    // The last member of this name replaces the earlier one.
    if (this.#eachAt >= this.#onPath) this.#found = [];
    else this.#found[Math.max(0, this.#found.length - 1)] = undefined;
    this.#beginValue(end + 1);
  }

  #beginValue(at: number): void {
    if (this.#onPath === this.path.length) this.#wantedAt = at;
    else this.#leadsOn = true;
  }

  #endValue(at: number): void {
    this.#leadsOn = false;
    if (this.#wantedAt === undefined) return;
    this.#found[this.#found.length - 1] = this.#trim(this.#wantedAt, at);
    this.#wantedAt = undefined;
  }

  /** The next step of the path in the innermost array or object on it. */
  get #step(): JsonPath[number] | undefined {
    return this.path[this.#onPath - 1];
  }

  /** Names may be written with escapes: "d\u0061ta" is "data". */
  #isName(start: number, end: number, name: string): boolean {
    const { bytes } = this;
    const length = end - start;
    let same = 0;
    while (same < name.length && bytes[start + same] === name.charCodeAt(same)) same += 1;
    if (same === name.length && same === length) return true;
    const mayBeEscaped = bytes[start + same] === BACKSLASH && length <= LONGEST_ESCAPE * name.length;
    return mayBeEscaped && parsedOrUndefined(`"${bytes.toString('utf8', start, end)}"`) === name;
  }

  /** Without white space around a value; `undefined` when nothing else is there. */
  #trim(start: number, end: number): Range | undefined {
    const { bytes } = this;
    let [from, to] = [start, end];
    while (from < to && isAround(bytes[from] ?? 0)) from += 1;
    while (from < to && isAround(bytes[to - 1] ?? 0)) to -= 1;
    return from === to ? undefined : [from, to];
  }
}

function isAround(byte: number): boolean {
  return byte <= SPACE || byte === COLON;
}
