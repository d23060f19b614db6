import { bytesOf, type RawBody } from './body';
import type { SignedHeaders, VerifiedRequest, WebhookEvent } from './event';
import { missingHeader, type RequestHeaders, readHeader, requireHeader } from './headers';
import { joinBytes } from './join-bytes';
import { invalidPayload, readEvents } from './read-events';
import { keysOf, type SecretKeys, type Secrets } from './secrets';
import { hmac, isEqual, toBase64, toHex } from './signature';
import { WebhookVerificationError } from './verification-error';

/** How the service was told to name its own signature (`SIGNATURE_HEADER`, `SIGNATURE_PREFIX`). */
export interface ServiceHeader {
  /** Default `X-Service-Signature`; in any case. */
  readonly name?: string;
  /** What stands before the hex digits. Default `sha256=`. */
  readonly prefix?: string;
}

export type VerifyOptions = Secrets & CheckOptions;

export interface CheckOptions {
  /** How far `webhook-timestamp` may be from now, before or after, in seconds. Default 300. */
  readonly toleranceSeconds?: number;
  readonly serviceHeader?: ServiceHeader;
  /**
   * Whether to take CloudEvents whose attributes are `ce-…` headers, of a webhook with `format: cloudevents-binary`. **No
   * signature covers those headers**, so somebody on the way could change the type. Default: they are refused.
   */
  readonly binaryCloudEvents?: boolean;
}

export type VerifyInput = VerifyOptions & RequestToVerify;

export interface RequestToVerify {
  /** The raw body. Never one that was parsed and written again: its bytes would differ. */
  readonly body: RawBody;
  readonly headers: RequestHeaders;
  /** The present, in seconds since the Unix epoch. Default: this machine's clock. */
  readonly now?: number;
}

/**
 * The event in a request, once its signature is known to be good.
 *
 * Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`) decides wherever there is a
 * `webhook-signature`, else `X-Service-Signature`.
 *
 * @throws WebhookVerificationError with a `code`: answer 401, or 500 if `isConfigurationError`. `invalid_payload` also for a
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
 * As `verify`, for a webhook whose requests may have several events (`batch`): all events of a request.
 *
 * @throws WebhookVerificationError as `verify` does, for the request as a whole.
 */
export async function verifyEvents<Events extends object = Record<string, unknown>>(
  input: VerifyInput,
): Promise<VerifiedRequest<Events>> {
  // A copy: what is read has to be what was checked, and others may write to the caller's memory meanwhile.
  const body = joinBytes([bytesOf(input.body)]);
  const signed = await verifySignature({ ...input, body });
  const { headers, binaryCloudEvents = false } = input;
  // Who says what `Events` are vouches for it: the types come from the service that was just verified.
  return readEvents({ body, headers, signed, binaryCloudEvents }) as VerifiedRequest<Events>;
}

/**
 * As `verify`, without a look into the body: for one that is read in a way of its own, such as with exact numbers.
 *
 * @throws WebhookVerificationError with any code but `invalid_payload`.
 */
export async function verifySignature(input: VerifyInput): Promise<SignedHeaders> {
  // First, or what is wrong at the receiver would show only once a request is right.
  const keys = keysOf(input);
  const body = bytesOf(input.body);
  const signatures = readHeader(input.headers, 'webhook-signature');
  if (signatures !== undefined) return await verifyStandard(keys, body, signatures, input);
  if (keys.length === 0) throw missingHeader('webhook-signature', 'is missing: let no proxy drop it');
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
      `is missing, and so is ${name}: pass all headers, and let no proxy drop them`,
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
    `No signature in ${header} fits: is this the secret, or key, of this very webhook, and the body exactly as it came?`,
  );
}
