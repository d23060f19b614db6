import { z } from 'zod';
import { type Attempt, type AttemptTimings, attemptOutcomeSchema } from './attempt';
import { type RequestTrigger, type Trigger, triggerSchema } from './trigger';

/**
 * What is on record of a delivery is its log: a line is appended for each fact, and none is ever rewritten, so
 * that two workers that both believe to own a delivery can't undo each other's record. No line at all: nothing
 * has happened yet. Names are short because there are millions of lines.
 *
 * ```
 *              ┌──────── retry ────────┐
 *   (fan-out) ─▶ pending ──▶ attempt ──┴─▶ delivered | exhausted | aborted
 *                  └── endpoint deleted ─▶ cancelled
 * ```
 *
 * The one exception: when an event's payload is erased, its deliveries' logs lose the answers of their receivers.
 *
 * Whatever its end was, somebody may request it once more: it is pending again, and its schedule begins anew. One that
 * was delivered stays delivered, since its receiver did accept it: it gets one more attempt, whatever comes of that.
 */
const attemptLine = z.object({
  n: z.number(), // number
  t: z.number(), // started at
  d: z.number(), // duration
  o: attemptOutcomeSchema.default('delivered'), // outcome; absent: delivered
  s: z.number().optional(), // response status
  e: z.string().optional(), // error
  b: z.string().optional(), // response body
  a: z.literal(1).optional(), // aborted: the receiver asked for that
  w: z.array(z.number().nullable()).optional(), // timings: first byte, connect, TLS, DNS; what is last and absent is left out
  g: triggerSchema.optional(), // trigger; absent: schedule
  k: z.string().optional(), // worker
  x: z.string().optional(), // names of the headers that the endpoint added to the request
  h: z.record(z.string(), z.string()).optional(), // response headers
  // Next attempt at; absent: this was the last one. Redis finds it at the end of a log: it stays the last member.
  r: z.number().optional(),
});
const cancelledLine = z.object({ c: z.string() }); // why
// Id, what for, when: it stays the last member, as above.
const requestedLine = z.object({ q: z.string(), g: triggerSchema.exclude(['schedule']), t: z.number() });
// When the payload was erased: the first line, so that Redis finds it there, and the only one put before others. What
// receivers have answered may repeat the payload, so from then on no line has an answer.
const erasedLine = z.object({ z: z.number() });
/** What such a log begins with. */
export const ERASED_LOG_START = '{"z":';
const lineSchema = z.union([attemptLine, cancelledLine, requestedLine, erasedLine]);
type Line = z.infer<typeof lineSchema>;
type LineToWrite = z.input<typeof lineSchema>;

export type DeliveryStatus = 'pending' | EndStatus;

/** How a delivery ended. */
export const endStatuses = ['delivered', 'exhausted', 'aborted', 'cancelled'] as const;
export type EndStatus = (typeof endStatuses)[number];

export type DeliveryFact =
  | {
      readonly kind: 'attempted';
      readonly attempt: Attempt;
      readonly nextAttemptAt: number | undefined;
      /** Whether the receiver asked not to be sent it again. */
      readonly isAborted?: boolean;
    }
  | { readonly kind: 'cancelled'; readonly reason: string }
  | RequestedFact;

/** Somebody asked for it to be sent, apart from its schedule. */
export interface RequestedFact {
  readonly kind: 'requested';
  /** The same when the same request is worked on again. */
  readonly requestId: string;
  readonly trigger: RequestTrigger;
  /** Milliseconds since the Unix epoch. */
  readonly requestedAt: number;
}

/** A delivery's state, folded out of its log. */
export interface DeliveryState {
  readonly status: DeliveryStatus;
  readonly attempts: readonly Attempt[];
  readonly nextAttemptAt: number | undefined;
  /** Whether there is an attempt to come: so it is with one that is pending, or was requested once more. */
  readonly isOpen: boolean;
  readonly requestIds: readonly string[];
  /** What began with the last request, or with the fan-out. */
  readonly round: {
    readonly trigger: Trigger;
    /** Milliseconds since the Unix epoch. */
    readonly requestedAt?: number;
    /** How many attempts it has had. */
    readonly attempts: number;
  };
}

