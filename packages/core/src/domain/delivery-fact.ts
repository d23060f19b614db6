import { type Attempt, type AttemptTimings, type TokenError, type Transformed } from './attempt';
import { decodeHolds, encodeHold, type RequestTrigger } from './delivery';
import {
  type AttemptLine,
  isAttempt,
  isTransformed,
  type Line,
  readLine,
  type TransformedLine,
  writeLine,
} from './delivery-line';
import type { EventId } from './event';
import type { RecordForm } from './record-form';
import { formatTraceparent, parseTraceparent } from './trace';

/** The facts of a delivery. */
export type DeliveryFact =
  | AttemptedFact
  /** Before it is sent: so each attempt sends the same bytes. */
  | { readonly kind: 'transformed'; readonly transformed: Transformed }
  /** The same: a new round sends what that version of the code has made for an earlier one. */
  | { readonly kind: 'reused'; readonly version: number }
  | { readonly kind: 'cancelled'; readonly reason: string }
  | { readonly kind: 'superseded'; readonly by: EventId }
  | RequestedFact;

export interface AttemptedFact {
  readonly kind: 'attempted';
  readonly attempt: Attempt;
  /** The round of the run that made it: see `Round`. Absent: the round at its place in the log. */
  readonly round?: number;
  readonly nextAttemptAt: number | undefined;
  /** Whether the receiver asked for no further attempt. */
  readonly isAborted?: boolean;
  /**
   * Whether another worker had continued the delivery before this could be recorded. The line says what was
   * sent, and undoes nothing recorded since. A success counts all the same, but ends no other round.
   */
  readonly isLate?: boolean;
  /** Its event's type, once for each delivery: a list then need not read each event. */
  readonly eventType?: string;
}

/** A client requested the delivery apart from its schedule. */
export interface RequestedFact {
  readonly kind: 'requested';
  /** The same when the same request is repeated. */
  readonly requestId: string;
  readonly trigger: RequestTrigger;
  /** Milliseconds since the Unix epoch. */
  readonly requestedAt: number;
}

/**
 * The start of a log whose event's payload is erased. It is the only line that is put before others, so that
 * Redis finds it. Receivers' responses may repeat the payload, so from then on no line has a response. It is
 * no fact.
 */
export const ERASED_LOG_START = '{"z":';

// No header's name contains a comma.
const NAME_SEPARATOR = ',';

export function encodeFact(fact: DeliveryFact): string {
  return encodeFactIn('current', fact);
}

export function encodeFactIn(form: RecordForm, fact: DeliveryFact): string {
  return `${writeLine(toLine(fact), form)}\n`;
}

/**
 * The line of a fact, and the line that a log gets where the event's payload is erased, or has no room for receivers' responses.
 * That is '' if nothing of it may stay.
 */
export function linesToAppend(
  fact: DeliveryFact,
  form: RecordForm = 'current',
): readonly [line: string, shortLine: string] {
  const line = encodeFactIn(form, fact);
  if (fact.kind === 'transformed') return [line, ''];
  const short = withoutAnswer(fact);
  return [line, short === fact ? line : encodeFact(short)];
}

// The same fact without the receiver's response, and without the words of the endpoint's code.
function withoutAnswer(fact: DeliveryFact): DeliveryFact {
  if (fact.kind !== 'attempted') return fact;
  const { responseBody, responseHeaders, error, ...attempt } = fact.attempt;
  const shortError = error === undefined ? undefined : withoutCodeText(attempt.outcome, error);
  if (responseBody === undefined && responseHeaders === undefined && shortError === error) return fact;
  return { ...fact, attempt: { ...attempt, ...(shortError === undefined ? {} : { error: shortError }) } };
}

/** An attempt in a log. */
export interface FoundAttempt {
  readonly number: number;
  readonly isLate: boolean;
  readonly nextAttemptAt: number | undefined;
  /** Where its line begins, in bytes. */
  readonly place: number;
}

/**
 * Find an attempt that may have been recorded, wherever its line stands, and whatever number it has. A worker whose lock was lost
 * can make two of a delivery at what its clock calls the same time: those of one round that ended alike need not be told apart.
 */
export function findAttempt(log: string, attempt: Attempt, round: number): FoundAttempt | undefined {
  let place = 0;
  for (const text of log.split('\n')) {
    const line = text.includes(`"t":${attempt.startedAt},`) ? readLine(text) : undefined;
    if (line && isAttempt(line) && isLineOf(line, attempt, round)) {
      return { number: line.n, isLate: line.l !== undefined, nextAttemptAt: line.r, place };
    }
    place += Buffer.byteLength(text) + 1;
  }
  return undefined;
}

function isLineOf(line: AttemptLine, attempt: Attempt, round: number): boolean {
  return (
    (line.ro ?? 1) === round &&
    line.t === attempt.startedAt &&
    line.d === attempt.durationMs &&
    line.k === attempt.worker &&
    (line.o ?? 'delivered') === attempt.outcome &&
    line.s === attempt.responseStatus
  );
}

/**
 * The log of a delivery whose event's payload is erased. A line that can't be read might hold anything, so it
 * is removed.
 */
export function eraseAnswers(log: string, erasedAt: number): string {
  if (log.startsWith(ERASED_LOG_START)) return log;
  const lines = log.split('\n').flatMap((text) => eraseAnswer(text) ?? []);
  return [`${ERASED_LOG_START}${erasedAt}}`, ...lines, ''].join('\n');
}

