import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { TokenVersion } from '../domain/access-token';
import { type Attempt, type AttemptOutcome, isAboutReceiver, type Transformed } from '../domain/attempt';
import { type Endpoint, liveSecrets, newestSecret } from '../domain/endpoint';
import type { AcceptedEvent, EventId } from '../domain/event';
import type { Emit } from '../domain/signal';
import { type AttemptSpan, type BeginSpan, formatTraceparent, type TraceContext } from '../domain/trace';
import type {
  DeliveryContent,
  DeliveryHeaders,
  DeliveryRequest,
  SendResult,
  SentResult,
  Transport,
} from '../domain/transport';
import type { Signer } from '../endpoints/signing-keys/signing-keys';
import { ParsedCache } from '../platform/caches';
import type { Clock } from '../platform/clock';
import { type AuthorizeContext, authorize } from './authorize';
import { type CloudEventsStyle, contentOf, keptHeadersOf } from './cloudevents';
import { Confirmation, type ConfirmContext, type Refusal } from './confirm-request';
import type { Ed25519Signatures, StandardMessage } from './ed25519-signatures';
import { describeTokenFailure, type TokenFailure } from './fetch-token';
import type { Concurrency, Permit } from './flow/concurrency';
import type { ReadyDelivery } from './load-delivery';

export interface SendAttemptContext extends AuthorizeContext, SignWithKeyContext, ConfirmContext {
  readonly concurrency: Pick<Concurrency, 'releasePermit'>;
  readonly transport: Transport;
  readonly requestStyle: RequestStyle;
  /** Names this process in records. */
  readonly workerId: string;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly emit: Emit;
}

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
  readonly members: readonly ReadyDelivery[];
  /** Whether all of its events are tests. */
  readonly isTest: boolean;
  /** How much of the response is read. */
  readonly responseBytes: number;
}

/**
 * Prepare and send the request of an admitted attempt, and judge the result. The permit is free again as soon
 * as the receiver has responded, whatever happens then.
 *
 * @param batch sent instead of the single event.
 */
export async function sendAttempt(
  context: SendAttemptContext,
  ready: ReadyDelivery,
  permit: Permit,
  abortSignal: AbortSignal,
  batch?: BatchRequest,
): Promise<SendOutcome> {
  let attempt: Attempt | undefined;
  try {
    const outcome = await send(context, ready, permit, abortSignal, batch);
    // The time of an authorization server does not count as the receiver's time.
    if (outcome.kind === 'sent' && isAboutReceiver(outcome.attempt.outcome)) attempt = outcome.attempt;
    return outcome;
  } finally {
    context.concurrency.releasePermit(permit, attempt);
    if (permit.slot.isSlow) announceSlow(context, ready, permit);
  }
}

function announceSlow(
  { emit }: SendAttemptContext,
  { run: { endpointId, eventId } }: ReadyDelivery,
  { isUnknown }: Permit,
): void {
  emit({ name: 'delivery.moved', endpointId, eventId, reason: isUnknown ? 'stranger' : 'slow' });
}

