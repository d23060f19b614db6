import { createHmac } from 'node:crypto';

/** A request body: the exact bytes that go over the wire, as a string (encoded as UTF-8) or as bytes. */
export type Body = string | Uint8Array;

export interface StandardMessage {
  /** The event's id, sent as `webhook-id`; the same on every attempt. */
  readonly id: string;
  /** When this attempt was signed, in whole seconds since the Unix epoch, sent as `webhook-timestamp`. */
  readonly timestamp: number;
  readonly body: Body;
}

const SECRET_PREFIX = 'whsec_';

/**
 * The value of `X-Service-Signature`: the prefix and the lower-case hex of HMAC-SHA256 over the raw body.
 * The key is the secret string as it was issued, with its `whsec_`, in UTF-8.
 */
export function signBody(secret: string, body: Body, prefix = 'sha256='): string {
  return prefix + createHmac('sha256', secret).update(body).digest('hex');
}

/**
 * The value of `webhook-signature` (Standard Webhooks 1.0): one `v1,<base64>` for each secret, in the order
 * given, separated by a space. The key is the base64-decoded rest of the secret after `whsec_`.
 */
export function signMessage(secrets: readonly string[], message: StandardMessage): string {
  return secrets.map((secret) => signMessageOnce(secret, message)).join(' ');
}

function signMessageOnce(secret: string, { id, timestamp, body }: StandardMessage): string {
  const hmac = createHmac('sha256', decodeSecret(secret));
  return `v1,${hmac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}

function decodeSecret(secret: string): Buffer {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  return Buffer.from(encoded, 'base64');
}
