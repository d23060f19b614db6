import type { Response } from 'express';
import type { Parts } from './route';
import { sendParts } from './send-parts';

/** Server-sent events. */
export const EVENTS_TYPE = 'text/event-stream';

const SIGN_OF_LIFE_EVERY_MS = 15_000;
/** After a broken connection a browser waits for so long before it comes back. */
const RETRY_MS = 2_000;

/** The first words of a stream: nothing has happened yet, and the head of the answer goes out with them. */
export const EVENTS_HEAD = `retry: ${RETRY_MS}\n\n`;

/** So that nobody on the way keeps what is sent until there is more, or for somebody else. */
export const EVENTS_HEADERS = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

/** One event as it is sent. One without an id leaves the place where to go on as it is. */
export function eventText(event: string, data: unknown, id?: string): string {
  const place = id === undefined ? '' : `id: ${id}\n`;
  return `${place}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Answers with server-sent events, among which a comment is a sign of life. */
export async function sendEvents(
  response: Response,
  events: Parts,
  signOfLifeEveryMs = SIGN_OF_LIFE_EVERY_MS,
): Promise<void> {
  await sendParts(response, events, {
    type: EVENTS_TYPE,
    signOfLife: ': still here\n\n',
    signOfLifeEveryMs,
  });
}
