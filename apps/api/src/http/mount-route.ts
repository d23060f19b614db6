import { isIPv6 } from 'node:net';
import type { AccountId } from '@hookferry/core/domain/account';
import {
  AppError,
  invalidRequest,
  prototypeErrors,
  validationErrorsOf,
} from '@hookferry/core/platform/app-error';
import { newSecretBytes } from '@hookferry/core/platform/ids';
import { inWords } from '@hookferry/core/platform/zod-words';
import type { Express, Request, RequestHandler, Response } from 'express';
import type { z } from 'zod';
import type { ApiContext } from '../context';
import { requestIdOf, spanOf } from './announce-requests';
import { apiKeyOf, endpointsVersionOf, requireKeyFor, spendOf } from './authenticate';
import { endTurnOfFailed, HeavyTurns, takeTurn, takeTurnIfLarge, turnOf } from './heavy-turns';
import { type AnswerOnce, createAnswerOnce, IDEMPOTENCY_KEY, type Origin } from './idempotency';
import { boundsOf, dataTextsOf, readJsonBody } from './json-body';
import { nothing, type RequestShape, type Route, type RouteReply, type RouteRequest } from './route';
import { sendEvents, sendLines } from './send-parts';

/**
 * Serves the routes: key and scope first, then the body, then its shape, then the handler. A path is done with all its
 * methods before the next one, in the order of the table but for those of events, so that it may be listed before another
 * that it would match.
 */
export function mountRoutes(app: Express, routes: readonly Route[], api: ApiContext): void {
  const turns = new HeavyTurns();
  const unread = new UnreadAnswers();
  const context: MountContext = { api, turns, unread, answerOnce: createAnswerOnce(api) };
  for (const [path, ofPath] of routesByPath(mostAskedFirst(routes))) {
    for (const route of ofPath) mountRoute(app, route, context);
    const methods = ofPath.map(({ method }) => method.toUpperCase());
    app.all(path, refuseMethod(methods));
  }
}

/** With what all routes have in common. */
interface MountContext {
  readonly api: ApiContext;
  readonly answerOnce: AnswerOnce;
  readonly turns: HeavyTurns;
  readonly unread: UnreadAnswers;
}

function mountRoute(app: Express, route: Route, context: MountContext): void {
  app[route.method](
    route.path,
    nameRoute(route.path),
    ...guardsOf(route, context),
    ...readParts(route, context),
    handleWith(route, context),
    endTurnOfFailed,
  );
}

function guardsOf({ scope, ...route }: Route, { api }: MountContext): readonly RequestHandler[] {
  return scope === 'none' ? [] : [requireKeyFor({ ...route, scope }, api)];
}

// The body of a request holds the event and a little around it: white space, the names of the members.
const ENVELOPE_BYTES = 4 * 1024;

// Only once the body has arrived: nobody waits for one that is slow to send it.
function readParts(route: Route, { turns, api }: MountContext): readonly RequestHandler[] {
  const isHeavy = route.isHeavy === true;
  const { body, dataAt } = route.request;
  if (body === undefined) return isHeavy ? [takeTurn(turns)] : [];
  const take = isHeavy ? takeTurn(turns) : takeTurnIfLarge(turns);
  return readJsonBody(boundsOf(route, api.config.MAX_EVENT_BYTES + ENVELOPE_BYTES), dataAt, take);
}

function nameRoute(path: string): RequestHandler {
  return (_request, response, next) => {
    response.locals.route = path;
    next();
  };
}

