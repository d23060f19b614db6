/**
 * The program that runs in the sandbox before a customer's code, and the reading of what it gives: both sides of the
 * border. Customers' code may change every object and function that the language has.
 */
import { isJsonType, parsedOrUndefined } from '../platform/json';
import type { CodePlace } from './code-runner';

/** Of the text that the code prints, in characters. */
const MAX_LOG = 4_096;
// Of the names and values of headers as JSON: more than twenty of the longest ones need.
const MAX_HEADERS_TEXT = 64 * 1024;
const MAX_MESSAGE = 300;
const MAX_STACK = 2_000;

/** Of what the function of the code returns. */
export interface OutputBounds {
  /** Of a body, in characters. */
  readonly maxOutput: number;
}

/**
 * Runs inside, before the code: gives it a clock that stands still, random numbers that repeat, and a console.
 * Returns the functions that the host calls. Each gives a text of JSON.
 *
 * From the moment the code runs, nothing here looks up a global, nothing calls a method of an object, and no object is
 * given to `stringify` except the code's own: a `toJSON`, a setter on `Array.prototype` or another `exec` would have a
 * say in it. So texts are put together by hand, of strings that were quoted one by one.
 */
const PRELUDE = `(now, seed, maxOutput) => {
  'use strict';
  const { stringify, parse } = JSON;
  const { imul } = Math;
  const { apply, construct } = Reflect;
  const { hasOwn } = Object;
  const { slice, toLowerCase } = String.prototype;
  const toText = String, Failure = TypeError;
  let printed = '';
  let logged = 0;
  let state = seed;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const RealDate = Date;
  const StandingDate = function Date(...parts) {
    if (!new.target) return new RealDate(now).toString();
    return construct(RealDate, parts.length === 0 ? [now] : parts, new.target);
  };
  StandingDate.prototype = RealDate.prototype;
  StandingDate.prototype.constructor = StandingDate;
  StandingDate.now = () => now;
  StandingDate.parse = RealDate.parse;
  StandingDate.UTC = RealDate.UTC;
  globalThis.Date = StandingDate;
  const textOf = (value) => {
    if (typeof value === 'string') return value;
    try { return stringify(value) ?? toText(value); } catch { return '[not shown]'; }
  };
  const log = (...values) => {
    if (logged >= ${MAX_LOG}) return;
    let line = '';
    for (let i = 0; i < values.length && line.length < ${MAX_LOG}; i += 1) {
      line += (i === 0 ? '' : ' ') + apply(slice, textOf(values[i]), [0, ${MAX_LOG}]);
    }
    line = apply(slice, line, [0, ${MAX_LOG} - logged]);
    logged += line.length + 1;
    printed += (printed === '' ? '' : ',') + stringify(line);
  };
  globalThis.console = { log, info: log, warn: log, error: log, debug: log };
  const fail = (message) => { throw new Failure(message); };
  const envelopeOf = (result) => {
    if (typeof result !== 'object' || result === null) fail('The function returned no object: return { body }.');
    if (result.cancel === true) return '{"cancel":true}';
    const { body, headers } = result;
    if (headers !== undefined && (typeof headers !== 'object' || headers === null)) fail('"headers" is not an object.');
    let hasType = false;
    let members = '';
    for (const name in headers) {
      if (!hasOwn(headers, name)) continue;
      const value = headers[name];
      if (typeof value !== 'string') fail('The header ' + name + ' is no string.');
      if (apply(toLowerCase, name, []) === 'content-type') hasType = true;
      members += (members === '' ? '' : ',') + stringify(name) + ':' + stringify(value);
      if (members.length > ${MAX_HEADERS_TEXT}) fail('The headers are too long.');
    }
    const text = typeof body === 'string' && hasType ? body : stringify(body);
    if (typeof text !== 'string') fail('"body" is nothing that JSON can say: ' + typeof body + '.');
    if (text.length > maxOutput) fail('"body" has ' + text.length + ' characters: ' + maxOutput + ' are the most.');
    return '{"text":' + stringify(text) + ',"headers":{' + members + '}}';
  };
  const part = (value, most) => stringify(apply(slice, toText(value), [0, most]));
  return {
    async call(transform, body, rest) {
      const { type, data } = parse(body);
      const { id, accepted_at, webhook, attempt } = parse(rest);
      return envelopeOf(await transform({ id, type, data, accepted_at, webhook, attempt }));
    },
    describe(error) {
      try {
        if (typeof error !== 'object' || error === null) return '{"message":' + part(textOf(error), ${MAX_MESSAGE}) + '}';
        const { name, message, stack } = error;
        return '{"name":' + part(name, ${MAX_MESSAGE}) + ',"message":' + part(message, ${MAX_MESSAGE})
          + ',"stack":' + part(stack, ${MAX_STACK}) + '}';
      } catch { return '{}'; }
    },
    logs: () => '[' + printed + ']',
  };
}`;

