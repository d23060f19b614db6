import { pipeline } from 'node:stream/promises';
import { settledWithin } from '@hookferry/core/platform/timers';
import type { RequestHandler, Response } from 'express';
import helmet from 'helmet';
import type { UnreadAnswers } from './long-requests';
import { REQUEST_ID, type RequestState, requestStateOf } from './request-state';
import type { Parts, Route, RouteReply } from './route';

/** Respond to a request with its route's reply. */
export async function sendReply(
  unreadAnswers: UnreadAnswers,
  route: Route,
  response: Response,
  { status, headers, body, bodyText, lines, events }: RouteReply,
): Promise<void> {
  const text = bodyText ?? (body === undefined ? undefined : JSON.stringify(body));
  if (text === undefined) {
    setHead(response);
    response.status(status).set(headers ?? {});
    if (lines !== undefined) return await sendLines(response, lines);
    if (events !== undefined) return await sendEvents(response, events);
    return void response.end();
  }
  const bytes = Buffer.byteLength(text);
  const { apiKey } = requestStateOf(response);
  if (apiKey !== undefined) {
    // Other responses may have been sent since it began.
    if (isReading(route)) unreadAnswers.requireRoom(apiKey.accountId, bytes);
    unreadAnswers.note(apiKey.accountId, bytes, response);
  }
  const more = headers === undefined ? [] : Object.entries(headers).flat();
  sendText(response, status, JSON_TYPE, text, bytes, more);
}

/** Nothing is lost when its response is refused. */
export function isReading({ method, scope }: Route): boolean {
  return method === 'get' && scope !== 'none';
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** For responses with data: a browser that is led to one may load, run and frame nothing. */
const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
  },
  xFrameOptions: { action: 'deny' },
  // Other services below this host's name are not this product's to decide about.
  strictTransportSecurity: { includeSubDomains: false },
  // These concern pages and old browsers, which are not served here; each would go out with each response.
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

/** Names and values by turns. They are the same for all responses, so helmet is asked once. */
const SECURITY = gatherHeaders();

function gatherHeaders(): readonly string[] {
  const gathered: string[] = [];
  const response = {
    setHeader: (name: string, value: string) => gathered.push(name, value),
    removeHeader: () => {},
  };
  securityHeaders({} as never, response as never, (error) => {
    if (error !== undefined) throw error as Error;
  });
  return gathered;
}

/**
 * The head that each answer of the API has, names and values by turns, for `writeHead`: written at once it
 * costs half of what setting each header does.
 */
function headOf(state: RequestState): string[] {
  const { requestId, isClosing, rate, routeHead, originHead } = state;
  const head = [REQUEST_ID, requestId];
  // A client that keeps its connection open learns that its next request goes elsewhere.
  if (isClosing) head.push('connection', 'close');
  for (const text of SECURITY) head.push(text);
  if (rate) head.push('ratelimit-policy', rate.policy, 'ratelimit', rate.standing);
  if (routeHead) head.push(...routeHead);
  if (originHead) head.push(...originHead);
  return head;
}

/** Answers of the API are about an account, and some show a secret. A route may say otherwise. */
const CACHE_CONTROL = 'cache-control';
const NO_STORE = 'no-store';

/** Set the same, for an answer that is not written at once. */
function setHead(response: Response): void {
  const state = requestStateOf(response);
  const head = headOf(state);
  if (state.isOfApi) head.push(CACHE_CONTROL, NO_STORE);
  for (let i = 0; i + 1 < head.length; i += 2) response.setHeader(head[i] ?? '', head[i + 1] ?? '');
}

/** The head of pages and probes, which may change it. */
export const setHeads: RequestHandler = (_request, response, next) => {
  setHead(response);
  next();
};

/** Respond with a text, and with further headers, names and values by turns. */
export function sendText(
  response: Response,
  status: number,
  type: string,
  text: string,
  bytes: number,
  headers: readonly string[] = [],
): void {
  // A page's answer has its own head already.
  const state = requestStateOf(response);
  const head = response.hasHeader(REQUEST_ID) ? [] : headOf(state);
  if (state.isOfApi && !headers.includes(CACHE_CONTROL)) head.push(CACHE_CONTROL, NO_STORE);
  for (const part of headers) head.push(part);
  head.push('content-type', type, 'content-length', String(bytes));
  response.writeHead(status, head).end(text);
}

/** Server-sent events. */
export const EVENTS_TYPE = 'text/event-stream';

const EVENTS_SIGN_OF_LIFE_EVERY_MS = 15_000;
/** After a broken connection a browser waits for this long before it reconnects. */
const RETRY_MS = 2_000;

/** The start of a stream: nothing has happened yet, and the head of the response goes out with it. */
export const EVENTS_HEAD = `retry: ${RETRY_MS}\n\n`;

/** Proxies must not buffer the stream. */
export const EVENTS_HEADERS = { 'x-accel-buffering': 'no' };

/** One event as text. An event without an id leaves the client's cursor as it is. */
export function eventText(event: string, data: unknown, id?: string): string {
  const place = id === undefined ? '' : `id: ${id}\n`;
  return `${place}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Respond with server-sent events. A comment is a sign of life. */
async function sendEvents(
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

/** Each line is a JSON text. */
export const NDJSON_TYPE = 'application/x-ndjson';

const LINES_SIGN_OF_LIFE_EVERY_MS = 10_000;

/** Respond with lines. An empty line is a sign of life. */
export async function sendLines(
  response: Response,
  lines: Parts,
  signOfLifeEveryMs = LINES_SIGN_OF_LIFE_EVERY_MS,
): Promise<void> {
  await sendParts(response, lines, { type: NDJSON_TYPE, signOfLife: '\n', signOfLifeEveryMs });
}

/** The form of a response in parts. */
export interface PartsForm {
  readonly type: string;
  /** Readers ignore it. */
  readonly signOfLife: string;
  /** Well below the minute of silence after which load balancers, and this API, hang up. */
  readonly signOfLifeEveryMs: number;
}

/**
 * Respond with text in parts, and ask for the next part when the client has read the last one: a client that
 * stops reading costs one part, and one that goes away ends it. While there is nothing to send, a sign of
 * life is sent now and then. A failure before the first part becomes a normal error response; later the
 * connection is broken off, so that the client does not take the part for the whole.
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

/** The versions that an `If-Match` header names; `undefined`: any version. */
export function versionsOf(ifMatch: string | undefined): readonly string[] | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  return [...ifMatch.matchAll(/"([^"]*)"/g)].map(([, version = '']) => version);
}
