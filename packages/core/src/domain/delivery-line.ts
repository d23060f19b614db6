import { parsedOrUndefined } from '../platform/json';
import { type AttemptOutcome, attemptOutcomes } from './attempt';
import { type RequestTrigger, type Trigger, triggers } from './delivery';
import type { EventId } from './event';
import type { TokenErrorCode } from './receiver-auth';
import type { RecordForm } from './record-form';

/**
 * The members of lines in deliveries' logs. Their names are short because there are millions of lines. Each has one meaning, whatever
 * line it stands in. A new one is declared here alone; the compiler names what writes it, and tests what does not read it.
 */
export interface LineMembers {
  /** Number of the attempt, from 1 on. */
  readonly n: number;
  /** When the attempt began, or the request came. */
  readonly t: number;
  /** Milliseconds that it took. */
  readonly d: number;
  /** Outcome. Absent: delivered. */
  readonly o: AttemptOutcome;
  /** Status of the response. */
  readonly s: number;
  /** Text of the error. */
  readonly e: string;
  /** Body of the response. */
  readonly b: string;
  /** What the token URL answered. */
  readonly u: readonly [status: number | null, code: TokenErrorCode | null];
  /** Aborted: the receiver asked for no further attempt. */
  readonly a: 1;
  /** Durations until the first byte, of connect, TLS, DNS; absent ones at the end are left out. */
  readonly w: readonly (number | null)[];
  /** Trigger of the attempt (absent: schedule), or what the request was for. */
  readonly g: Trigger;
  /** Worker that made it. */
  readonly k: string;
  /** Address of the receiver. */
  readonly j: string;
  /** Holds before the attempt, as `encodeHold` writes each. */
  readonly ho: string;
  /** Names of the headers that the endpoint added to the request. */
  readonly x: string;
  /** Headers that described the body. Absent: the usual ones. */
  readonly f: Readonly<Record<string, string>>;
  /** Headers of the response. */
  readonly h: Readonly<Record<string, string>>;
  /** Type of the event, in the first attempt's line only. */
  readonly y: string;
  /** Position in a trace, as a traceparent. */
  readonly p: string;
  /** Batch id: of the request, if that was for several events. */
  readonly i: string;
  /** Late: another worker had continued the delivery by then. */
  readonly l: 1;
  /** Round. Absent: that at its place in the log. A late line has it. */
  readonly ro: number;
  /** Version of the transformation that made what is sent. */
  readonly v: number;
  /** When the next attempt is due. Absent: this was the last one. Redis finds it at the end of a log, so it is the last member. */
  readonly r: number;
  /** Body that a transformation made. */
  readonly m: string;
  /** Headers that a transformation made. */
  readonly mh: Readonly<Record<string, string>>;
  /** Why it was cancelled. */
  readonly c: string;
  /** Superseded by this newer event, which is sent in place of it. */
  readonly si: EventId;
  /** Id of a client's request for the delivery. */
  readonly q: string;
}

/** Those that scripts of Redis look for. */
export const letters = {
  time: 't',
  timings: 'w',
  version: 'v',
  nextAttemptAt: 'r',
  madeBody: 'm',
} as const satisfies Record<string, keyof LineMembers>;

type With<Needed extends keyof LineMembers, Other extends keyof LineMembers = never> = Pick<
  LineMembers,
  Needed
> & { readonly [Name in Other]?: LineMembers[Name] | undefined };

type InEachAttempt = 'n' | 't' | 'd';
type InNoAttempt = 'm' | 'mh' | 'c' | 'si' | 'q';
export type AttemptLine = With<InEachAttempt, Exclude<keyof LineMembers, InEachAttempt | InNoAttempt>>;
export type TransformedLine = With<'m' | 'v', 'mh'>;
/** What that version made before is sent once more. */
export type ReusedLine = With<'v'>;
export type CancelledLine = With<'c', 'si'>;
/** The time is its last member: Redis looks for it there. */
export type RequestedLine = With<'q' | 't'> & { readonly g: RequestTrigger };

/** A line of a delivery's log: one fact, as JSON. */
export type Line = AttemptLine | TransformedLine | ReusedLine | CancelledLine | RequestedLine;

export function writeLine(line: Line, form: RecordForm): string {
  return JSON.stringify(form === 'former' ? toFormer(line) : line);
}

/** Gives `undefined` for a text that is not a line of a log. */
export function readLine(text: string): Line | undefined {
  const line = parsedOrUndefined(text);
  if (typeof line !== 'object' || line === null) return undefined;
  if ('n' in line) return isAttemptLine(line) ? line : undefined;
  const known = fromFormer(line);
  return isOtherLine(known) ? known : undefined;
}

// The version before gave `h`, `i` and `w` a second meaning in lines that are no attempts.
function toFormer(line: Line): object {
  if (isTransformed(line)) return { m: line.m, h: line.mh, v: line.v };
  if (isCancelled(line)) return { c: line.c, i: line.si };
  return isReused(line) ? { w: line.v } : line;
}

function fromFormer(line: object): object {
  if ('m' in line && 'h' in line) {
    const { h: mh, ...rest } = line;
    return { ...rest, mh };
  }
  if ('c' in line && 'i' in line) return { c: line.c, si: line.i };
  return 'w' in line ? { v: line.w } : line;
}

// Only this product writes the lines, and a page has hundreds to read, so the checks only tell the kinds apart.
function isAttemptLine(value: object): value is AttemptLine {
  const hasNumbers =
    'n' in value && typeof value.n === 'number' && 'd' in value && typeof value.d === 'number';
  if (!hasNumbers || !('t' in value) || typeof value.t !== 'number') return false;
  return !('o' in value) || failures.has(value.o);
}

function isOtherLine(value: object): value is Exclude<Line, AttemptLine> {
  if ('c' in value) return typeof value.c === 'string';
  if ('m' in value) return typeof value.m === 'string' && 'v' in value && typeof value.v === 'number';
  if ('v' in value) return typeof value.v === 'number';
  if (!('t' in value) || typeof value.t !== 'number' || !('q' in value)) return false;
  return typeof value.q === 'string' && 'g' in value && knownTriggers.has(value.g);
}

const knownTriggers: ReadonlySet<unknown> = new Set(triggers);
const failures: ReadonlySet<unknown> = new Set(attemptOutcomes.filter((outcome) => outcome !== 'delivered'));

export function isAttempt(line: Line): line is AttemptLine {
  return 'n' in line;
}

export function isCancelled(line: Line): line is CancelledLine {
  return 'c' in line;
}

export function isRequest(line: Line): line is RequestedLine {
  return 'q' in line;
}

export function isTransformed(line: Line): line is TransformedLine {
  return 'm' in line;
}

export function isReused(line: Line): line is ReusedLine {
  return 'v' in line && !('n' in line) && !('m' in line);
}
