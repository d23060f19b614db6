import { pipeline } from 'node:stream/promises';
import { settledWithin } from '@hookferry/core/platform/timers';
import type { Response } from 'express';
import type { UnreadAnswers } from './long-requests';
import { requestStateOf } from './request-state';
import type { Parts, Route, RouteReply } from './route';

interface SendContext {
  readonly unreadAnswers: UnreadAnswers;
}

/** Answers a request with what its route has made. */
export async function sendReply(
  { unreadAnswers }: SendContext,
  route: Route,
  response: Response,
  { status, headers = {}, body, bodyText, lines, events }: RouteReply,
): Promise<void> {
  response.status(status).set(headers);
  if (lines !== undefined) return await sendLines(response, lines);
  if (events !== undefined) return await sendEvents(response, events);
  const text = bodyText ?? (body === undefined ? undefined : JSON.stringify(body));
  if (text === undefined) return void response.end();
  const bytes = Buffer.byteLength(text);
  const { apiKey } = requestStateOf(response);
  if (apiKey !== undefined) {
    // Others may have been answered since it was begun.
    if (isReading(route)) unreadAnswers.requireRoom(apiKey.accountId, bytes);
    unreadAnswers.note(apiKey.accountId, bytes, response);
  }
  sendJson(response, text, bytes);
}

/** Nothing is lost when its answer is refused. */
export function isReading({ method, scope }: Route): boolean {
  return method === 'get' && scope !== 'none';
}

// Express' own looks for what no answer of ours has, an ETag say, and takes as long as the rest of it.
function sendJson(response: Response, text: string, bytes: number): void {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', bytes);
  response.end(text);
}

/** Server-sent events. */
export const EVENTS_TYPE = 'text/event-stream';

const EVENTS_SIGN_OF_LIFE_EVERY_MS = 15_000;
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
  signOfLifeEveryMs = EVENTS_SIGN_OF_LIFE_EVERY_MS,
): Promise<void> {
  await sendParts(response, events, {
    type: EVENTS_TYPE,
    signOfLife: ': still here\n\n',
    signOfLifeEveryMs,
  });
}

/** A JSON text a line. */
export const NDJSON_TYPE = 'application/x-ndjson';

const LINES_SIGN_OF_LIFE_EVERY_MS = 10_000;

/** Answers with lines, among which an empty one is a sign of life. */
export async function sendLines(
  response: Response,
  lines: Parts,
  signOfLifeEveryMs = LINES_SIGN_OF_LIFE_EVERY_MS,
): Promise<void> {
  await sendParts(response, lines, { type: NDJSON_TYPE, signOfLife: '\n', signOfLifeEveryMs });
}

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
async function sendParts(response: Response, partsOf: Parts, form: PartsForm): Promise<void> {
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

/** An entity tag (RFC 9110) of a version. */
export function etagOf(version: string): string {
  return `"${version}"`;
}

/** The versions that an `If-Match` header asks for; `undefined`: any will do. */
export function versionsOf(ifMatch: string | undefined): readonly string[] | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  return [...ifMatch.matchAll(/"([^"]*)"/g)].map(([, version = '']) => version);
}