/** The same of one line. `undefined`: nothing of it stays. */
export function eraseAnswer(text: string): string | undefined {
  const line = readLine(text);
  // What was made of the payload goes with it.
  if (line === undefined || isTransformed(line)) return undefined;
  // No other line has anything of an answer.
  if (!isAttempt(line)) return text;
  const { b: _body, h: _headers, ...rest } = line;
  if (line.e === undefined) return JSON.stringify(rest);
  return JSON.stringify({ ...rest, e: withoutCodeText(line.o, line.e) });
}

/** The error of an attempt whose event's payload is erased. Code may throw what it was given: its place stays. */
export function withoutCodeText(outcome: string | undefined, error: string): string {
  if (outcome !== 'transform_error') return error;
  const [place = ''] = /^line \d{1,6}(?:, column \d{1,6})?: /.exec(error) ?? [];
  return `${place}The message is erased with the payload.`;
}

export function toTransformed({ m: body, mh: headers = {}, v: version }: TransformedLine): Transformed {
  return { version, body, headers };
}

export function toAttempt(line: AttemptLine, made: readonly Transformed[]): Attempt {
  const transformed = madeBy(line.v, made);
  return {
    number: line.n,
    startedAt: line.t,
    durationMs: line.d,
    outcome: line.o ?? 'delivered',
    ...(line.s === undefined ? {} : { responseStatus: line.s }),
    ...(line.e === undefined ? {} : { error: line.e }),
    ...(line.b === undefined ? {} : { responseBody: line.b }),
    ...(line.u === undefined ? {} : { tokenError: decodeTokenError(line.u) }),
    ...(line.w === undefined ? {} : { timings: decodeTimings(line.w) }),
    ...(line.g === undefined ? {} : { trigger: line.g }),
    ...(line.k === undefined ? {} : { worker: line.k }),
    ...(line.j === undefined ? {} : { remoteAddress: line.j }),
    ...(line.ho === undefined ? {} : { holds: decodeHolds(line.ho) }),
    ...(transformed === undefined ? {} : { transformed }),
    ...(line.x === undefined ? {} : { addedHeaders: line.x.split(NAME_SEPARATOR) }),
    ...(line.f === undefined ? {} : { contentHeaders: line.f }),
    ...(line.h === undefined ? {} : { responseHeaders: line.h }),
    ...(line.i === undefined ? {} : { batchId: line.i }),
    ...(line.p === undefined ? {} : { trace: parseTraceparent(line.p) }),
  };
}

export function madeBy(wanted: number | undefined, made: readonly Transformed[]): Transformed | undefined {
  return wanted === undefined ? undefined : made.find(({ version }) => version === wanted);
}

function toLine(fact: DeliveryFact): Line {
  if (fact.kind === 'cancelled') return { c: fact.reason };
  if (fact.kind === 'superseded') return { c: 'superseded', si: fact.by };
  if (fact.kind === 'requested') return { q: fact.requestId, g: fact.trigger, t: fact.requestedAt };
  if (fact.kind === 'transformed') {
    const { body, headers, version } = fact.transformed;
    return { m: body, mh: Object.keys(headers).length === 0 ? undefined : headers, v: version };
  }
  if (fact.kind === 'reused') return { v: fact.version };
  const { attempt, round, nextAttemptAt, isAborted, isLate, eventType } = fact;
  return {
    n: attempt.number,
    t: attempt.startedAt,
    d: attempt.durationMs,
    o: attempt.outcome === 'delivered' ? undefined : attempt.outcome,
    s: attempt.responseStatus,
    e: attempt.error,
    b: attempt.responseBody,
    u: attempt.tokenError && [attempt.tokenError.status ?? null, attempt.tokenError.code ?? null],
    a: isAborted ? 1 : undefined,
    w: encodeTimings(attempt.timings),
    g: attempt.trigger,
    k: attempt.worker,
    j: attempt.remoteAddress,
    ho: attempt.holds?.map(encodeHold).join(''),
    x: attempt.addedHeaders?.join(NAME_SEPARATOR),
    f: attempt.contentHeaders,
    h: attempt.responseHeaders,
    y: eventType,
    p: attempt.trace && formatTraceparent(attempt.trace),
    i: attempt.batchId,
    l: isLate ? 1 : undefined,
    // The first round's attempts, which most are, stand in front of any request if they are not late.
    ro: isLate || round !== 1 ? round : undefined,
    v: attempt.transformed?.version,
    r: nextAttemptAt,
  } satisfies Required<AttemptLine>;
}

// The first byte comes first, since a kept-alive connection has no other phase.
const TIMINGS = ['firstByteMs', 'connectMs', 'tlsMs', 'dnsMs'] as const;

function encodeTimings(timings: AttemptTimings = {}): (number | null)[] | undefined {
  const last = TIMINGS.findLastIndex((name) => timings[name] !== undefined);
  return last < 0 ? undefined : TIMINGS.slice(0, last + 1).map((name) => timings[name] ?? null);
}

function decodeTimings(numbers: readonly (number | null)[]): AttemptTimings {
  return Object.fromEntries(TIMINGS.flatMap((name, i) => (numbers[i] == null ? [] : [[name, numbers[i]]])));
}

function decodeTokenError([status, code]: NonNullable<AttemptLine['u']>): TokenError {
  return { ...(status === null ? {} : { status }), ...(code === null ? {} : { code }) };
}