/** The source of the prelude, called with the clock and the seed of one run. */
export function preludeFor(
  { now, seed }: { now: number; seed: number },
  { maxOutput }: OutputBounds,
): string {
  return `(${PRELUDE})(${now}, ${seed}, ${maxOutput})`;
}

/** The result of the function, as it left the sandbox. */
export type Envelope =
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'returned'; readonly text: string; readonly headers: Readonly<Record<string, string>> }
  /** It is none that can be sent; `message` says why. */
  | { readonly kind: 'refused'; readonly message: string };

const CONTENT_TYPE = 'content-type';
// Of a surrogate pair: UTF-8 can't say it.
const HALF_A_PAIR = /\p{Cs}/u;

/** Read and check what `call` gave: the bounds hold whatever the code has done to those inside. */
export function readEnvelope(output: string, { maxOutput }: OutputBounds): Envelope {
  const { cancel, text, headers } = objectOf(parsedOrUndefined(output));
  if (cancel === true) return { kind: 'cancelled' };
  const pairs = Object.entries(objectOf(headers));
  if (typeof text !== 'string' || !pairs.every(isTextPair))
    return refused('The value that the function returned cannot be read.');
  if (text.length > maxOutput)
    return refused(`"body" has ${text.length} characters: ${maxOutput} are the most.`);
  if (HALF_A_PAIR.test(text)) return refused('"body" has half a surrogate pair, which UTF-8 cannot say.');
  const [, type] = pairs.find(([name]) => name.toLowerCase() === CONTENT_TYPE) ?? [];
  if ((type === undefined || isJsonType(type)) && parsedOrUndefined(text) === undefined)
    return refused('"body" is no JSON, as its content-type says.');
  return { kind: 'returned', text, headers: Object.fromEntries(pairs) };
}

function refused(message: string): Envelope {
  return { kind: 'refused', message };
}

/** Read what `logs` gave: at most 4 KB. */
export function readLogs(output: string): readonly string[] {
  const lines = parsedOrUndefined(output);
  if (!Array.isArray(lines)) return [];
  const kept: string[] = [];
  let room = MAX_LOG;
  for (const line of lines.map(String)) {
    if (room <= 0) break;
    kept.push(line.slice(0, room));
    room -= line.length + 1;
  }
  return kept;
}

/** The error of the code, in its own words. */
export interface CodeError extends CodePlace {
  readonly name: string;
  readonly message: string;
}

/** Read what `describe` gave. */
export function readError(output: string): CodeError {
  const { name, message, stack } = objectOf(parsedOrUndefined(output));
  return {
    name: plainText(name),
    message: plainText(message),
    ...placeIn(typeof stack === 'string' ? stack : ''),
  };
}

// An attempt shows it, and so do logs and terminals.
function plainText(value: unknown): string {
  const text = typeof value === 'string' ? value : '';
  return text.slice(0, MAX_MESSAGE).replaceAll(/[\p{Cc}\p{Cs}]+/gu, ' ');
}

// Of the first line of the code's own, if the stack names one.
function placeIn(stack: string): CodePlace {
  const place = /transformation\.js:(\d{1,6})(?::(\d{1,6}))?/.exec(stack);
  if (!place) return {};
  const [, line, column] = place;
  return { line: Number(line), ...(column === undefined ? {} : { column: Number(column) }) };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function isTextPair(pair: [string, unknown]): pair is [string, string] {
  return typeof pair[1] === 'string';
}
