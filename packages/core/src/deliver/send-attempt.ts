import type { TokenVersion } from '../domain/access-token';
import { type Attempt, type AttemptOutcome, isAboutReceiver } from '../domain/attempt';
import type { Endpoint } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { AttemptSpan, BeginSpan } from '../domain/trace';
import type { DeliveryContent, SendResult, SentResult } from '../domain/transport';
import { authorize } from './authorize';
import { contentOf, keptHeadersOf } from './cloudevents';
import { Confirmation, type Refusal } from './confirm-request';
import { describeTokenFailure, type TokenFailure } from './fetch-token';
import type { Permit } from './flow/concurrency';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { prepareRequest, signWithKey } from './prepare-request';

export type SendOutcome =
  | SentAttempt
  | UnsentRequest
  /** There is no access token, and no process asks for one before this time. Milliseconds since the Unix epoch. */
  | { readonly kind: 'paused'; readonly until: number }
  /** It has to be read again: its event was erased or its endpoint changed, for example, while it waited. */
  | { readonly kind: 'changed' }
  /** This process had to abandon it before there was a response, or may have lost the job before it began. */
  | { readonly kind: 'interrupted' };

/** The request could not be sent. The receiver is not the cause. */
export type UnsentRequest = Extract<SendResult, { kind: 'unsent' }> & {
  /** For how long the account's transformations are paused, if they are the cause. Milliseconds. */
  readonly pausedForMs?: number;
};

/** A request that was sent, and its result. */
export interface SentAttempt {
  readonly kind: 'sent';
  readonly attempt: Attempt;
  readonly wish: ReceiverWish;
  /** The response's `Retry-After`, unparsed. */
  readonly retryAfter: string | undefined;
  /** The access token that the receiver refused. */
  readonly refusedToken?: TokenVersion | undefined;
  /** Absent where traces are not wanted. */
  readonly span: AttemptSpan | undefined;
}

/** A request for several events. */
export interface BatchRequest {
  /** Its `webhook-id`. */
  readonly id: EventId;
  readonly content: DeliveryContent;
  /** The deliveries that go in it. */
  readonly deliveries: readonly ReadyDelivery[];
  /** Whether all of its events are tests. */
  readonly isTest: boolean;
  /** How much of the response is read. */
  readonly responseBytes: number;
}

/**
 * Prepare and send the request of an admitted attempt, and classify the result. The permit is free again as soon
 * as the receiver has responded, whatever happens then.
 *
 * @param batch sent instead of the single event.
 */
export async function sendAttempt(
  parts: AttemptParts,
  ready: ReadyDelivery,
  permit: Permit,
  abortSignal: AbortSignal,
  batch?: BatchRequest,
): Promise<SendOutcome> {
  let attempt: Attempt | undefined;
  try {
    const outcome = await send(parts, ready, permit, abortSignal, batch);
    // The time of an authorization server does not count as the receiver's time.
    if (outcome.kind === 'sent' && isAboutReceiver(outcome.attempt.outcome)) attempt = outcome.attempt;
    return outcome;
  } finally {
    parts.concurrency.releasePermit(permit, attempt);
    if (permit.slot.isSlow) announceSlow(parts, ready, permit);
  }
}

function announceSlow(
  { emit }: AttemptParts,
  { run: { endpointId, eventId } }: ReadyDelivery,
  { isUnknown }: Permit,
): void {
  emit({ name: 'delivery.moved', endpointId, eventId, reason: isUnknown ? 'stranger' : 'slow' });
}

