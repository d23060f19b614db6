import { parsedOrUndefined } from '../kernel/json';
import { type Attempt, type AttemptOutcome, type AttemptTimings, attemptOutcomes } from './attempt';
import { type RequestTrigger, type Trigger, triggers } from './delivery';
import type { DeliveryFact } from './delivery-fact';
import { formatTraceparent, parseTraceparent } from './trace';

/** A line of a delivery's log: one fact, as JSON. Names are short because there are millions of lines. */
export type Line = AttemptLine | CancelledLine | RequestedLine;

export interface AttemptLine {
  readonly n: number; // number
  readonly t: number; // started at
  readonly d: number; // duration
  readonly o?: AttemptOutcome | undefined; // outcome; absent: delivered
  readonly s?: number | undefined; // response status
  readonly e?: string | undefined; // error
  readonly b?: string | undefined; // response body
  readonly a?: 1 | undefined; // aborted: the receiver asked for that
  readonly w?: readonly (number | null)[] | undefined; // timings: first byte, connect, TLS, DNS; what is last and absent is left out
  readonly g?: Trigger | undefined; // trigger; absent: schedule
  readonly k?: string | undefined; // worker
  readonly x?: string | undefined; // names of the headers that the endpoint added to the request
  readonly h?: Readonly<Record<string, string>> | undefined; // response headers
  readonly y?: string | undefined; // the event's type; in the first one's line only
  readonly p?: string | undefined; // place in a trace, as a traceparent
  readonly l?: 1 | undefined; // late: another worker had gone on with the delivery by then
  // Next attempt at; absent: this was the last one. Redis finds it at the end of a log: it stays the last member.
  readonly r?: number | undefined;
}
export interface CancelledLine {
  readonly c: string; // why
}
export interface RequestedLine {
  readonly q: string; // id
  readonly g: RequestTrigger; // what for
  readonly t: number; // when: it stays the last member, as above
}

/**
 * What a log begins with once its event's payload is erased: the one line that is put before others, so that Redis finds
 * it. What receivers have answered may repeat the payload, so from then on no line has an answer. It is no fact.
 */
export const ERASED_LOG_START = '{"z":';

// No header's name has one.
const NAME_SEPARATOR = ',';

export function encodeFact(fact: DeliveryFact): string {
  return `${JSON.stringify(toLine(fact))}\n`;
}

/** The same fact without what the receiver has answered. */
export function withoutAnswer(fact: DeliveryFact): DeliveryFact {
  if (fact.kind !== 'attempted') return fact;
  const { responseBody: _body, responseHeaders: _headers, ...attempt } = fact.attempt;
  return { ...fact, attempt };
}

/** The log of a delivery whose event's payload is erased. What can't be read might be anything: it goes. */
export function eraseAnswers(log: string, erasedAt: number): string {
  if (log.startsWith(ERASED_LOG_START)) return log;
  const lines = log.split('\n').flatMap((text) => {
    const line = readLine(text);
    if (line === undefined) return [];
    const { b: _body, h: _headers, ...rest } = { b: undefined, h: undefined, ...line };
    return [JSON.stringify(rest)];
  });
  return [`${ERASED_LOG_START}${erasedAt}}`, ...lines, ''].join('\n');
}

/** `undefined` for a text that is no line of ours. */
export function readLine(text: string): Line | undefined {
  const line = parsedOrUndefined(text);
  return isLine(line) ? line : undefined;
}

// Nobody but us writes them, and a page has hundreds to read: that it is one of the three kinds is checked, and no more.
function isLine(value: unknown): value is Line {
  if (typeof value !== 'object' || value === null) return false;
  if ('c' in value) return typeof value.c === 'string';
  if (!('t' in value) || typeof value.t !== 'number') return false;
  if ('q' in value) return typeof value.q === 'string' && 'g' in value && knownTriggers.has(value.g);
  const hasNumbers =
    'n' in value && typeof value.n === 'number' && 'd' in value && typeof value.d === 'number';
  return hasNumbers && (!('o' in value) || failures.has(value.o));
}

const knownTriggers: ReadonlySet<unknown> = new Set(triggers);
const failures: ReadonlySet<unknown> = new Set(attemptOutcomes.filter((outcome) => outcome !== 'delivered'));

export function isAttempt(line: Line): line is AttemptLine {
  return 'n' in line;
}

export function isRequest(line: Line): line is RequestedLine {
  return 'q' in line;
}

export function toAttempt(line: AttemptLine): Attempt {
  return {
    number: line.n,
    startedAt: line.t,
    durationMs: line.d,
    outcome: line.o ?? 'delivered',
    ...(line.s === undefined ? {} : { responseStatus: line.s }),
    ...(line.e === undefined ? {} : { error: line.e }),
    ...(line.b === undefined ? {} : { responseBody: line.b }),
    ...(line.w === undefined ? {} : { timings: decodeTimings(line.w) }),
    ...(line.g === undefined ? {} : { trigger: line.g }),
    ...(line.k === undefined ? {} : { worker: line.k }),
    ...(line.x === undefined ? {} : { addedHeaders: line.x.split(NAME_SEPARATOR) }),
    ...(line.h === undefined ? {} : { responseHeaders: line.h }),
    ...(line.p === undefined ? {} : { trace: parseTraceparent(line.p) }),
  };
}

function toLine(fact: DeliveryFact): Line {
  if (fact.kind === 'cancelled') return { c: fact.reason };
  if (fact.kind === 'requested') return { q: fact.requestId, g: fact.trigger, t: fact.requestedAt };
  const { attempt, nextAttemptAt, isAborted, isLate, eventType } = fact;
  return {
    n: attempt.number,
    t: attempt.startedAt,
    d: attempt.durationMs,
    o: attempt.outcome === 'delivered' ? undefined : attempt.outcome,
    s: attempt.responseStatus,
    e: attempt.error,
    b: attempt.responseBody,
    a: isAborted ? 1 : undefined,
    w: encodeTimings(attempt.timings),
    g: attempt.trigger,
    k: attempt.worker,
    x: attempt.addedHeaders?.join(NAME_SEPARATOR),
    h: attempt.responseHeaders,
    y: eventType,
    p: attempt.trace && formatTraceparent(attempt.trace),
    l: isLate ? 1 : undefined,
    r: nextAttemptAt,
  };
}

// The first byte leads, since over a kept-alive connection there is nothing else.
const TIMINGS = ['firstByteMs', 'connectMs', 'tlsMs', 'dnsMs'] as const;

function encodeTimings(timings: AttemptTimings = {}): (number | null)[] | undefined {
  const last = TIMINGS.findLastIndex((name) => timings[name] !== undefined);
  return last < 0 ? undefined : TIMINGS.slice(0, last + 1).map((name) => timings[name] ?? null);
}

function decodeTimings(numbers: readonly (number | null)[]): AttemptTimings {
  return Object.fromEntries(TIMINGS.flatMap((name, i) => (numbers[i] == null ? [] : [[name, numbers[i]]])));
}
