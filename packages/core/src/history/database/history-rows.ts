import { hash } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { ERASED_LOG_START } from '../../domain/delivery-fact';
import { type AttemptLine, isAttempt } from '../../domain/delivery-line';
import { type DeliveryStatus, stepsOf } from '../../domain/delivery-log';
import type { MovedEvent } from '../../domain/moved-event';
import type { TokenErrorCode } from '../../domain/receiver-auth';
import { formatTraceparent } from '../../domain/trace';
import { formatTime } from '../../platform/clock';
import { storable } from '../../platform/storable-text';
import { isSearchable } from '../json-containment';

/** PostgreSQL gives null. What it gets leaves the member out: its JSON is half as long. */
type Absent = null | undefined;

/** A row of `webhook_events`. Times are written as in the API. */
export interface EventRow {
  readonly account_id: string;
  readonly event_id: string;
  readonly accepted_at: string;
  readonly keep_days: number;
  readonly type: string;
  readonly data: string | Absent;
  readonly is_aimed: boolean;
  readonly is_searchable: boolean;
  readonly trace: string | Absent;
  readonly erased_at: string | Absent;
  /** Of an event that was published to be sent later: `accepted_at` is when it was due, or cancelled. */
  readonly published_at: string | Absent;
  /** When an event that was cancelled would have been due. */
  readonly cancelled_due_at: string | Absent;
  readonly event_group: string | Absent;
  readonly request_id: string | Absent;
}

/** A row of `webhook_deliveries`. */
export interface DeliveryRow {
  readonly account_id: string;
  readonly delivery_key: string;
  readonly event_id: string;
  readonly webhook_id: string;
  readonly accepted_at: string;
  readonly keep_days: number;
  readonly type: string;
  readonly status: string;
  readonly attempt_count: number;
  readonly last_outcome: string | Absent;
  readonly response_status: number | Absent;
  readonly last_attempt_at: string | Absent;
  /** The log's lines that are no attempts: the position of each, a space, the line, a line feed. */
  readonly other_lines: string;
}

/** A row of `webhook_attempts`: what can be asked for, and what it takes to write the line of the log again. */
export interface AttemptRow extends AttemptColumns {
  readonly account_id: string;
  readonly delivery_key: string;
  readonly keep_days: number;
  readonly accepted_at: string;
  readonly delivery_id: string;
  readonly event_id: string;
  readonly webhook_id: string;
  readonly type: string;
}

export interface AttemptColumns {
  /** Of its line in the log. */
  readonly position: number;
  readonly number: number;
  readonly started_at: string;
  readonly next_attempt_at: string | Absent;
  /** The delivery's after this attempt. */
  readonly status: string;
  readonly trigger: string;
  readonly worker: string | Absent;
  readonly remote_address: string | Absent;
  readonly holds: string | Absent;
  readonly duration_ms: number;
  readonly dns_ms: number | Absent;
  readonly connect_ms: number | Absent;
  readonly tls_ms: number | Absent;
  readonly first_byte_ms: number | Absent;
  readonly outcome: string;
  readonly added_headers: readonly string[] | Absent;
  /** Those that described the body, where it was not the usual one. */
  readonly content_headers: Readonly<Record<string, string>> | Absent;
  /** Of the transformation that made what was sent. */
  readonly transform_version: number | Absent;
  /** The id of the request, if that was for several events. */
  readonly batch_id: string | Absent;
  /** How the token URL answered, where it gave no token. */
  readonly token_status: number | Absent;
  readonly token_error: string | Absent;
  readonly response_status: number | Absent;
  readonly response_headers: Readonly<Record<string, string>> | Absent;
  readonly response_body: string | Absent;
  readonly error: string | Absent;
  readonly is_late: boolean | Absent;
  /** Of attempts, where it is not that at its place in the log. */
  readonly round: number | Absent;
  readonly trace: string | Absent;
  /** The line itself, where the columns don't give it. */
  readonly exact: string | Absent;
}

/** The members of the event in a delivery's rows. */
export type EventKey = Pick<EventRow, 'account_id' | 'event_id' | 'accepted_at' | 'keep_days' | 'type'>;

/** A delivery in rows, and the log that they are made of. */
export interface DeliveryRows {
  readonly delivery: DeliveryRow;
  readonly attempts: readonly AttemptRow[];
  readonly log: string;
}

