import { pipeline } from 'node:stream/promises';
import { settledWithin } from '@hookferry/core/kernel/within';
import type { Response } from 'express';
import type { Parts } from './route';

/** How an answer is written that comes in parts. */
export interface PartsForm {
  readonly type: string;
  /** What readers pass over. */
  readonly signOfLife: string;
  /** Well below the minute of silence after which load balancers hang up, and we ourselves. */
  readonly signOfLifeEveryMs: number;
}

/**
 * Answers with text that comes in parts, and asks for the next one when the client has taken what there is: a client that
 * stops reading costs one part, and one that goes away ends it. While there is nothing to send, a sign of life is sent now
 * and then. What goes wrong before anything was sent is answered as ever; later the connection is broken off, so that
 * nobody takes what came for the whole.
 */
export async function sendParts(response: Response, partsOf: Parts, form: PartsForm): Promise<void> {
  const end = new AbortController();
  const { signal } = end;
  response.once('close', () => end.abort());
  if (response.destroyed) return;
  const close = () => void response.destroy();
  const parts = withSignsOfLife(partsOf({ signal, close })[Symbol.asyncIterator](), form);
  try {
    const first = await parts.next();
    response.type(form.type);
    const isBodyWanted = response.req.method !== 'HEAD';
    await pipeline(isBodyWanted ? partsFrom(first, parts) : [], response);
  } catch (error) {
    const isEnded = signal.aborted && error === signal.reason;
    if (!isEnded && !isClosedByClient(error)) throw error;
  } finally {
    end.abort();
    await parts.return();
  }
}

async function* withSignsOfLife(
  parts: AsyncIterator<string>,
  { signOfLife, signOfLifeEveryMs }: PartsForm,
): AsyncGenerator<string, void> {
  try {
    for (;;) {
      const next = parts.next();
      while (!(await settledWithin(signOfLifeEveryMs, next))) yield signOfLife;
      const part = await next;
      if (part.done === true) return;
      yield part.value;
    }
  } finally {
    await parts.return?.();
  }
}

async function* partsFrom(first: IteratorResult<string, void>, parts: AsyncIterator<string, void>) {
  for (let part = first; part.done !== true; part = await parts.next()) yield part.value;
}

function isClosedByClient(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
}