async function send(
  parts: AttemptParts,
  ready: ReadyDelivery,
  permit: Permit,
  abortSignal: AbortSignal,
  batch: BatchRequest | undefined,
): Promise<SendOutcome> {
  const askedAt = parts.clock();
  const authorized =
    ready.endpoint.auth && (await authorize(parts.accessTokens, ready.endpoint, abortSignal));
  if (authorized?.kind === 'failed') {
    return attemptWithoutRequest(parts, ready, askedAt, toTokenError(authorized.failure));
  }
  if (authorized && authorized.kind !== 'authorized') return authorized;
  const content = batch?.content ?? contentOf(ready, parts.requestStyle.cloudEvents);
  const { id } = batch ?? ready.event;
  const message = { id, body: content.body };
  const signed =
    ready.signer && (await signWithKey(parts.ed25519Signatures, parts.clock, message, ready.signer));
  const confirmation = new Confirmation(parts, batch?.deliveries ?? [ready], authorized?.expiresAt);
  const { mayBegin } = confirmation;
  const hasWaited = permit.wasAwaited || authorized?.wasAwaited === true;
  if (!(await mayBegin(hasWaited))) return unlessBegun(confirmation.refusal);
  // The record shows the `webhook-timestamp` by this time, so it is the one that the signature covers.
  const startedAt = signed?.at ?? parts.clock();
  const { endpoint, attemptNumber: attempt } = ready;
  const { isTest } = batch ?? ready;
  // Headers that the code made for a single event do not describe a list of events.
  const transformed = batch ? undefined : ready.transformed;
  const span = parts.beginSpan && traceAttempt(ready, parts.beginSpan, startedAt);
  const authorization = authorized?.header;
  const traced = { trace: span?.context, now: startedAt, signed, authorization };
  const responseBytes = batch?.responseBytes;
  const input = { event: { id }, content, endpoint, transformed, attempt, isTest, responseBytes, ...traced };
  const request = { mayBegin, ...prepareRequest(input, parts.requestStyle) };
  const result = await parts.transport(request, abortSignal);
  if (abortSignal.aborted && result.kind !== 'responded') return { kind: 'interrupted' };
  if (result.kind === 'unsent') return confirmation.refusal ? unlessBegun(confirmation.refusal) : result;
  const outcome = classifyResult(result);
  return {
    kind: 'sent',
    attempt: toAttempt(parts, ready, startedAt, content, outcome, result, span),
    wish: readReceiverWish(result, outcome === 'delivered'),
    retryAfter: result.kind === 'responded' ? result.retryAfter : undefined,
    refusedToken: isUnauthorized(result) ? authorized?.version : undefined,
    span,
  };
}

function unlessBegun(refusal: Refusal | undefined): Exclude<SendOutcome, { kind: 'sent' }> {
  switch (refusal) {
    case 'changed':
      return { kind: 'changed' };
    case 'late':
      return {
        kind: 'unsent',
        error: 'Redis, or the connection to the receiver, took too long to begin the request.',
      };
    case 'lost':
    case undefined:
      return { kind: 'interrupted' };
  }
}

const UNAUTHORIZED = 401;

function isUnauthorized(result: SentResult): boolean {
  return result.kind === 'responded' && result.status === UNAUTHORIZED;
}

/** An attempt that failed before there was a request to the receiver. */
export function attemptWithoutRequest(
  { clock, workerId }: AttemptParts,
  ready: ReadyDelivery,
  startedAt: number,
  failure: Pick<Attempt, 'outcome' | 'error' | 'tokenError'>,
): SentAttempt {
  const { attemptNumber: number, trigger } = ready;
  const attempt: Attempt = {
    number,
    trigger: trigger === 'schedule' ? undefined : trigger,
    startedAt,
    durationMs: clock() - startedAt,
    ...failure,
    holds: holdsOf(ready, startedAt),
    worker: workerId,
  };
  return { kind: 'sent', attempt, wish: NOTHING, retryAfter: undefined, span: undefined };
}

function toTokenError(failure: TokenFailure) {
  const { status, code } = failure;
  return {
    outcome: 'token_error',
    error: describeTokenFailure(failure),
    tokenError: { status, code },
  } as const;
}

function toAttempt(
  { clock, workerId }: AttemptParts,
  ready: ReadyDelivery,
  startedAt: number,
  content: DeliveryContent,
  outcome: AttemptOutcome,
  result: SentResult,
  span: AttemptSpan | undefined,
): Attempt {
  const { attemptNumber: number, trigger, endpoint, transformed } = ready;
  const response = result.kind === 'responded' ? result : undefined;
  return {
    number,
    trigger: trigger === 'schedule' ? undefined : trigger,
    startedAt,
    durationMs: clock() - startedAt,
    timings: result.timings,
    outcome,
    responseStatus: response?.status,
    error: result.kind === 'failed' ? result.error : undefined,
    responseBody: response?.body === '' ? undefined : response?.body,
    // They are not needed for a success, and most attempts succeed.
    responseHeaders: outcome === 'delivered' ? undefined : response?.headers,
    transformed,
    addedHeaders: addedHeadersOf(endpoint),
    contentHeaders:
      endpoint.format === 'native' && !transformed ? undefined : keptHeadersOf(content, transformed),
    holds: holdsOf(ready, startedAt),
    worker: workerId,
    remoteAddress: result.remoteAddress,
    trace: outcome === 'delivered' ? undefined : span?.context,
  };
}