export function toEventRow({ accountId, id, createdAt, head, dataText, keepDays }: MovedEvent): EventRow {
  return {
    account_id: accountId,
    event_id: id,
    accepted_at: formatTime(createdAt),
    keep_days: keepDays,
    type: head.type,
    data: dataText,
    is_aimed: head.isAimed,
    is_searchable: dataText !== undefined && isSearchable(dataText),
    trace: head.trace && formatTraceparent(head.trace),
    erased_at: head.erasedAt === undefined ? undefined : formatTime(head.erasedAt),
    published_at: head.schedule && formatTime(head.schedule.publishedAt),
    cancelled_due_at: head.schedule?.state === 'cancelled' ? formatTime(head.schedule.deliverAt) : undefined,
    event_group: head.group,
    request_id: head.requestId,
  };
}

/** The rows of a delivery. Lines that can't be read are left out, as everybody does who reads a log. */
export function toDeliveryRows(event: EventKey, webhookId: string, log: string): DeliveryRows {
  const deliveryId = `${event.event_id}.${webhookId}`;
  const key = { event, webhookId, deliveryId, deliveryKey: deliveryKeyOf(deliveryId) };
  const steps = stepsOf(log);
  const attempts: AttemptRow[] = [];
  let others = log.startsWith(ERASED_LOG_START) ? `${BEFORE_ALL} ${log.slice(0, log.indexOf('\n'))}\n` : '';
  for (const [position, { text, line, summary }] of steps.entries()) {
    if (isAttempt(line)) attempts.push(attemptRowOf(key, position, line, summary.status, text));
    else others += `${position} ${text}\n`;
  }
  const { status, attemptCount, lastOutcome, lastResponseStatus } = steps.at(-1)?.summary ?? NO_SUMMARY;
  const delivery = {
    account_id: event.account_id,
    delivery_key: key.deliveryKey,
    event_id: event.event_id,
    webhook_id: webhookId,
    accepted_at: event.accepted_at,
    keep_days: event.keep_days,
    type: event.type,
    status,
    attempt_count: attemptCount,
    last_outcome: lastOutcome,
    response_status: lastResponseStatus,
    last_attempt_at: newestOf(attempts),
    other_lines: others,
  };
  return { delivery, attempts, log };
}

// One that came late has its line behind others that began later. All have the same format.
function newestOf(attempts: readonly AttemptRow[]): string | undefined {
  return attempts
    .map(({ started_at: startedAt }) => startedAt)
    .toSorted()
    .at(-1);
}

interface AttemptKey {
  readonly event: EventKey;
  readonly webhookId: string;
  readonly deliveryId: string;
  readonly deliveryKey: string;
}

const NO_SUMMARY = {
  status: 'cancelled',
  attemptCount: 0,
  lastOutcome: undefined,
  lastResponseStatus: undefined,
};
/** The position of the mark that its answers were erased. */
export const BEFORE_ALL = -1;

/** Stands for the delivery in the key of an attempt, which the two ids would make three times as long. */
export function deliveryKeyOf(deliveryId: string): string {
  return hash('sha256', deliveryId, 'buffer').readBigInt64BE().toString();
}

/** The log that the rows were made of. */
export function toLog(
  { type, other_lines }: Pick<DeliveryRow, 'type' | 'other_lines'>,
  attempts: readonly AttemptColumns[],
): string {
  const lines = new Map<number, string>();
  for (const text of other_lines.split('\n')) {
    const space = text.indexOf(' ');
    if (space > 0) lines.set(Number(text.slice(0, space)), text.slice(space + 1));
  }
  for (const columns of attempts) lines.set(columns.position, columns.exact ?? lineOf(columns, type));
  const inOrder = [...lines].sort(([a], [b]) => a - b);
  return inOrder.map(([, text]) => `${text}\n`).join('');
}