function handleWith(route: Route, context: MountContext): RequestHandler {
  const { api, answerOnce, unread } = context;
  const body = typeof route.request.body === 'function' ? route.request.body(api) : route.request.body;
  return async (request, response) => {
    const answer = async (origin: Origin) => {
      await requireRoomFor(route, response, api);
      const parsed: RouteRequest = {
        ...(parseRequest(request, route.request, body) as Pick<RouteRequest, 'params' | 'query' | 'body'>),
        ...origin,
        dataTexts: dataTextsOf(response),
        apiKey: apiKeyOf(response),
        endpointsVersion: endpointsVersionOf(response),
        header: (name) => request.get(name),
        requestId: requestIdOf(response),
        clientAddress: () => request.ip,
        origin: () => originOf(request),
        trace: spanOf(response)?.context,
        spend: spendOf(response),
      };
      return await route.handle(parsed, api);
    };
    const turn = turnOf(response);
    try {
      if (isReading(route)) unread.requireRoom(apiKeyOf(response).accountId);
      const isKeyed = route.creates === true && request.headers[IDEMPOTENCY_KEY] !== undefined;
      const replying = isKeyed
        ? answerOnce(request, response, answer)
        : answer({ newId: api.newId, secretBytes: newSecretBytes, receivedAt: api.clock() });
      // The body is parsed; what is made of it from the next turn of the event loop on is made in pieces.
      if (turn && route.isHeavy !== true) setImmediate(() => turn.letOthersIn());
      await send(response, await replying, route, unread);
    } finally {
      turn?.end();
    }
  };
}

/** Nothing is lost when its answer is refused. */
function isReading({ method, scope }: Route): boolean {
  return method === 'get' && scope !== 'none';
}

// Whoever publishes is told how much there is along the way; what else is stored is seldom enough to ask for it.
async function requireRoomFor({ stores }: Route, response: Response, { quota }: ApiContext): Promise<void> {
  if (stores === undefined) return;
  const { accountId } = apiKeyOf(response);
  if (stores === 'event') await quota.requireRoomAsKnown(accountId, 'http');
  else await quota.requireRoom(accountId, 'http');
}

async function send(
  response: Response,
  { status, headers = {}, body, bodyText, lines, events }: RouteReply,
  route: Route,
  unread: UnreadAnswers,
): Promise<void> {
  response.status(status).set(headers);
  if (lines !== undefined) return await sendLines(response, lines);
  if (events !== undefined) return await sendEvents(response, events);
  const text = bodyText ?? (body === undefined ? undefined : JSON.stringify(body));
  if (text === undefined) return void response.end();
  const bytes = Buffer.byteLength(text);
  if (route.scope !== 'none') {
    const { accountId } = apiKeyOf(response);
    // Others may have been answered since it was begun.
    if (isReading(route)) unread.requireRoom(accountId, bytes);
    unread.note(accountId, bytes, response);
  }
  sendJson(response, text, bytes);
}

// Express' own looks for what no answer of ours has, an ETag say, and takes as long as the rest of it.
function sendJson(response: Response, text: string, bytes: number): void {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', bytes);
  response.end(text);
}

// Express looks through them one by one, and nearly all that it is asked for is to publish.
function mostAskedFirst(routes: readonly Route[]): readonly Route[] {
  const isOfEvents = ({ path }: Route) => Number(path.startsWith('/v1/events'));
  return routes.toSorted((a, b) => isOfEvents(b) - isOfEvents(a));
}

function routesByPath(routes: readonly Route[]): Map<string, Route[]> {
  const byPath = new Map<string, Route[]>();
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route]);
  return byPath;
}

function refuseMethod(methods: readonly string[]): RequestHandler {
  return (request, response) => {
    response.set('allow', methods.join(', '));
    throw new AppError(
      'method_not_allowed',
      `${request.method} is not possible here. What is: ${methods.join(', ')}.`,
    );
  };
}

