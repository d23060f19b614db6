import { bytesOf, type RawBody } from './body';
import type { SignedHeaders, VerifiedRequest, WebhookEvent } from './event';
import { missingHeader, type RequestHeaders, readHeader, requireHeader } from './headers';
import { joinBytes } from './join-bytes';
import { invalidPayload, readEvents } from './read-events';
import { keysOf, type SecretKeys, type Secrets } from './secrets';
import { hmac, isEqual, toBase64, toHex } from './signature';
import { WebhookVerificationError } from './verification-error';

/** The name and the prefix of the service's own signature (its settings `SIGNATURE_HEADER` and `SIGNATURE_PREFIX`). */
export interface ServiceHeader {
  /** Default `X-Service-Signature`; in any case. */
  readonly name?: string;
  /** The text before the hex digits. Default `sha256=`. */
  readonly prefix?: string;
}

export type VerifyOptions = Secrets & CheckOptions;

export interface CheckOptions {
  /** The greatest difference of `webhook-timestamp` from now, in both directions, in seconds. Default 300. */
  readonly toleranceSeconds?: number;
  readonly serviceHeader?: ServiceHeader;
  /**
   * Whether to accept CloudEvents whose attributes are `ce-…` headers, of a webhook with `format: cloudevents_binary`. **No
   * signature covers those headers**, so somebody on the way could change the type. Default: they are refused.
   */
  readonly binaryCloudEvents?: boolean;
}

export type VerifyInput = VerifyOptions & RequestToVerify;

export interface RequestToVerify {
  /** The raw body. Do not parse and serialize it before: the bytes would differ. */
  readonly body: RawBody;
  readonly headers: RequestHeaders;
  /** The present, in seconds since the Unix epoch. Default: this machine's clock. */
  readonly now?: number;
}

/**
 * Verifies a request, and returns its event.
 *
 * If there is a `webhook-signature`, it is verified by Standard Webhooks (with `webhook-id` and `webhook-timestamp`).
 * Otherwise `X-Service-Signature` is verified.
 *
 * @throws WebhookVerificationError with a `code`: respond with 401, or 500 if `isConfigurationError`. `invalid_payload` also for a
 *   request with several events.
 */
export async function verify<Events extends object = Record<string, unknown>>(
  input: VerifyInput,
): Promise<WebhookEvent<Events>> {
  const { events, isBatch } = await verifyEvents<Events>(input);
  const [event] = events;
  if (isBatch || event === undefined) throw invalidPayload('is a list: read it by verifyEvents()');
  return event;
}

/**
 * Like `verify`, for a webhook with `batch`: returns all events of a request.
 *
 * @throws WebhookVerificationError as `verify` does, for the request as a whole.
 */
export async function verifyEvents<Events extends object = Record<string, unknown>>(
  input: VerifyInput,
): Promise<VerifiedRequest<Events>> {
  // A copy, because other code may write to the caller's memory between the check and the read.
  const body = joinBytes([bytesOf(input.body)]);
  const signed = await verifySignature({ ...input, body });
  const { headers, binaryCloudEvents = false } = input;
  // The caller declares `Events`. The types in the body come from the service, which was just verified.
  return readEvents({ body, headers, signed, binaryCloudEvents }) as VerifiedRequest<Events>;
}

/**
 * Like `verify`, but does not read the body. For callers that read it in their own way, such as with exact numbers.
 *
 * @throws WebhookVerificationError with any code but `invalid_payload`.
 */
export async function verifySignature(input: VerifyInput): Promise<SignedHeaders> {
  // First, so that a wrong configuration of the receiver shows with any request.
  const keys = keysOf(input);
  const body = bytesOf(input.body);
  const signatures = readHeader(input.headers, 'webhook-signature');
  if (signatures !== undefined) return await verifyStandard(keys, body, signatures, input);
  if (keys.length === 0)
    throw missingHeader('webhook-signature', 'is missing: check that no proxy removes it');
  await verifyService(keys, body, input);
  return {};
}

async function verifyStandard(
  keys: readonly SecretKeys[],
  body: Uint8Array,
  signatures: string,
  { headers, keys: publicKeys, toleranceSeconds = 300, now = Date.now() / 1_000 }: VerifyInput,
): Promise<SignedHeaders> {
  const id = requireHeader(headers, 'webhook-id');
  const time = requireHeader(headers, 'webhook-timestamp');
  if (!/^\d{1,12}$/.test(time)) throw missingHeader('webhook-timestamp', 'is not a time in whole seconds');
  const timestamp = Number(time);
  requireFresh(timestamp - Math.floor(now), toleranceSeconds);

  const start = new TextEncoder().encode(`${id}.${time}.`);
  const given = signatures.split(' ');
  for (const { decoded } of keys) {
    const expected = `v1,${toBase64(await hmac(decoded, start, body))}`;
    if (given.some((signature) => isEqual(signature, expected))) return { id, timestamp };
  }
  if (publicKeys) {
    const kid = readHeader(headers, 'webhook-key-id');
    const message = joinBytes([start, body]);
    if (await publicKeys.verify({ signatures: given, message, kid })) return { id, timestamp };
  }
  throw noMatch('webhook-signature');
}

async function verifyService(
  keys: readonly SecretKeys[],
  body: Uint8Array,
  { headers, serviceHeader: { name = 'X-Service-Signature', prefix = 'sha256=' } = {} }: VerifyInput,
): Promise<void> {
  const given = readHeader(headers, name.toLowerCase());
  if (given === undefined) {
    throw missingHeader(
      'webhook-signature',
      `is missing, and so is ${name}: pass all headers, and check that no proxy removes them`,
    );
  }
  for (const { issued } of keys) {
    if (isEqual(given, prefix + toHex(await hmac(issued, body)))) return;
  }
  throw noMatch(name);
}

function requireFresh(skewSeconds: number, toleranceSeconds: number): void {
  if (Math.abs(skewSeconds) <= toleranceSeconds) return;
  const [seconds, where] = [Math.abs(skewSeconds), skewSeconds < 0 ? 'behind' : 'ahead of'];
  throw new WebhookVerificationError(
    'timestamp_skew',
    `The request's time is ${seconds} s ${where} this clock, more than the ${toleranceSeconds} s allowed: set the clock (NTP), unless this is an old request sent again.`,
    { skewSeconds },
  );
}

function noMatch(header: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'no_match',
    `No signature in ${header} is valid. Check that this is the secret, or key, of this webhook, and that the body is exactly as it arrived.`,
  );
}
