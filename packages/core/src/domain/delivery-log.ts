import {
  type Attempt,
  type AttemptFilter,
  type AttemptOutcome,
  matchesAttempt,
  type Transformed,
} from './attempt';
import type { Trigger } from './delivery';
import { madeBy, toAttempt, toTransformed } from './delivery-fact';
import {
  type AttemptLine,
  isAttempt,
  isCancelled,
  isRequest,
  isReused,
  isTransformed,
  type Line,
  type RequestedLine,
  type ReusedLine,
  readLine,
  type TransformedLine,
} from './delivery-line';
import type { EventId } from './event';

/**
 * The record of a delivery is its log. Each fact appends a line, and no line is ever rewritten, so two
 * workers that both believe to own a delivery can't undo each other's record. No line at all means that
 * nothing has happened yet.
 *
 * ```
 *              ┌──────── retry ────────┐
 *   (fan-out) ─▶ pending ──▶ attempt ──┴─▶ delivered | exhausted | aborted
 *                  ├── endpoint deleted, dead letter dropped, discarded ─▶ cancelled
 *                  └── a newer event of its group is sent ─▶ superseded
 * ```
 *
 * The one exception: when an event's payload is erased, the logs of its deliveries lose the receivers'
 * responses.
 *
 * After any end, a client may request the delivery once more: it is pending again, and its schedule starts
 * again. A delivered one stays delivered, since its receiver did accept it: it gets one more attempt,
 * whatever its result.
 *
 * The fan-out begins the first round of attempts, and a request after an end begins the next one. An attempt belongs to the
 * round of the run that makes it, whenever its line comes. A request that was acknowledged is sent, since only a
 * line of its own round ends that:
 *
 * ```
 *   round 1                                           round 2
 *   open ── success, last failure, ──▶ over ─ request ─▶ open ── success, last failure, ──▶ over ─ request ─▶ …
 *   ▲  │    cancelled                  ▲  │              ▲  │    cancelled
 *   └──┴ failure with a retry,         └──┴ late line    └──┴ as in round 1,
 *        late failure, request                               and any attempt of round 1
 * ```
 *
 * A late line is of an attempt whose worker had lost its job by then: another one has continued the delivery. It says what
 * was sent, and undoes nothing. A success counts all the same: the delivery is delivered, and the open round is over if
 * that is the success's own. A process may die between any two steps:
 *
 * - before the line of an attempt: the job is taken over, and the attempt made again, in the same round;
 * - after it, before the job ends: the worker that takes the job over finds the round over, or not due yet;
 * - after the job of a request is added, before its line: the job has the request, and the run appends the line;
 * - after that line: the round is open, and has a job until a line of this round ends it.
 */
export type DeliveryStatus = 'pending' | EndStatus;

/**
 * In bytes. The log of one delivery has a bound: a delivery whose log has reached it can't be requested
 * again. The attempts of its last round may still be added.
 */
export const FULL_LOG_BYTES = 1024 * 1024;

/** How a delivery ended. */
export const endStatuses = ['delivered', 'exhausted', 'aborted', 'cancelled', 'superseded'] as const;
export type EndStatus = (typeof endStatuses)[number];

/**
 * Why a delivery was cancelled. `event_expired`: it was open for its RETENTION, or its event is gone. `dropped`: its dead
 * letter was. `transformation`: the endpoint's code said so. `discarded`: its endpoint was disabled and discards what is due
 * then, or a client has discarded what was held.
 */
export const cancelReasons = [
  'endpoint_deleted',
  'payload_erased',
  'event_expired',
  'dropped',
  'transformation',
  'discarded',
] as const;
export type CancelReason = (typeof cancelReasons)[number];

/** The state of a delivery, as lists show it. */
export interface DeliverySummary {
  readonly status: DeliveryStatus;
  readonly attemptCount: number;
  /** The status of the last attempt's response, if there was one. */
  readonly lastResponseStatus: number | undefined;
  /** The outcome of the last attempt; `undefined` before the first one. */
  readonly lastOutcome: AttemptOutcome | undefined;
  readonly nextAttemptAt: number | undefined;
  /** From the first attempt on. */
  readonly eventType: string | undefined;
  /** Whether another attempt will follow: the delivery is pending, or was requested once more. */
  readonly isOpen: boolean;
  /**
   * It has no log, and its RETENTION is over: the log may have expired, and nobody knows how the delivery ended. Only what a store has
   * read tells it.
   */
  readonly isForgotten?: true | undefined;
}

