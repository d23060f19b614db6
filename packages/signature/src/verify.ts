import { timingSafeEqual } from 'node:crypto';
import { keyBytesOf } from './key';
import { type Body, rawBody } from './raw-body';
import { signBody, signMessage } from './sign';

/** A request's headers: with lower-case names as Node gives them, or as `fetch` has them. */
export type RequestHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

export interface VerifyMessageInput {
  /** The endpoint's secret, as issued (`whsec_…`). */
  readonly secret: string;
  readonly headers: RequestHeaders;
  /** The raw body, as received. Never a parsed and re-serialised one: its bytes would differ. */
  readonly body: Body;
  /** How far `webhook-timestamp` may be from now, in seconds. Default 300, as Standard Webhooks advises. */
  readonly toleranceSeconds?: number;
  /** The present, in seconds since the Unix epoch. Default: the system clock. */
  readonly nowSeconds?: number;
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * Whether `X-Service-Signature` was made over this body with this secret. Compares in constant time. A header that is
 * missing is no signature.
 *
 * @throws TypeError when the secret is empty or the body was parsed: the mistake is not the sender's.
 */
export function verifyBody(secret: string, body: Body, signature: string | null | undefined): boolean {
  return equalInConstantTime(signature ?? '', signBody(secret, body));
}

/**
 * Whether a request's `webhook-id`, `webhook-timestamp` and `webhook-signature` were made with this secret
 * over this body, not longer ago than the tolerance. One good signature among several is enough: during a
 * rotation the sender signs with the old secret and with the new one.
 *
 * @throws TypeError when the secret is empty or the body was parsed: the mistake is not the sender's.
 */
export function verifyMessage(input: VerifyMessageInput): boolean {
  // First, or what is wrong here would show only once a request is right.
  keyBytesOf(input.secret);
  rawBody(input.body);
  const id = readHeader(input.headers, 'webhook-id');
  const timestamp = parseTimestamp(readHeader(input.headers, 'webhook-timestamp'));
  const signatures = readHeader(input.headers, 'webhook-signature');
  if (id === undefined || timestamp === undefined || signatures === undefined) return false;
  if (!isFresh(timestamp, input)) return false;

  const expected = signMessage([input.secret], { id, timestamp, body: input.body });
  return signatures.split(' ').some((signature) => equalInConstantTime(signature, expected));
}

function readHeader(headers: RequestHeaders, name: string): string | undefined {
  const value = isFetchHeaders(headers) ? headers.get(name) : headers[name];
  return typeof value === 'string' ? value : undefined;
}

function isFetchHeaders(headers: RequestHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function parseTimestamp(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}

function isFresh(timestamp: number, { toleranceSeconds, nowSeconds }: VerifyMessageInput): boolean {
  const now = nowSeconds ?? Math.floor(Date.now() / 1000);
  return Math.abs(now - timestamp) <= (toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS);
}

function equalInConstantTime(actual: string, expected: string): boolean {
  const actualBytes = Buffer.from(actual);
  const expectedBytes = Buffer.from(expected);
  return actualBytes.length === expectedBytes.length && timingSafeEqual(actualBytes, expectedBytes);
}
