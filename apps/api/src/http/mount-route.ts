import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import { AppError } from '@hookferry/core/kernel/app-error';
import type { Clock } from '@hookferry/core/kernel/clock';
import type { NewId } from '@hookferry/core/kernel/ids';
import { newSecretBytes } from '@hookferry/core/kernel/secret-bytes';
import type { Express, RequestHandler, Response } from 'express';
import {
  type AuthenticateOptions,
  apiKeyOf,
  endpointsVersionOf,
  requireKeyFor,
  spendOf,
} from './authenticate';
import { boundsOf } from './body-bounds';
import { endTurnOfFailed, HeavyTurns, takeTurn, takeTurnIfLarge, turnOf } from './heavy-turns';
import { type AnswerOnce, IDEMPOTENCY_KEY, type Origin } from './idempotency';
import { parseRequest } from './parse-request';
import { dataTextsOf, readJsonBody } from './read-json-body';
import { requestIdOf } from './request-id';
import { originOf } from './request-origin';
import type { Route, RouteReply, RouteRequest } from './route';
import { sendEvents } from './send-events';
import { sendLines } from './send-lines';
import { spanOf } from './trace-requests';
import { UnreadAnswers } from './unread-answers';

export interface MountOptions extends AuthenticateOptions {
  readonly answerOnce: AnswerOnce;
  readonly quota: Pick<AccountQuota, 'requireRoom' | 'requireRoomAsKnown'>;
  readonly maxBodyBytes: number;
  readonly newId: NewId;
  readonly clock: Clock;
}

/**
 * Serves the routes: key and scope first, then the body, then its shape, then the handler. A path is done with all its
 * methods before the next one, in the order of the table but for those of events, so that it may be listed before another
 * that it would match.
 */
export function mountRoutes(app: Express, routes: readonly Route[], options: MountOptions): void {
  const turns = new HeavyTurns();
  const unread = new UnreadAnswers();
  for (const [path, ofPath] of routesByPath(mostAskedFirst(routes))) {
    for (const route of ofPath) mountRoute(app, route, { ...options, turns, unread });
    const methods = ofPath.map(({ method }) => method.toUpperCase());
    app.all(path, refuseMethod(methods));
  }
}

/** With what all routes have in common. */
interface MountContext extends MountOptions {
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

function guardsOf({ scope, ...route }: Route, options: MountOptions): readonly RequestHandler[] {
  return scope === 'none' ? [] : [requireKeyFor({ ...route, scope }, options)];
}

// Only once the body has arrived: nobody waits for one that is slow to send it.
function readParts(route: Route, { turns, maxBodyBytes }: MountContext): readonly RequestHandler[] {
  const isHeavy = route.isHeavy === true;
  const { body, dataAt } = route.request;
  if (body === undefined) return isHeavy ? [takeTurn(turns)] : [];
  const take = isHeavy ? takeTurn(turns) : takeTurnIfLarge(turns);
  return readJsonBody(boundsOf(route, maxBodyBytes), dataAt, take);
}

function nameRoute(path: string): RequestHandler {
  return (_request, response, next) => {
    response.locals.route = path;
    next();
  };
}

function handleWith(route: Route, context: MountContext): RequestHandler {
  const { answerOnce, newId, clock, unread } = context;
  return async (request, response) => {
    const answer = async (origin: Origin) => {
      await requireRoomFor(route, response, context);
      return await route.handle({
        ...(parseRequest(request, route.request) as Pick<RouteRequest, 'params' | 'query' | 'body'>),
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
      });
    };
    const turn = turnOf(response);
    try {
      if (isReading(route)) unread.requireRoom(apiKeyOf(response).accountId);
      const isKeyed = route.creates === true && request.headers[IDEMPOTENCY_KEY] !== undefined;
      const replying = isKeyed
        ? answerOnce(request, response, answer)
        : answer({ newId, secretBytes: newSecretBytes, receivedAt: clock() });
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
async function requireRoomFor({ stores }: Route, response: Response, { quota }: MountOptions): Promise<void> {
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