export interface ParsedParts {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/**
 * Checks a request against the shape that its route declares.
 *
 * @throws AppError `not_found` for an id that can't be one, `invalid_request` for everything else.
 */
function parseRequest(request: Request, shape: RequestShape, bodySchema: z.ZodType | undefined): ParsedParts {
  return {
    params: parseParams(request.params, shape.params ?? nothing),
    query: parse(request.query, shape.query ?? nothing, '?'),
    body: bodySchema === undefined ? undefined : parseBody(request.body, bodySchema, shape),
  };
}

function parseParams(params: unknown, schema: z.ZodType): unknown {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new AppError('not_found', 'There is nothing with this id.');
}

// Afterwards: what has the declared shape is not deep.
function parseBody(body: unknown, schema: z.ZodType, { hasEventData }: RequestShape): unknown {
  const parsed = parse(body, schema, '');
  const validationErrors = hasEventData ? [] : prototypeErrors(body);
  if (validationErrors.length > 0) throw invalidRequest(validationErrors);
  return parsed;
}

function parse(value: unknown, schema: z.ZodType, base: string): unknown {
  const parsed = schema.safeParse(value, inWords);
  if (parsed.success) return parsed.data;
  throw invalidRequest(validationErrorsOf(parsed.error, base));
}

/** Of a request, as Express tells them: HTTP/1.0 has no host. */
interface Named {
  readonly protocol: string;
  readonly host: string | undefined;
}

const HOST =
  /^(?:(?<name>[A-Za-z0-9_](?:[A-Za-z0-9._-]*))|\[(?<address>[0-9A-Fa-f:.]+)\])(?::(?<port>\d{1,5}))?$/;
const MAX_HOST_LENGTH = 260;
const MAX_PORT = 65_535;

/**
 * What a request was sent to, such as `https://hooks.example.com`, as far as it says so itself, or a proxy that is believed
 * does. Anybody can name any host, so what a link begins with is one at least, and nothing that could be read as more.
 *
 * @throws AppError `malformed_request` when it names none, or what is no host of a URL.
 */
export function originOf({ protocol, host = '' }: Named): string {
  if (isHost(host)) return `${protocol}://${host.toLowerCase()}`;
  throw new AppError(
    'malformed_request',
    'The header "Host", or "X-Forwarded-Host", is not a host with or without a port, so no link can begin with it.',
  );
}

/** RFC 3986, 3.2.2 and 3.2.3, of names those that hosts have. */
function isHost(text: string): boolean {
  if (text.length > MAX_HOST_LENGTH) return false;
  const { name, address, port = '0' } = HOST.exec(text)?.groups ?? {};
  if (Number(port) > MAX_PORT) return false;
  return name === undefined ? address !== undefined && isIPv6(address) : !name.includes('..');
}

// Of shorter ones there is one for each connection, and the system takes them at once.
const LARGE_BYTES = 16 * 1024;
/** The longest answer, a page of webhooks, has 12 MB. */
const MOST_BYTES = 32 * 1024 * 1024;
const RETRY_AFTER_MS = 1_000;

/** How much of what an account was answered is still in this process, because its clients are slow to read it. */
export class UnreadAnswers {
  readonly #bytes = new Map<AccountId, number>();

  /**
   * @param bytes how long the answer is, if that is known already.
   * @throws AppError `rate_limited` when that were too much together with what is there.
   */
  requireRoom(accountId: AccountId, bytes = 0): void {
    if (this.of(accountId) + bytes <= MOST_BYTES) return;
    throw new AppError(
      'rate_limited',
      `More than ${MOST_BYTES} bytes of answers to the account would wait to be read. Read those that were asked for.`,
      { retryAfterMs: RETRY_AFTER_MS },
    );
  }

  /** Counts an answer until it is written out, or nobody is there to read it. */
  note(accountId: AccountId, bytes: number, response: Response): void {
    // One whose client has gone already closes no more.
    if (bytes <= LARGE_BYTES || response.destroyed) return;
    this.#bytes.set(accountId, this.of(accountId) + bytes);
    response.once('close', () => {
      const left = this.of(accountId) - bytes;
      if (left > 0) this.#bytes.set(accountId, left);
      else this.#bytes.delete(accountId);
    });
  }

  of(accountId: AccountId): number {
    return this.#bytes.get(accountId) ?? 0;
  }
}
