import { WebhookVerificationError } from './verification-error';

/** A request's body as it arrived: bytes of any kind, or a string, which is encoded as UTF-8. */
export type RawBody = string | ArrayBufferView | ArrayBufferLike;

/**
 * The bytes that the signature is checked over.
 *
 * @throws WebhookVerificationError `body_already_parsed` if it is neither bytes nor a string.
 */
export function bytesOf(body: RawBody): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  // By its tag, because objects of another realm are not instances of this realm's classes.
  const tag = Object.prototype.toString.call(body).slice(8, -1);
  if (tag === 'ArrayBuffer' || tag === 'SharedArrayBuffer') return new Uint8Array(body);
  throw new WebhookVerificationError(
    'body_already_parsed',
    `The body must be the raw one, as bytes or a string, but is ${tag}: take it before anything parses it, such as express.json() or request.json().`,
  );
}