// No header's name has one.
const NAME_SEPARATOR = ',';

export const NOTHING_HAPPENED: DeliveryState = {
  status: 'pending',
  attempts: [],
  nextAttemptAt: undefined,
  isOpen: true,
  requestIds: [],
  round: { trigger: 'schedule', attempts: 0 },
};

export function encodeFact(fact: DeliveryFact): string {
  return `${JSON.stringify(toLine(fact))}\n`;
}

/** The same fact without what the receiver has answered. */
export function withoutAnswer(fact: DeliveryFact): DeliveryFact {
  if (fact.kind !== 'attempted') return fact;
  const { responseBody: _body, responseHeaders: _headers, ...attempt } = fact.attempt;
  return { ...fact, attempt };
}

/** The log of a delivery whose event's payload is erased. */
export function eraseAnswers(log: string, erasedAt: number): string {
  if (log.startsWith(ERASED_LOG_START)) return log;
  const lines = linesOf(log).map((line) => {
    const { b: _body, h: _headers, ...rest } = JSON.parse(line) as Record<string, unknown>;
    return JSON.stringify(rest);
  });
  return [JSON.stringify({ z: erasedAt } satisfies z.input<typeof erasedLine>), ...lines, ''].join('\n');
}

export function readLog(log: string): DeliveryState {
  return linesOf(log)
    .map((line) => lineSchema.parse(JSON.parse(line)))
    .reduce(apply, NOTHING_HAPPENED);
}

function linesOf(log: string): string[] {
  return log.split('\n').filter((line) => line !== '');
}

function toLine(fact: DeliveryFact): LineToWrite {
  if (fact.kind === 'cancelled') return { c: fact.reason };
  if (fact.kind === 'requested') return { q: fact.requestId, g: fact.trigger, t: fact.requestedAt };
  const { attempt, nextAttemptAt, isAborted } = fact;
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
    r: nextAttemptAt,
  };
}

function apply(state: DeliveryState, line: Line): DeliveryState {
  if ('z' in line) return state;
  const status = statusAfter(state, line);
  if ('q' in line) {
    return {
      ...state,
      status,
      nextAttemptAt: undefined,
      isOpen: true,
      requestIds: [...state.requestIds, line.q],
      round: { trigger: line.g, requestedAt: line.t, attempts: 0 },
    };
  }
  return {
    ...state,
    status,
    attempts: 'c' in line ? state.attempts : [...state.attempts, toAttempt(line)],
    nextAttemptAt: status === 'pending' && 'r' in line ? line.r : undefined,
    isOpen: status === 'pending',
    round: 'c' in line ? state.round : { ...state.round, attempts: state.round.attempts + 1 },
  };
}

// Once delivered, always delivered: what a second worker writes afterwards does not take it back, nor does an attempt
// that somebody asked for.
function statusAfter(state: DeliveryState, line: Exclude<Line, { z: number }>): DeliveryStatus {
  if (state.status === 'delivered') return 'delivered';
  if ('c' in line) return 'cancelled';
  if ('q' in line) return 'pending';
  if (line.o === 'delivered') return 'delivered';
  if (line.a) return 'aborted';
  return line.r === undefined ? 'exhausted' : 'pending';
}

function toAttempt(line: z.infer<typeof attemptLine>): Attempt {
  return {
    number: line.n,
    startedAt: line.t,
    durationMs: line.d,
    outcome: line.o,
    ...(line.s === undefined ? {} : { responseStatus: line.s }),
    ...(line.e === undefined ? {} : { error: line.e }),
    ...(line.b === undefined ? {} : { responseBody: line.b }),
    ...(line.w === undefined ? {} : { timings: decodeTimings(line.w) }),
    ...(line.g === undefined ? {} : { trigger: line.g }),
    ...(line.k === undefined ? {} : { worker: line.k }),
    ...(line.x === undefined ? {} : { addedHeaders: line.x.split(NAME_SEPARATOR) }),
    ...(line.h === undefined ? {} : { responseHeaders: line.h }),
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
