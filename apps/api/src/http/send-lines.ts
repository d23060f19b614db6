import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

/** A JSON text a line. */
export const NDJSON_TYPE = 'application/x-ndjson';

/**
 * Answers with text that comes in parts, and asks for the next one when the client has taken what there is: a client that
 * stops reading costs one part, and one that goes away ends it. What goes wrong with the first part is answered as ever;
 * later the connection is broken off, so that nobody takes what came for the whole.
 */
export async function sendLines(response: Response, lines: AsyncIterable<string>): Promise<void> {
  const parts = lines[Symbol.asyncIterator]();
  const first = await parts.next();
  response.type(NDJSON_TYPE);
  const isBodyWanted = response.req.method !== 'HEAD';
  try {
    await pipeline(isBodyWanted ? partsFrom(first, parts) : [], response);
  } catch (error) {
    if (!isClosedByClient(error)) throw error;
  } finally {
    await parts.return?.();
  }
}

async function* partsFrom(first: IteratorResult<string>, parts: AsyncIterator<string>) {
  for (let part = first; part.done !== true; part = await parts.next()) yield part.value;
}

function isClosedByClient(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
}
