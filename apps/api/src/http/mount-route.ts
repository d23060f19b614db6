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
import { HeavyTurns, takeTurn, takeTurnIfLarge } from './heavy-turns';
import { type AnswerOnce, IDEMPOTENCY_KEY, type Origin } from './idempotency';
import { parseRequest } from './parse-request';
import { bodyTextOf, readJsonBody } from './read-json-body';
import { requestIdOf } from './request-id';
import { originOf } from './request-origin';
import type { Route, RouteReply, RouteRequest } from './route';
import { sendEvents } from './send-events';
import { sendLines } from './send-lines';
import { spanOf } from './trace-requests';

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
  for (const [path, ofPath] of routesByPath(mostAskedFirst(routes))) {
    for (const route of ofPath) mountRoute(app, route, turns, options);
    const methods = ofPath.map(({ method }) => method.toUpperCase());
    app.all(path, refuseMethod(methods));
  }
}

function mountRoute(app: Express, route: Route, turns: HeavyTurns, options: MountOptions): void {
  app[route.method](
    route.path,
    nameRoute(route.path),
    ...guardsOf(route, options),
    ...readParts(route, turns, options),
    handleWith(route, options),
  );
}

function guardsOf({ scope, ...route }: Route, options: MountOptions): readonly RequestHandler[] {
  return scope === 'none' ? [] : [requireKeyFor({ ...route, scope }, options)];
}

// Only once the body has arrived: nobody waits for one that is slow to send it.
function readParts(
  route: Route,
  turns: HeavyTurns,
  { maxBodyBytes }: MountOptions,
): readonly RequestHandler[] {
  const isHeavy = route.isHeavy === true;
  if (route.request.body === undefined) return isHeavy ? [takeTurn(turns)] : [];
  return readJsonBody(boundsOf(route, maxBodyBytes), isHeavy ? takeTurn(turns) : takeTurnIfLarge(turns));
}

function nameRoute(path: string): RequestHandler {
  return (_request, response, next) => {
    response.locals.route = path;
    next();
  };
}

function handleWith(route: Route, options: MountOptions): RequestHandler {
  const { answerOnce, newId, clock } = options;
  return async (request, response) => {
    const answer = async (origin: Origin) => {
      await requireRoomFor(route, response, options);
      return await route.handle({
        ...(parseRequest(request, route.request) as Pick<RouteRequest, 'params' | 'query' | 'body'>),
        ...origin,
        bodyText: bodyTextOf(response),
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
    const isKeyed = route.creates === true && request.headers[IDEMPOTENCY_KEY] !== undefined;
    const reply = isKeyed
      ? await answerOnce(request, response, answer)
      : await answer({ newId, secretBytes: newSecretBytes, receivedAt: clock() });
    await send(response, reply);
  };
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
): Promise<void> {
  response.status(status).set(headers);
  if (lines !== undefined) return await sendLines(response, lines);
  if (events !== undefined) return await sendEvents(response, events);
  const text = bodyText ?? (body === undefined ? undefined : JSON.stringify(body));
  if (text === undefined) response.end();
  else sendJson(response, text);
}

// Express' own looks for what no answer of ours has, an ETag say, and takes as long as the rest of it.
function sendJson(response: Response, text: string): void {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', Buffer.byteLength(text));
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