/** Everything recorded of a delivery. */
export interface DeliveryState extends DeliverySummary {
  readonly attempts: readonly Attempt[];
  readonly requestIds: readonly string[];
  /** When a client requested it for the last time. Absent: never. Milliseconds since the Unix epoch. */
  readonly lastRequestedAt?: number;
  /** The newer event of its group that is sent in place of it, if it has ended so. */
  readonly supersededBy?: EventId | undefined;
  /** If it has ended so, and the reason is a known one. */
  readonly cancelReason?: CancelReason | undefined;
  /** What the endpoint's transformation made for it, the last time that it made something. */
  readonly transformed?: Transformed | undefined;
  readonly round: Round;
}

/** A series of attempts. It begins with the fan-out, or with a request after the delivery's end. */
export interface Round {
  /** From 1 on. */
  readonly number: number;
  /** The cause of its next attempt. */
  readonly trigger: Trigger;
  /** Absent: with the fan-out. Milliseconds since the Unix epoch. */
  readonly requestedAt?: number;
  /** How many attempts have decided what follows in it: all but the late ones. */
  readonly attempts: number;
  /**
   * What its attempts send, as soon as one may have sent it, recorded or not. Absent: the transformation in force, if there
   * is one, makes it.
   */
  readonly content?: { readonly transformed: Transformed | undefined };
}

const NEW: DeliverySummary = {
  status: 'pending',
  attemptCount: 0,
  lastResponseStatus: undefined,
  lastOutcome: undefined,
  nextAttemptAt: undefined,
  eventType: undefined,
  isOpen: true,
};
const FIRST_ROUND: Round = { number: 1, trigger: 'schedule', attempts: 0 };

export const NOTHING_HAPPENED: DeliveryState = {
  ...NEW,
  attempts: [],
  requestIds: [],
  round: FIRST_ROUND,
};

/** Fold a log into a state. A line that can't be read is skipped: the delivery goes on without it. */
export function readLog(log: string): DeliveryState {
  const lines = linesOf(log);
  const made = lines.filter(isTransformed).map(toTransformed);
  let summary = NEW;
  let round = FIRST_ROUND;
  for (const line of lines) {
    round = roundAfter(round, line, summary, made);
    summary = summaryAfter(summary, line, round.number);
  }
  const requests = lines.filter(isRequest);
  const lastRequestedAt = requests.at(-1)?.t;
  const attempts = lines.filter(isAttempt).map((line) => toAttempt(line, made));
  const ended = lines.findLast(isCancelled);
  const supersededBy = summary.status === 'superseded' ? ended?.si : undefined;
  const cancelReason =
    summary.status === 'cancelled' ? cancelReasons.find((known) => known === ended?.c) : undefined;
  return {
    ...summary,
    attempts,
    requestIds: requests.map(({ q }) => q),
    ...(lastRequestedAt === undefined ? {} : { lastRequestedAt }),
    ...(supersededBy === undefined ? {} : { supersededBy }),
    ...(cancelReason === undefined ? {} : { cancelReason }),
    transformed: made.at(-1),
    round,
  };
}

/** A line of a log, with the state after it. */
export interface LogStep {
  readonly text: string;
  readonly line: Line;
  readonly summary: DeliverySummary;
}

// In a text of JSON a backslash stands before this quote. Only attempts and requests have the member.
const TIMES = /"t":(\d+)/g;

/** No attempt of a log began later. Found without parsing it. Milliseconds since the Unix epoch; 0: nothing happened. */
export function newestTimeOf(log: string): number {
  let newest = 0;
  for (const [, time] of log.matchAll(TIMES)) newest = Math.max(newest, Number(time));
  return newest;
}

/** The number of a log's attempts that match. */
export function countAttempts(log: string, filter: AttemptFilter): number {
  if (newestTimeOf(log) < (filter.since ?? 0)) return 0;
  const attempts = linesOf(log).filter(isAttempt);
  return attempts.filter((line) => matchesAttempt(momentOf(line), filter)).length;
}

function momentOf({ t: startedAt, o: outcome = 'delivered' }: AttemptLine) {
  return { startedAt, outcome };
}

/** The lines of a log that can be read, one by one. */
export function stepsOf(log: string): readonly LogStep[] {
  const steps: LogStep[] = [];
  let summary = NEW;
  let roundNumber = FIRST_ROUND.number;
  for (const text of log.split('\n')) {
    const line = text === '' ? undefined : readLine(text);
    if (line === undefined) continue;
    if (beginsRound(line, summary)) roundNumber += 1;
    summary = summaryAfter(summary, line, roundNumber);
    steps.push({ text, line, summary });
  }
  return steps;
}