// Member by member: putting rows together from parts takes longer than all the rest.
function attemptRowOf(
  { event, webhookId, deliveryId, deliveryKey }: AttemptKey,
  position: number,
  line: AttemptLine,
  status: DeliveryStatus,
  text: string,
): AttemptRow {
  const timings = line.w ?? [];
  const row = {
    account_id: event.account_id,
    delivery_key: deliveryKey,
    keep_days: event.keep_days,
    accepted_at: event.accepted_at,
    delivery_id: deliveryId,
    event_id: event.event_id,
    webhook_id: webhookId,
    type: event.type,
    position,
    number: line.n,
    started_at: storableTime(line.t),
    next_attempt_at: line.r === undefined ? undefined : storableTime(line.r),
    status,
    trigger: line.g ?? 'schedule',
    worker: line.k === undefined ? undefined : storable(line.k),
    remote_address: line.j === undefined ? undefined : storableAddress(line.j),
    holds: line.ho === undefined ? undefined : storable(line.ho),
    duration_ms: line.d,
    dns_ms: timings[3],
    connect_ms: timings[1],
    tls_ms: timings[2],
    first_byte_ms: timings[0],
    outcome: line.o ?? 'delivered',
    added_headers: line.x === undefined ? undefined : storable(line.x).split(','),
    content_headers: line.f === undefined ? undefined : storableValues(line.f),
    transform_version: line.v,
    batch_id: line.i === undefined ? undefined : storable(line.i),
    token_status: line.u?.[0],
    token_error: line.u?.[1],
    response_status: line.s,
    response_headers: line.h === undefined ? undefined : storableValues(line.h),
    response_body: line.b === undefined ? undefined : storable(line.b),
    error: line.e === undefined ? undefined : storable(line.e),
    is_late: line.l === 1 ? true : undefined,
    round: line.ro,
    trace: line.p === undefined ? undefined : storable(line.p),
    exact: undefined as string | undefined,
  };
  if (lineOf(row, event.type) !== text) row.exact = text;
  return row;
}

/** As `encodeFact` writes it. */
function lineOf(columns: AttemptColumns, type: string): string {
  const timings = [columns.first_byte_ms, columns.connect_ms, columns.tls_ms, columns.dns_ms];
  const last = timings.findLastIndex((time) => time != null);
  const line = {
    n: columns.number,
    t: Date.parse(columns.started_at),
    d: columns.duration_ms,
    o: columns.outcome === 'delivered' ? undefined : (columns.outcome as AttemptLine['o']),
    s: columns.response_status ?? undefined,
    e: columns.error ?? undefined,
    b: columns.response_body ?? undefined,
    u: tokenErrorOf(columns),
    a: columns.status === 'aborted' ? 1 : undefined,
    w: last < 0 ? undefined : timings.slice(0, last + 1).map((time) => time ?? null),
    g: columns.trigger === 'schedule' ? undefined : (columns.trigger as AttemptLine['g']),
    k: columns.worker ?? undefined,
    j: columns.remote_address ?? undefined,
    ho: columns.holds ?? undefined,
    x: columns.added_headers?.join(','),
    f: columns.content_headers ?? undefined,
    h: columns.response_headers ?? undefined,
    y: columns.number === 1 ? type : undefined,
    p: columns.trace ?? undefined,
    i: columns.batch_id ?? undefined,
    l: columns.is_late ? 1 : undefined,
    ro: columns.round ?? undefined,
    v: columns.transform_version ?? undefined,
    r: columns.next_attempt_at == null ? undefined : Date.parse(columns.next_attempt_at),
  } satisfies Required<AttemptLine>;
  return JSON.stringify(line);
}

function tokenErrorOf({
  token_status: status = null,
  token_error: code = null,
}: AttemptColumns): AttemptLine['u'] {
  return status === null && code === null ? undefined : [status, code as TokenErrorCode | null];
}

// Later times are written with more digits, which PostgreSQL reads differently.
const LATEST = Date.UTC(9999, 11, 31);

function storableTime(epochMs: number): string {
  return formatTime(Math.min(Math.max(epochMs, 0), LATEST));
}

// PostgreSQL refuses what is none, an address with a zone too, and writes other spellings and the ends of "::" in its
// own way. The line itself keeps those.
function storableAddress(text: string): string | undefined {
  if (isIPv4(text) || text === '::1') return text;
  if (text.startsWith('::')) return undefined;
  const url = `http://[${text}]`;
  return URL.canParse(url) && new URL(url).hostname === `[${text}]` ? text : undefined;
}

function storableValues(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [storable(name), storable(text)]));
}
