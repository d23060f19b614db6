import { timingSafeEqual } from 'node:crypto';
import { type Body, signBody, signMessage } from './sign';

export interface VerifyMessageInput {
  /** The endpoint's secret, as issued (`whsec_…`). */
  readonly secret: string;
  /** The request's headers, with lower-case names as Node gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The raw body, as received. Never a parsed and re-serialised one: its bytes would differ. */
  readonly body: Body;
  /** How far `webhook-timestamp` may be from now, in seconds. Default 300, as Standard Webhooks advises. */
  readonly toleranceSeconds?: number;
  /** The present, in seconds since the Unix epoch. Default: the system clock. */
  readonly nowSeconds?: number;
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/** Whether `X-Service-Signature` was made over this body with this secret. Compares in constant time. */
export function verifyBody(secret: string, body: Body, signature: string): boolean {
  return equalInConstantTime(signature, signBody(secret, body));
}

/**
 * Whether a request's `webhook-id`, `webhook-timestamp` and `webhook-signature` were made with this secret
 * over this body, not longer ago than the tolerance. One good signature among several is enough: during a
 * rotation the sender signs with the old secret and with the new one.
 */
export function verifyMessage(input: VerifyMessageInput): boolean {
  const id = single(input.headers['webhook-id']);
  const timestamp = parseTimestamp(single(input.headers['webhook-timestamp']));
  const signatures = single(input.headers['webhook-signature']);
  if (id === undefined || timestamp === undefined || signatures === undefined) return false;
  if (!isFresh(timestamp, input)) return false;

  const expected = signMessage([input.secret], { id, timestamp, body: input.body });
  return signatures.split(' ').some((signature) => equalInConstantTime(signature, expected));
}

function single(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
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
