import { isArrayBuffer } from 'node:util/types';

/** A request body: the exact bytes that go over the wire, as a string (encoded as UTF-8) or as bytes. */
export type Body = string | Uint8Array | ArrayBuffer;

/** @throws TypeError for what was parsed, whose bytes nobody knows any more. */
export function rawBody(body: Body): string | Uint8Array {
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return body;
  if (isArrayBuffer(body)) return new Uint8Array(body);
  const given = body === null ? 'null' : Array.isArray(body) ? 'an array' : typeof body;
  throw new TypeError(
    `The body must be the raw one, as a string or as bytes, but is ${given}. Take it before anything parses it.`,
  );
}
