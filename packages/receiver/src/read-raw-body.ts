import type { IncomingMessage } from 'node:http';
import type { RawBody } from './body';
import { BodyTooLong } from './body-too-long';
import { WebhookVerificationError } from './verification-error';

/** A request of Node. Earlier middleware may have read its body. */
export interface NodeRequest {
  readonly stream: IncomingMessage;
  /** The body, if earlier middleware read it. Bytes can be used, anything else can't. */
  readonly taken: readonly unknown[];
  /** What to do where the body was parsed before. */
  readonly remedy: string;
}

/**
 * The bytes of a request's body.
 *
 * @throws WebhookVerificationError `body_already_parsed` if other code has read it and kept no bytes, or decoded it.
 * @throws BodyTooLong
 */
export async function readRawBody(
  { stream, taken, remedy }: NodeRequest,
  maxBytes: number,
): Promise<RawBody> {
  if (!stream.readableDidRead) return await readStream(stream, maxBytes);
  const bytes = taken.find((body) => ArrayBuffer.isView(body));
  if (bytes === undefined) {
    throw new WebhookVerificationError(
      'body_already_parsed',
      `The body was read and parsed before its signature could be checked: ${remedy}.`,
    );
  }
  if (bytes.byteLength > maxBytes) throw new BodyTooLong(maxBytes);
  return bytes;
}

async function readStream(stream: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks = await readChunks(stream, maxBytes);
  // Also an encoding that other code set while the body arrived.
  if (stream.readableEncoding === null) return Buffer.concat(chunks);
  throw new WebhookVerificationError(
    'body_already_parsed',
    'Something before this called setEncoding() on the request, so that its body came as text and not as bytes: leave that call out for this route.',
  );
}

// Not with `for await`: leaving that loop early would close the connection before the response.
function readChunks(stream: IncomingMessage, maxBytes: number): Promise<readonly Buffer[]> {
  return new Promise((resolve, reject) => {
    const hungUp = () => reject(new Error('The sender closed the connection before the body was complete.'));
    if (stream.destroyed) hungUp();
    const chunks: Buffer[] = [];
    let length = 0;
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      stream.pause();
      reject(new BodyTooLong(maxBytes));
    });
    stream.on('end', () => resolve(chunks));
    stream.on('error', reject);
    stream.on('close', hungUp);
  });
}