/** As `readLog`, for hundreds of logs at once: without the details of single attempts. */
export function readSummary(log: string): DeliverySummary {
  let summary = NEW;
  let roundNumber = FIRST_ROUND.number;
  for (const line of linesOf(log)) {
    if (beginsRound(line, summary)) roundNumber += 1;
    summary = summaryAfter(summary, line, roundNumber);
  }
  return summary;
}

function linesOf(log: string): Line[] {
  const lines: Line[] = [];
  for (const text of log.split('\n')) {
    const line = text === '' ? undefined : readLine(text);
    if (line !== undefined) lines.push(line);
  }
  return lines;
}

function beginsRound(line: Line, { isOpen }: DeliverySummary): line is RequestedLine {
  return !isOpen && isRequest(line);
}

function summaryAfter(summary: DeliverySummary, line: Line, roundNumber: number): DeliverySummary {
  if (isTransformed(line) || isReused(line)) return summary;
  if (isAttempt(line)) return summaryAfterAttempt(summary, line, isOf(line, roundNumber));
  const status = statusAfter(summary.status, line);
  const { attemptCount, lastResponseStatus, lastOutcome, eventType } = summary;
  return {
    status,
    attemptCount,
    lastResponseStatus,
    lastOutcome,
    nextAttemptAt: undefined,
    eventType,
    isOpen: status === 'pending' || isRequest(line),
  };
}

function summaryAfterAttempt(
  summary: DeliverySummary,
  line: AttemptLine,
  isOfRound: boolean,
): DeliverySummary {
  const attemptCount = summary.attemptCount + 1;
  if (line.o !== undefined && (line.l || !isOfRound)) return { ...summary, attemptCount };
  const status = statusAfter(summary.status, line);
  const eventType = line.y ?? summary.eventType;
  const lastOutcome = line.o ?? 'delivered';
  // A success of an earlier round. What was asked for since is still to be sent.
  const { nextAttemptAt, isOpen } = isOfRound ? openAfter(status, line) : summary;
  return { status, attemptCount, lastResponseStatus: line.s, lastOutcome, nextAttemptAt, eventType, isOpen };
}

function openAfter(status: DeliveryStatus, { r: nextAttemptAt }: AttemptLine) {
  const isOpen = status === 'pending';
  return { isOpen, nextAttemptAt: isOpen ? nextAttemptAt : undefined };
}

// A line that does not tell is of the round at its place: so are those that earlier versions wrote.
function isOf({ ro }: AttemptLine, roundNumber: number): boolean {
  return ro === undefined || ro === roundNumber;
}

// Once delivered, always delivered: neither a later line of a second worker nor a requested attempt takes it
// back.
function statusAfter(
  status: DeliveryStatus,
  line: Exclude<Line, TransformedLine | ReusedLine>,
): DeliveryStatus {
  if (status === 'delivered') return 'delivered';
  if (isRequest(line)) return 'pending';
  if (!isAttempt(line)) return line.si === undefined ? 'cancelled' : 'superseded';
  if (line.o === undefined) return 'delivered';
  if (line.a) return 'aborted';
  return line.r === undefined ? 'exhausted' : 'pending';
}

// A request for a delivery that is tried again anyway brings its next attempt forward. It takes no attempt
// away from the schedule, and what is sent stays the same.
function roundAfter(round: Round, line: Line, summary: DeliverySummary, made: readonly Transformed[]): Round {
  if (isRequest(line)) {
    const { g: trigger, t: requestedAt } = line;
    if (beginsRound(line, summary)) return { number: round.number + 1, trigger, requestedAt, attempts: 0 };
    return round.attempts > 0 ? { ...round, trigger } : { ...round, trigger, requestedAt };
  }
  if (isTransformed(line)) return { ...round, content: { transformed: toTransformed(line) } };
  if (isReused(line)) return { ...round, content: { transformed: madeBy(line.v, made) } };
  if (!isAttempt(line) || line.l || !isOf(line, round.number)) return round;
  const next = { ...round, trigger: 'schedule', attempts: round.attempts + 1 } as const;
  if (line.o === 'transform_error' || round.content) return next;
  return { ...next, content: { transformed: madeBy(line.v, made) } };
}
