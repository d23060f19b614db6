import { createHmac } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';

export interface StandardMessage {
  /** The event's id, sent as `webhook-id`; the same on every attempt. */
  readonly id: string;
  /** When this attempt was signed, in whole seconds since the Unix epoch, sent as `webhook-timestamp`. */
  readonly timestamp: number;
  /** The text that is sent, in UTF-8. */
  readonly body: string;
}

/**
 * The value of `X-Service-Signature`: the prefix and the lower-case hex of HMAC-SHA256 over the raw body.
 * The key is the secret string as it was issued, with its `whsec_`, in UTF-8.
 *
 * @throws TypeError when the secret is empty.
 */
export function signBody(secret: string, body: string, prefix = 'sha256='): string {
  encodedPartOf(secret);
  return prefix + createHmac('sha256', secret).update(body).digest('hex');
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
  const key = Buffer.from(encodedPartOf(secret), 'base64');
  if (key.length === 0) throw new TypeError('The secret has no key in base64: pass it as it was issued.');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return `v1,${signature}`;
}

// An HMAC can be made with an empty key, and then anybody can make it.
function encodedPartOf(secret: string): string {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  if (encoded.trim() === '') throw new TypeError('The secret to sign with is empty.');
  return encoded;
}