// Shorter waits are part of an attempt at a busy receiver.
const SHORTEST_HOLD_MS = 1_000;

/** The holds between the former attempt and one that begins at this time. */
export function holdsOf(
  { run: { holds = [] }, previousStartedAt = 0 }: Pick<ReadyDelivery, 'run' | 'previousStartedAt'>,
  startedAt: number,
): Attempt['holds'] {
  if (holds.length === 0) return undefined;
  const own = holds.filter(({ since }) => since >= previousStartedAt);
  const [first] = own;
  return first && startedAt - first.since >= SHORTEST_HOLD_MS ? own : undefined;
}

// Those of its code are recorded with the rest of what the code made, and go with it.
function addedHeadersOf({ headers = {}, auth }: Endpoint): string[] | undefined {
  const names = Object.keys(headers);
  if (auth) names.push('authorization');
  return names.length === 0 ? undefined : names;
}

/**
 * Classify an attempt's result. Delivered is 200 to 299 and nothing else: a redirect is not followed, and an
 * informational response is not an acceptance.
 */
export function classifyResult(result: SentResult): AttemptOutcome {
  if (result.kind === 'failed') return result.reason;
  const { status } = result;
  if (status >= 200 && status <= 299) return 'delivered';
  if (status >= 100 && status <= 199) return 'http_1xx';
  if (status >= 300 && status <= 399) return 'http_3xx';
  if (status >= 400 && status <= 499) return 'http_4xx';
  if (status >= 500 && status <= 599) return 'http_5xx';
  return 'protocol_error';
}

/** A receiver's wishes, beside the status. */
export interface ReceiverWish {
  /** Not to get this delivery again. */
  readonly aborts: boolean;
  /** To get nothing any more: by 410, or by `disable`. */
  readonly disabledBy: 'gone' | 'receiver' | undefined;
}

const NOTHING: ReceiverWish = { aborts: false, disabledBy: undefined };
const GONE = 410;

/**
 * Read a response's `webhook-delivery`: a list of words, of which `abort` and `disable` count. An accepted
 * delivery can't be aborted.
 */
export function readReceiverWish(result: SentResult, wasAccepted: boolean): ReceiverWish {
  if (result.kind !== 'responded') return NOTHING;
  const { status, wish } = result;
  if (wish === undefined) return status === GONE ? { aborts: false, disabledBy: 'gone' } : NOTHING;
  const words = wish.split(',').map((word) => word.trim().toLowerCase());
  return {
    aborts: !wasAccepted && words.includes('abort'),
    disabledBy: words.includes('disable') ? 'receiver' : status === GONE ? 'gone' : undefined,
  };
}

/**
 * Within this time after its acceptance, work for an event belongs to its trace. Retries go on for days, a
 * delivery may be held as long, and be requested once more weeks later. A sampler of whole traces has decided
 * on this one within a minute or so, and a trace of days is hard to find and to draw. So later work has a
 * trace of its own, with links back.
 */
export const TRACE_OPEN_MS = 5 * 60_000;

/**
 * Begin the span of an attempt. It links to the attempt before and, if it has a trace of its own, to its
 * event.
 */
export function traceAttempt(
  { event, endpoint, previousTrace }: Pick<ReadyDelivery, 'event' | 'endpoint' | 'previousTrace'>,
  beginSpan: BeginSpan,
  startedAt: number,
): AttemptSpan {
  const { trace, acceptedAt } = event;
  const before = previousTrace === undefined ? [] : [previousTrace];
  const url = withoutSecrets(endpoint.url);
  if (trace === undefined) return { ...beginSpan({ links: before, startedAt }), url };
  if (startedAt - acceptedAt < TRACE_OPEN_MS) {
    return { ...beginSpan({ parent: trace, links: before, startedAt }), url };
  }
  return { ...beginSpan({ links: [...before, trace], startedAt }), url };
}

function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