async function send(
  context: SendAttemptContext,
  ready: ReadyDelivery,
  permit: Permit,
  abortSignal: AbortSignal,
  batch: BatchRequest | undefined,
): Promise<SendOutcome> {
  const askedAt = context.clock();
  const authorized = ready.endpoint.auth && (await authorize(context, ready, abortSignal));
  if (authorized?.kind === 'failed') {
    return attemptWithoutRequest(context, ready, askedAt, toTokenError(authorized.failure));
  }
  if (authorized && authorized.kind !== 'authorized') return authorized;
  const content = batch?.content ?? contentOf(ready, context.requestStyle.cloudEvents);
  const { id } = batch ?? ready.event;
  const message = { id, body: content.body };
  const signed = ready.signer && (await signWithKey(context, message, ready.signer));
  const confirmation = new Confirmation(context, batch?.members ?? [ready], authorized?.expiresAt);
  const { mayBegin } = confirmation;
  const hasWaited = permit.wasAwaited || authorized?.wasAwaited === true;
  if (!(await mayBegin(hasWaited))) return unlessBegun(confirmation.refusal);
  // The record shows the `webhook-timestamp` by this time, so it is the one that the signature covers.
  const startedAt = signed?.at ?? context.clock();
  const { endpoint, attemptNumber: attempt } = ready;
  const { isTest } = batch ?? ready;
  // Headers that the code made for a single event do not describe a list of events.
  const transformed = batch ? undefined : ready.transformed;
  const span = context.beginSpan && traceAttempt(ready, context.beginSpan, startedAt);
  const authorization = authorized?.header;
  const traced = { trace: span?.context, now: startedAt, signed, authorization };
  const responseBytes = batch?.responseBytes;
  const input = { event: { id }, content, endpoint, transformed, attempt, isTest, responseBytes, ...traced };
  const request = { mayBegin, ...prepareRequest(input, context.requestStyle) };
  const result = await context.transport(request, abortSignal);
  if (abortSignal.aborted && result.kind !== 'responded') return { kind: 'interrupted' };
  if (result.kind === 'unsent') return confirmation.refusal ? unlessBegun(confirmation.refusal) : result;
  const outcome = judgeResult(result);
  return {
    kind: 'sent',
    attempt: toAttempt(context, ready, startedAt, content, outcome, result, span),
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
  { clock, workerId }: Pick<SendAttemptContext, 'clock' | 'workerId'>,
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

/** A signature by the account's key. */
export interface KeySignature {
  readonly kid: string;
  /** `v1a,` and base64. */
  readonly signature: string;
  /** The time that it covers. Milliseconds since the Unix epoch. */
  readonly at: number;
}

export interface SignWithKeyContext {
  readonly ed25519Signatures: Pick<Ed25519Signatures, 'sign'>;
  readonly clock: Clock;
}

export async function signWithKey(
  { ed25519Signatures, clock }: SignWithKeyContext,
  { id, body }: Pick<StandardMessage, 'id' | 'body'>,
  signer: Signer,
): Promise<KeySignature> {
  const at = clock();
  const signature = await ed25519Signatures.sign(signer, { id, timestamp: toTimestamp(at), body });
  return { kid: signer.kid, signature, at };
}

function toTimestamp(now: number): number {
  return Math.floor(now / 1_000);
}

function toAttempt(
  { clock, workerId }: SendAttemptContext,
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
 * Judge an attempt's result. Delivered is 200 to 299 and nothing else: a redirect is not followed, and an
 * informational response is not an acceptance.
 */
export function judgeResult(result: SentResult): AttemptOutcome {
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

export interface SignatureHeader {
  /** The name of the header that carries the plain signature of the body. */
  readonly name: string;
  /** The prefix of the signature's hex digits. */
  readonly prefix: string;
}

export interface RequestStyle {
  readonly userAgent: string;
  readonly signatureHeader: SignatureHeader;
  readonly cloudEvents?: CloudEventsStyle;
  /** Whether receivers get the attempt's position in a trace. Default: no. */
  readonly tellsTrace?: boolean;
}

export interface RequestInput {
  /** Whose id is the `webhook-id`. */
  readonly event: Pick<AcceptedEvent, 'id'>;
  readonly content: DeliveryContent;
  readonly endpoint: Endpoint;
  /** Sent instead of the event's body. */
  readonly transformed?: Transformed | undefined;
  /** 1, 2, … */
  readonly attempt: number;
  /** Whether this is a test of the endpoint: the event reports nothing that has happened. */
  readonly isTest: boolean;
  /** The attempt's position in a trace, if it has one. */
  readonly trace?: TraceContext | undefined;
  /** The present, in milliseconds since the Unix epoch. */
  readonly now: number;
  /** Made at that time, for an endpoint that asks for it. */
  readonly signed?: KeySignature | undefined;
  /** For an endpoint with `auth`. */
  readonly authorization?: string | undefined;
  readonly responseBytes?: number | undefined;
}

/** The signed request of one attempt. Each attempt is signed again, since the signature includes the time. */
export function prepareRequest(input: RequestInput, style: RequestStyle): DeliveryRequest {
  const { content, endpoint, responseBytes } = input;
  return {
    url: endpoint.url,
    body: content.body,
    headers: headersOf(input, style),
    ...(endpoint.timeoutMs === undefined ? {} : { timeoutMs: endpoint.timeoutMs }),
    ...(endpoint.tls === undefined ? {} : { tls: endpoint.tls }),
    ...(responseBytes === undefined ? {} : { responseBytes }),
    ...(endpoint.listener === undefined ? {} : { listener: endpoint.id }),
    ...(endpoint.rateLimit === undefined && endpoint.ordering === 'none' ? {} : { isSentOnce: true }),
  };
}

/** The product's own headers win: an endpoint's headers can add to them, never replace them. */
function headersOf(input: RequestInput, style: RequestStyle): Readonly<Record<string, string>> {
  const { content, endpoint, transformed } = input;
  const ours: Record<string, string> = deliveryHeaders(input, style);
  const theirs = transformed ? { ...endpoint.headers, ...transformed.headers } : endpoint.headers;
  const headers = theirs === undefined ? ours : Object.assign({}, theirs, ours);
  const { name, prefix } = style.signatureHeader;
  const lowerName = name.toLowerCase();
  // The header has room for a single signature.
  if (endpoint.signing !== 'ed25519') {
    headers[lowerName] = signBody(newestSecret(endpoint).secret, content.body, prefix);
  } else if (lowerName in headers) {
    // A header of the endpoint must not be mistaken for it.
    delete headers[lowerName];
  }
  return headers;
}

function deliveryHeaders(
  { event, content, endpoint, attempt, isTest, trace, now, signed, authorization }: RequestInput,
  { userAgent, tellsTrace }: RequestStyle,
): DeliveryHeaders {
  const message = { id: event.id, timestamp: toTimestamp(now), body: content.body };
  const headers: DeliveryHeaders = {
    'user-agent': userAgent,
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': signaturesOf(endpoint, message, now, signed),
    'x-service-attempt': String(attempt),
    ...content.headers,
  };
  if (signed && endpoint.signing !== 'hmac') headers['webhook-key-id'] = signed.kid;
  if (isTest) headers['x-service-test'] = 'true';
  if (authorization !== undefined) headers.authorization = authorization;
  if (tellsTrace && trace) headers.traceparent = formatTraceparent(trace);
  return headers;
}

/** By the endpoint's secrets, by its account's key, or by both. */
function signaturesOf(
  endpoint: Endpoint,
  message: StandardMessage,
  now: number,
  signed: KeySignature | undefined,
): string {
  const secrets = () => liveSecrets(endpoint, now).map(({ secret }) => secret);
  if (endpoint.signing === 'hmac') return signMessage(secrets(), message);
  if (!signed) throw new TypeError("The endpoint asks for a signature by its account's key: pass one.");
  return endpoint.signing === 'ed25519'
    ? signed.signature
    : `${signMessage(secrets(), message)} ${signed.signature}`;
}

const SECRET_PREFIX = 'whsec_';

/**
 * The value of `X-Service-Signature`: the prefix and the lower-case hex of HMAC-SHA256 over the raw body.
 * The key is the secret string as it was issued, with its `whsec_`, in UTF-8.
 *
 * @throws TypeError when the secret is empty.
 */
export function signBody(secret: string, body: string, prefix = 'sha256='): string {
  return prefix + createHmac('sha256', signingKeys.get(secret).whole).update(body).digest('hex');
}

/**
 * The value of `webhook-signature` (Standard Webhooks 1.0): one `v1,<base64>` for each secret, in the order
 * given, separated by a space. The key is the base64-decoded rest of the secret after `whsec_`.
 *
 * @throws TypeError when there is no secret, or one is empty.
 */
export function signMessage(secrets: readonly string[], message: StandardMessage): string {
  if (secrets.length === 0) throw new TypeError('There are no secrets to sign with: pass at least one.');
  return secrets.map((secret) => signMessageOnce(secret, message)).join(' ');
}

function signMessageOnce(secret: string, { id, timestamp, body }: StandardMessage): string {
  const { decoded } = signingKeys.get(secret);
  if (decoded === undefined) {
    throw new TypeError('The secret has no key in base64: pass it as it was issued.');
  }
  const signature = createHmac('sha256', decoded).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return `v1,${signature}`;
}

interface SigningKeys {
  /** The key of the secret as it was issued. */
  readonly whole: KeyObject;
  /** The key of the decoded base64, if it can be decoded. */
  readonly decoded: KeyObject | undefined;
}

// As many as URLs: see the transport.
const REMEMBERED_KEYS = 20_000;
// Node 24 needs as long to make a key from a text as for seven signatures.
const signingKeys = new ParsedCache(makeKeys, { entries: REMEMBERED_KEYS });

function makeKeys(secret: string): SigningKeys {
  const bytes = Buffer.from(encodedPartOf(secret), 'base64');
  return {
    whole: createSecretKey(secret, 'utf8'),
    decoded: bytes.length === 0 ? undefined : createSecretKey(bytes),
  };
}

// With an empty key, anybody can make the HMAC.
function encodedPartOf(secret: string): string {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  if (encoded.trim() === '') throw new TypeError('The secret to sign with is empty.');
  return encoded;
}
