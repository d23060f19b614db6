import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Endpoint, EndpointAddress } from '../domain/endpoint';
import { type AcceptedEvent, EVENT_ID_PREFIX, type EventId } from '../domain/event';
import type { Emit } from '../domain/signal';
import { hostOf } from '../domain/target-url';
import type { DeliveryRequest, Permission, SentResult, Transport } from '../domain/transport';
import { lacksProof, type Verification, type VerificationError } from '../domain/verification';
import { type OperationalEvents, verificationEvents } from '../endpoints/operational-events';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { findSigner } from '../endpoints/signing-keys/signing-keys';
import type { UnprovenRequests } from '../endpoints/verification/redis-unproven-requests';
import type { ClaimedTry, VerificationStore } from '../endpoints/verification/redis-verification-store';
import {
  afterTry,
  CHANGE_MS,
  MIN_ALLOWED_RATE,
  type TryResult,
  type VerificationPolicy,
} from '../endpoints/verification/verify';
import { ClaimedWork } from '../platform/claimed-work';
import type { Clock } from '../platform/clock';
import type { NewId } from '../platform/ids';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClock } from '../platform/redis-clock';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import type { AccessTokens } from './access-tokens';
import { authorize } from './authorize';
import { NATIVE_HEADERS } from './cloudevents';
import type { Ed25519Signatures } from './ed25519-signatures';
import { prepareRequest, type RequestStyle, signWithKey } from './prepare-request';

