import { z } from 'zod';
import type { PastHold, Trigger } from './delivery';
import { networkFailures } from './network-failures';
import type { TokenErrorCode } from './receiver-auth';
import type { TraceContext } from './trace';

/** Why no complete status line came back. */
export const transportFailures = [...networkFailures, 'transform_error'] as const;
export type TransportFailure = (typeof transportFailures)[number];

/** How an attempt ended: a closed set, used in the log, the metrics and the delivery log. */
export const attemptOutcomes = [
  'delivered',
  'http_1xx',
  'http_3xx',
  'http_4xx',
  'http_5xx',
  ...transportFailures,
  'token_error',
  'rejected_in_batch',
] as const;

export const attemptOutcomeSchema = z.enum(attemptOutcomes).meta({ id: 'AttemptOutcome' });
export type AttemptOutcome = z.infer<typeof attemptOutcomeSchema>;

/** Which attempts to look for: those that began in a time, and ended in one of these ways. */
export interface AttemptFilter {
  /** Milliseconds since the Unix epoch, both: from `since` on, and before `until`. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Absent: any. */
  readonly outcomes?: readonly AttemptOutcome[] | undefined;
}

/** As the counts over time count it: by its beginning, whatever has caused it. */
export function matchesAttempt(
  { startedAt, outcome }: Pick<Attempt, 'startedAt' | 'outcome'>,
  { since = -Infinity, until = Infinity, outcomes }: AttemptFilter,
): boolean {
  return since <= startedAt && startedAt < until && (outcomes === undefined || outcomes.includes(outcome));
}

/**
 * Whether an attempt with this outcome says anything of its receiver: not if it never got that far, nor if its receiver
 * took the request and not this event.
 */
export function isAboutReceiver(outcome: AttemptOutcome): boolean {
  return outcome !== 'token_error' && outcome !== 'transform_error' && outcome !== 'rejected_in_batch';
}

/**
 * This many bytes of receivers' responses are kept for an endpoint, and as many again in the course of the
 * retention: a thousand responses of 4 KiB, and from then on a few an hour. Otherwise an endpoint that fails
 * for days would fill the store with similar responses.
 */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** The results of running the code of an endpoint. */
export const transformResultKinds = ['made', 'cancelled', 'failed'] as const;
export type TransformResultKind = (typeof transformResultKinds)[number];

/** What an endpoint's transformation made of an event. Its deliveries send these bytes on each attempt. */
export interface Transformed {
  /** Of the code that made it. */
  readonly version: number;
  readonly body: string;
  /** Names are in lower case. They override the endpoint's own headers. `content-type` is among them if the code set it. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * How long each phase of an attempt took, in milliseconds. A phase that did not happen is absent: a
 * connection that was kept alive only waits for the response.
 */
export interface AttemptTimings {
  /** Looking up the name; absent for a literal address, and when a proxy looks it up. */
  readonly dnsMs?: number;
  /** TCP; through a proxy, until the tunnel is established. */
  readonly connectMs?: number;
  readonly tlsMs?: number;
  /** From the last byte of the request to the first one of the response. */
  readonly firstByteMs?: number;
}

/** The error with which the token URL of an endpoint answered. */
export interface TokenError {
  /** Absent: nothing came back. */
  readonly status?: number | undefined;
  readonly code?: TokenErrorCode | undefined;
}

/** One request to the receiver and its result. */
export interface Attempt {
  /** 1, 2, … */
  readonly number: number;
  /** Absent: `schedule`. */
  readonly trigger?: Trigger | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly timings?: AttemptTimings | undefined;
  readonly outcome: AttemptOutcome;
  readonly responseStatus?: number | undefined;
  /** What went wrong, for people; decide by `outcome`. */
  readonly error?: string | undefined;
  /** Of an attempt that had no access token, and so sent nothing to the receiver. */
  readonly tokenError?: TokenError | undefined;
  /** The beginning of the response's body. */
  readonly responseBody?: string | undefined;
  /** The headers worth keeping, of an attempt that failed. */
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined;
  /** What was sent in place of the event's own body, if that is known here. */
  readonly transformed?: Transformed | undefined;
  /** Names of the headers that the endpoint added to the request. */
  readonly addedHeaders?: readonly string[] | undefined;
  /** Of a request in another format than the usual one: the headers that described its body. */
  readonly contentHeaders?: Readonly<Record<string, string>> | undefined;
  /** Of a request for several events: its `webhook-id`. */
  readonly batchId?: string | undefined;
  /** Why the delivery was held before it, in the order of time. Absent: it was not, or for less than a second. */
  readonly holds?: readonly PastHold[] | undefined;
  /** Which process made it. */
  readonly worker?: string | undefined;
  /**
   * The IP address that it was sent to; the last one that was tried, if no connection came about. Absent: none was
   * tried, or only a proxy or a listener's client knows it. The port is the URL's.
   */
  readonly remoteAddress?: string | undefined;
  /** Its position in a trace, if it failed: the next attempt links to it. */
  readonly trace?: TraceContext | undefined;
}

/** The response headers that explain the response. Never add one that may carry a secret. */
const KEPT = [
  'content-type',
  'content-length',
  'date',
  'location',
  'retry-after',
  'server',
  'via',
  'webhook-delivery',
  'www-authenticate',
  'x-request-id',
] as const;

const MAX_VALUE_LENGTH = 200;
const MAX_LENGTH = 1_024;

/**
 * Give the part of a response's headers that is kept: at most 200 characters of each, and 1,024 in total with
 * names.
 */
export function keptHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string>> | undefined {
  const kept: Record<string, string> = {};
  let length = 0;
  for (const name of KEPT) {
    const value = valueOf(headers[name]);
    length += value === undefined ? 0 : name.length + value.length;
    if (length > MAX_LENGTH) break;
    if (value !== undefined) kept[name] = value;
  }
  return Object.keys(kept).length === 0 ? undefined : kept;
}

function valueOf(value: string | string[] | undefined): string | undefined {
  return (Array.isArray(value) ? value.join(', ') : value)?.slice(0, MAX_VALUE_LENGTH);
}
