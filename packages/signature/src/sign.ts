import { createHmac } from 'node:crypto';
import { keyBytesOf, keyTextOf } from './key';
import { type Body, rawBody } from './raw-body';

export interface StandardMessage {
  /** The event's id, sent as `webhook-id`; the same on every attempt. */
  readonly id: string;
  /** When this attempt was signed, in whole seconds since the Unix epoch, sent as `webhook-timestamp`. */
  readonly timestamp: number;
  readonly body: Body;
}

/**
 * The value of `X-Service-Signature`: the prefix and the lower-case hex of HMAC-SHA256 over the raw body.
 * The key is the secret string as it was issued, with its `whsec_`, in UTF-8.
 *
 * @throws TypeError when the secret is empty or the body was parsed.
 */
export function signBody(secret: string, body: Body, prefix = 'sha256='): string {
  return prefix + createHmac('sha256', keyTextOf(secret)).update(rawBody(body)).digest('hex');
}

/**
 * The value of `webhook-signature` (Standard Webhooks 1.0): one `v1,<base64>` for each secret, in the order
 * given, separated by a space. The key is the base64-decoded rest of the secret after `whsec_`.
 *
 * @throws TypeError when there is no secret, one is empty, or the body was parsed.
 */
export function signMessage(secrets: readonly string[], message: StandardMessage): string {
  if (!Array.isArray(secrets) || secrets.length === 0) {
    throw new TypeError('There are no secrets to sign with: pass an array of at least one.');
  }
  return secrets.map((secret) => signMessageOnce(secret, message)).join(' ');
}

function signMessageOnce(secret: string, { id, timestamp, body }: StandardMessage): string {
  const hmac = createHmac('sha256', keyBytesOf(secret));
  return `v1,${hmac.update(`${id}.${timestamp}.`).update(rawBody(body)).digest('base64')}`;
}
