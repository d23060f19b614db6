import { parsedOrUndefined } from '../platform/json';
import { type AttemptOutcome, attemptOutcomes } from './attempt';
import { type RequestTrigger, type Trigger, triggers } from './delivery';
import type { EventId } from './event';
import type { TokenErrorCode } from './receiver-auth';
import type { RecordForm } from './record-form';

/**
 * The names of members in the lines of deliveries' logs. They are short because there are millions of lines. Each has one
 * meaning, whatever line it stands in: see `LineMembers`. Scripts that look into lines have them from here.
 */
export const letters = {
  number: 'n',
  time: 't',
  duration: 'd',
  outcome: 'o',
  responseStatus: 's',
  error: 'e',
  responseBody: 'b',
  tokenAnswer: 'u',
  aborted: 'a',
  timings: 'w',
  trigger: 'g',
  worker: 'k',
  remoteAddress: 'j',
  holds: 'ho',
  addedHeaders: 'x',
  contentHeaders: 'f',
  responseHeaders: 'h',
  eventType: 'y',
  trace: 'p',
  batchId: 'i',
  late: 'l',
  round: 'ro',
  version: 'v',
  nextAttemptAt: 'r',
  madeBody: 'm',
  madeHeaders: 'mh',
  cancelReason: 'c',
  supersededBy: 'si',
  requestId: 'q',
} as const;

export interface LineMembers {
  /** Of the attempt: from 1 on. */
  readonly [letters.number]: number;
  /** When the attempt began, or the request came. */
  readonly [letters.time]: number;
  readonly [letters.duration]: number;
  /** Absent: delivered. */
  readonly [letters.outcome]: AttemptOutcome;
  readonly [letters.responseStatus]: number;
  readonly [letters.error]: string;
  readonly [letters.responseBody]: string;
  /** What the token URL answered. */
  readonly [letters.tokenAnswer]: readonly [status: number | null, code: TokenErrorCode | null];
  /** The receiver asked for no further attempt. */
  readonly [letters.aborted]: 1;
  /** First byte, connect, TLS, DNS; absent ones at the end are left out. */
  readonly [letters.timings]: readonly (number | null)[];
  /** The cause of the attempt (absent: schedule), or what the request was for. */
  readonly [letters.trigger]: Trigger;
  readonly [letters.worker]: string;
  readonly [letters.remoteAddress]: string;
  /** Before the attempt, as `encodeHold` writes each. */
  readonly [letters.holds]: string;
  /** Names of the headers that the endpoint added to the request. */
  readonly [letters.addedHeaders]: string;
  /** Headers that described the body. Absent: the usual ones. */
  readonly [letters.contentHeaders]: Readonly<Record<string, string>>;
  readonly [letters.responseHeaders]: Readonly<Record<string, string>>;
  /** In the first attempt's line only. */
  readonly [letters.eventType]: string;
  /** The position in a trace, as a traceparent. */
  readonly [letters.trace]: string;
  /** Of the request, if that was for several events. */
  readonly [letters.batchId]: string;
  /** Another worker had continued the delivery by then. */
  readonly [letters.late]: 1;
  /** Absent: that at its place in the log. A late line has it. */
  readonly [letters.round]: number;
  /** Of the transformation that made what is sent. */
  readonly [letters.version]: number;
  /** Absent: this was the last attempt. Redis finds it at the end of a log, so it is the last member. */
  readonly [letters.nextAttemptAt]: number;
  /** What a transformation made. */
  readonly [letters.madeBody]: string;
  readonly [letters.madeHeaders]: Readonly<Record<string, string>>;
  readonly [letters.cancelReason]: string;
  /** The newer event that is sent in place of it. */
  readonly [letters.supersededBy]: EventId;
  /** Of a client's request for the delivery. */
  readonly [letters.requestId]: string;
}

type With<Needed extends keyof LineMembers, Other extends keyof LineMembers = never> = Pick<
  LineMembers,
  Needed
> & { readonly [Name in Other]?: LineMembers[Name] | undefined };

export type AttemptLine = With<
  'n' | 't' | 'd',
  | 'o'
  | 's'
  | 'e'
  | 'b'
  | 'u'
  | 'a'
  | 'w'
  | 'g'
  | 'k'
  | 'j'
  | 'ho'
  | 'x'
  | 'f'
  | 'h'
  | 'y'
  | 'p'
  | 'i'
  | 'l'
  | 'ro'
  | 'v'
  | 'r'
>;
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
