import type { Attempt, AttemptOutcome } from './attempt';
import type { Trigger } from './delivery';
import { isAttempt, isRequest, type Line, readLine, toAttempt } from './delivery-line';

/**
 * What is on record of a delivery is its log: a line is appended for each fact, and none is ever rewritten, so
 * that two workers that both believe to own a delivery can't undo each other's record. No line at all: nothing
 * has happened yet.
 *
 * ```
 *              ┌──────── retry ────────┐
 *   (fan-out) ─▶ pending ──▶ attempt ──┴─▶ delivered | exhausted | aborted
 *                  └── endpoint deleted, dead letter dropped ─▶ cancelled
 * ```
 *
 * The one exception: when an event's payload is erased, its deliveries' logs lose the answers of their receivers.
 *
 * Whatever its end was, somebody may request it once more: it is pending again, and its schedule begins anew. One that
 * was delivered stays delivered, since its receiver did accept it: it gets one more attempt, whatever comes of that.
 */
export type DeliveryStatus = 'pending' | EndStatus;

/**
 * In bytes. What is kept of one delivery has a bound: one whose log has come to this is sent no more when somebody
 * requests it. The attempts of its last round may still be added.
 */
export const FULL_LOG_BYTES = 1024 * 1024;

/** How a delivery ended. */
export const endStatuses = ['delivered', 'exhausted', 'aborted', 'cancelled'] as const;
export type EndStatus = (typeof endStatuses)[number];

/** Where a delivery stands: what a list has of it. */
export interface DeliverySummary {
  readonly status: DeliveryStatus;
  readonly attemptCount: number;
  /** What the last attempt was answered with, if it was. */
  readonly lastResponseStatus: number | undefined;
  /** What came of the last attempt; `undefined` before there was one. */
  readonly lastOutcome: AttemptOutcome | undefined;
  readonly nextAttemptAt: number | undefined;
  /** From the first attempt on. */
  readonly eventType: string | undefined;
  /** Whether there is an attempt to come: so it is with one that is pending, or was requested once more. */
  readonly isOpen: boolean;
}

/** All that is on record of a delivery. */
export interface DeliveryState extends DeliverySummary {
  readonly attempts: readonly Attempt[];
  /** How many of them have decided what becomes of it: all but the late ones. */
  readonly decidingAttempts: number;
  readonly requestIds: readonly string[];
  readonly round: Round;
}

/** What began with the fan-out, or with a request after its end. */
export interface Round {
  /** What its next attempt is due to. */
  readonly trigger: Trigger;
  /** Absent: with the fan-out. Milliseconds since the Unix epoch. */
  readonly requestedAt?: number;
  /** How many attempts it has had. */
  readonly attempts: number;
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
const FIRST_ROUND: Round = { trigger: 'schedule', attempts: 0 };

export const NOTHING_HAPPENED: DeliveryState = {
  ...NEW,
  attempts: [],
  decidingAttempts: 0,
  requestIds: [],
  round: FIRST_ROUND,
};

/** What a log comes to. A line that can't be read is passed over: the delivery goes on without it. */
export function readLog(log: string): DeliveryState {
  const lines = linesOf(log);
  let summary = NEW;
  let round = FIRST_ROUND;
  for (const line of lines) {
    round = roundAfter(round, line, summary);
    summary = summaryAfter(summary, line);
  }
  const requestIds = lines.filter(isRequest).map(({ q }) => q);
  const attemptLines = lines.filter(isAttempt);
  const decidingAttempts = attemptLines.filter(({ l }) => l === undefined).length;
  return { ...summary, attempts: attemptLines.map(toAttempt), decidingAttempts, requestIds, round };
}

/** As `readLog`, for hundreds of them at once: without what is only looked at one by one. */
export function readSummary(log: string): DeliverySummary {
  return linesOf(log).reduce(summaryAfter, NEW);
}

function linesOf(log: string): Line[] {
  const lines: Line[] = [];
  for (const text of log.split('\n')) {
    const line = text === '' ? undefined : readLine(text);
    if (line !== undefined) lines.push(line);
  }
  return lines;
}

function summaryAfter(summary: DeliverySummary, line: Line): DeliverySummary {
  const status = statusAfter(summary.status, line);
  const isOpen = status === 'pending' || isRequest(line);
  if (!isAttempt(line)) {
    const { attemptCount, lastResponseStatus, lastOutcome, eventType } = summary;
    return {
      status,
      attemptCount,
      lastResponseStatus,
      lastOutcome,
      nextAttemptAt: undefined,
      eventType,
      isOpen,
    };
  }
  const attemptCount = summary.attemptCount + 1;
  if (line.l && line.o !== undefined) return { ...summary, attemptCount };
  const nextAttemptAt = isOpen ? line.r : undefined;
  const eventType = line.y ?? summary.eventType;
  const lastOutcome = line.o ?? 'delivered';
  return { status, attemptCount, lastResponseStatus: line.s, lastOutcome, nextAttemptAt, eventType, isOpen };
}

// Once delivered, always delivered: what a second worker writes afterwards does not take it back, nor does an attempt
// that somebody asked for.
function statusAfter(status: DeliveryStatus, line: Line): DeliveryStatus {
  if (status === 'delivered') return 'delivered';
  if (isRequest(line)) return 'pending';
  if (!isAttempt(line)) return 'cancelled';
  if (line.o === undefined) return 'delivered';
  if (line.a) return 'aborted';
  return line.r === undefined ? 'exhausted' : 'pending';
}

// A request for one that is tried again anyway brings its next attempt forward, and takes none away from the schedule.
function roundAfter(round: Round, line: Line, { isOpen }: DeliverySummary): Round {
  if (isRequest(line)) {
    const isBroughtForward = isOpen && round.attempts > 0;
    return isBroughtForward
      ? { ...round, trigger: line.g }
      : { trigger: line.g, requestedAt: line.t, attempts: 0 };
  }
  if (!isAttempt(line) || line.l) return round;
  return { ...round, trigger: 'schedule', attempts: round.attempts + 1 };
}