export interface VerifierParts {
  readonly endpointStore: EndpointStore;
  readonly signingKeyStore: SigningKeyStore;
  readonly verificationStore: VerificationStore;
  readonly verificationPolicy: VerificationPolicy;
  readonly unprovenRequests: UnprovenRequests;
  readonly heldDeliveries: HeldDeliveries;
  readonly operationalEvents: OperationalEvents;
  readonly accessTokens: AccessTokens;
  readonly ed25519Signatures: Ed25519Signatures;
  readonly transport: Transport;
  readonly requestStyle: RequestStyle;
  readonly redisClock: RedisClock;
  readonly newId: NewId;
  readonly random: () => number;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The type of the body that a challenge has. No event may have it. */
const CHALLENGE_TYPE = 'webhook.verification';
/** A try takes no longer than this, from the DNS query to the end of the answer. */
const TRY_TIMEOUT_MS = 10_000;
const CHALLENGE_BYTES = 32;
// Much more than an answer needs. A longer one is not an answer to a challenge.
const ANSWER_BYTES = 4_096;
// The proxy for deliveries did not work, so the receiver may be all right.
const UNSENT_DELAY_MS = 5_000;

/**
 * Make the next try to verify an endpoint, if one is due: load → spend a try of host and account → challenge, or ask for permission → check → record → announce.
 * The proof counts only for the URL and the secret of this moment.
 *
 * @param ownedUntil until when no other process makes one. Milliseconds since the Unix epoch.
 * @returns when the next try is due; `undefined`: none is.
 */
export async function verifyEndpoint(
  parts: VerifierParts,
  { accountId, endpointId }: EndpointAddress,
  ownedUntil: number,
  abortSignal: AbortSignal,
): Promise<number | undefined> {
  const { endpointStore, clock } = parts;
  const endpoint = await endpointStore.find(accountId, endpointId);
  const due = endpoint && dueTryOf(endpoint);
  if (!endpoint || !due) return undefined;
  const { nextTryAt = 0 } = due;
  if (nextTryAt > clock()) return nextTryAt;
  const waitMs = await parts.unprovenRequests.take(accountId, hostOf(new URL(endpoint.url)));
  // At random times, so that all waiting endpoints have the same chance, however many belong to one account.
  if (waitMs > 0) return clock() + Math.ceil(waitMs * (1 + parts.random()));
  const result = await tryOnce(parts, endpoint, due, ownedUntil, abortSignal);
  if (result.kind === 'unsent') return Math.max(result.until ?? 0, clock() + UNSENT_DELAY_MS);
  if (result.kind === 'changed') return clock();
  return await record(parts, endpoint, due, result);
}

/** Nothing is sent to an endpoint that is disabled. Enabling it asks for the try. */
function dueTryOf(endpoint: Endpoint): Verification | undefined {
  const { verification, status } = endpoint;
  const isDue = lacksProof(endpoint) && status === 'enabled' && verification?.nextTryAt !== undefined;
  return isDue ? verification : undefined;
}

/** Nothing was sent: because of the proxy, because this process has to stop, or because no access token may be fetched yet. */
interface Unsent {
  readonly kind: 'unsent';
  /** Milliseconds since the Unix epoch. */
  readonly until?: number;
}

const UNSENT: Unsent = { kind: 'unsent' };

/** The endpoint is another one than was read. */
interface Changed {
  readonly kind: 'changed';
}

async function tryOnce(
  parts: VerifierParts,
  endpoint: Endpoint,
  { method }: Verification,
  ownedUntil: number,
  abortSignal: AbortSignal,
): Promise<TryResult | Unsent | Changed> {
  const { requestOrigin } = parts.verificationPolicy;
  if (method === 'cloudevents' && requestOrigin === undefined) return failed('origin_unset');
  const authorized = await authorize(parts.accessTokens, endpoint, abortSignal);
  if (authorized?.kind === 'failed') return failed('token_error');
  if (authorized?.kind === 'paused') return { kind: 'unsent', until: authorized.until };
  if (authorized && authorized.kind !== 'authorized') return UNSENT;
  const authorization = authorized?.header;
  const challenge = randomBytes(CHALLENGE_BYTES).toString('base64url');
  const request =
    method === 'challenge'
      ? await challengeRequest(parts, endpoint, challenge, authorization)
      : permissionRequest(parts, endpoint, requestOrigin ?? '', authorization);
  // After a long pause of this process, another one may be sending this request by now.
  if (parts.clock() + TRY_TIMEOUT_MS > ownedUntil) return UNSENT;
  const isUnchanged = async () =>
    (await parts.endpointStore.find(endpoint.accountId, endpoint.id)) === endpoint;
  // An access token was waited for, perhaps.
  if (!(await isUnchanged())) return { kind: 'changed' };
  const mayBegin = (hasWaited: boolean) => !hasWaited || isUnchanged();
  const result = await parts.transport({ ...request, mayBegin }, abortSignal);
  if (result.kind === 'unsent' || (abortSignal.aborted && result.kind === 'failed')) return UNSENT;
  const error = errorOf(result);
  if (error !== undefined || result.kind === 'failed') return failed(error ?? 'protocol_error');
  return method === 'challenge'
    ? checkChallenge(result.body, challenge)
    : checkPermission(result.permission, requestOrigin);
}

async function challengeRequest(
  parts: VerifierParts,
  endpoint: Endpoint,
  challenge: string,
  authorization: string | undefined,
): Promise<DeliveryRequest> {
  const { newId, clock, requestStyle } = parts;
  const event: AcceptedEvent = {
    id: newId(EVENT_ID_PREFIX) as EventId,
    accountId: endpoint.accountId,
    type: CHALLENGE_TYPE,
    body: JSON.stringify({ type: CHALLENGE_TYPE, data: { challenge } }),
    acceptedAt: clock(),
  };
  const signer = endpoint.signing === 'hmac' ? undefined : await findSigner(parts, endpoint.accountId);
  const signed = signer && (await signWithKey(parts.ed25519Signatures, clock, event, signer));
  // Independent of the format of its deliveries: every receiver finds the challenge at the same place.
  const content = { body: event.body, headers: NATIVE_HEADERS };
  const now = signed?.at ?? clock();
  const input = { event, endpoint, content, attempt: 1, isTest: false, now, signed, authorization };
  return { ...prepareRequest(input, requestStyle), ...LIMITS };
}

const LIMITS = { timeoutMs: TRY_TIMEOUT_MS, responseBytes: ANSWER_BYTES } as const;

/** Of CloudEvents' "HTTP 1.1 Web Hooks for Event Delivery", 4.1. It is not signed: there is no body to sign. */
function permissionRequest(
  { requestStyle: { userAgent } }: VerifierParts,
  { url, tls }: Endpoint,
  requestOrigin: string,
  authorization: string | undefined,
): DeliveryRequest {
  return {
    url,
    method: 'OPTIONS',
    headers: {
      'user-agent': userAgent,
      'webhook-request-origin': requestOrigin,
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: '',
    ...LIMITS,
    ...(tls === undefined ? {} : { tls }),
  };
}

/** Only these codes are recorded, and no text of the receiver. */
function errorOf(result: SentResult): VerificationError | undefined {
  // A challenge is not transformed.
  if (result.kind === 'failed') return result.reason === 'transform_error' ? 'protocol_error' : result.reason;
  return result.status >= 200 && result.status <= 299 ? undefined : 'http_error';
}

function failed(error: VerificationError): TryResult {
  return { kind: 'failed', error };
}

/**
 * Whether an answer is the challenge: JSON with `challenge` as its own member. A server that sends back what it gets has it
 * one level below, in `data`, and has proved nothing.
 */
export function checkChallenge(body: string, challenge: string): TryResult {
  const answer = parsedOrUndefined(body);
  const given = isObject(answer) && 'challenge' in answer ? answer.challenge : undefined;
  return typeof given === 'string' && isSame(given, challenge)
    ? { kind: 'verified' }
    : failed('challenge_mismatch');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** In constant time for texts of one length. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const ANYBODY = '*';
const RATE = /^[1-9]\d{0,8}$/;

/** Whether a receiver permits this service to send, and how often. Names in DNS know no case. */
export function checkPermission(
  permission: Permission | undefined,
  requestOrigin: string | undefined,
): TryResult {
  const origin = permission?.origin?.trim();
  const rate = permission?.rate?.trim() ?? ANYBODY;
  const isAllowed = origin === ANYBODY || origin?.toLowerCase() === requestOrigin?.toLowerCase();
  if (origin === undefined || !isAllowed) return failed('not_allowed');
  if (rate === ANYBODY) return { kind: 'verified' };
  if (!RATE.test(rate)) return failed('not_allowed');
  const allowedRate = Number(rate);
  // The granted rate is never exceeded.
  return allowedRate < MIN_ALLOWED_RATE ? failed('rate_too_low') : { kind: 'verified', allowedRate };
}

async function record(
  parts: VerifierParts,
  { accountId, id: endpointId }: Endpoint,
  tried: Verification,
  result: TryResult,
): Promise<number | undefined> {
  const { endpointStore, heldDeliveries, clock } = parts;
  const address = { accountId, endpointId };
  // Ask first: the wake-up comes even if this process ends right after the record.
  if (result.kind === 'verified') await heldDeliveries.askForWakeUp(address, clock() + CHANGE_MS);
  let recorded: Endpoint | undefined;
  const current = await endpointStore.update(accountId, endpointId, (endpoint) => {
    recorded = afterTry(endpoint, tried, result, clock());
    return recorded ?? endpoint;
  });
  if (recorded) await announce(parts, recorded, result);
  return current && dueTryOf(current)?.nextTryAt;
}

async function announce(
  { heldDeliveries, operationalEvents, clock, emit }: VerifierParts,
  endpoint: Endpoint,
  result: TryResult,
): Promise<void> {
  const { accountId, id: endpointId, verification } = endpoint;
  const address = { accountId, endpointId };
  const method = verification?.method ?? 'challenge';
  if (result.kind === 'verified') {
    await heldDeliveries.askForWakeUp(address, clock());
    emit({ name: 'endpoint.verified', ...address, method });
  } else {
    const isLast = verification?.status === 'failed';
    emit({ name: 'endpoint.verification_failed', ...address, method, error: result.error, isLast });
  }
  operationalEvents.raise(accountId, verificationEvents(endpoint));
}

/** The most verifications that one process makes at the same time. They use no slots of deliveries, and none is urgent. */
const AT_ONCE = 16;

/** Verifies the endpoints that are due. */
export class Verifier extends ClaimedWork<ClaimedTry> {
  constructor(private readonly parts: VerifierParts) {
    super(AT_ONCE);
  }

  protected async claim(most: number, patienceMs: number): Promise<readonly ClaimedTry[]> {
    const { verificationStore, redisClock, clock } = this.parts;
    // Receivers refuse the `webhook-timestamp` of a clock that is minutes off: another worker makes the try.
    if (!redisClock.isTrusted) return [];
    return await verificationStore.claimDue(clock(), most, patienceMs);
  }

  protected async work(claimed: ClaimedTry): Promise<void> {
    const { verificationStore, clock } = this.parts;
    const nextAt = await verifyEndpoint(this.parts, claimed, claimed.claimedUntil, this.stopSignal);
    await verificationStore.end(claimed, nextAt, clock());
  }

  protected onFailure(error: unknown): void {
    this.parts.emit({ name: 'task.failed', task: 'verify webhooks', error });
  }
}
