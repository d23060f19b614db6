import type { Authenticate } from '@webhooks/core/api-keys/authenticate';
import { AppError } from '@webhooks/core/errors/app-error';
import type { Express, RequestHandler, Response } from 'express';
import { apiKeyOf, requireScope } from './authenticate';
import { parseRequest } from './parse-request';
import { readJsonBody } from './read-json-body';
import { requestIdOf } from './request-id';
import type { Route, RouteReply, RouteRequest } from './route';

export interface MountOptions {
  readonly authenticate: Authenticate;
  readonly maxBodyBytes: number;
}

/** Serves the routes: key and scope first, then the body, then its shape, then the handler. */
export function mountRoutes(app: Express, routes: readonly Route[], options: MountOptions): void {
  for (const route of routes) {
    app[route.method](
      route.path,
      nameRoute(route.path),
      requireScope(options.authenticate, route.scope),
      ...(route.request.body === undefined ? [] : readJsonBody(options.maxBodyBytes)),
      handleWith(route),
    );
  }
  for (const [path, methods] of methodsByPath(routes)) app.all(path, nameRoute(path), refuseMethod(methods));
}

function nameRoute(path: string): RequestHandler {
  return (_request, response, next) => {
    response.locals.route = path;
    next();
  };
}

function handleWith(route: Route): RequestHandler {
  return async (request, response) => {
    const reply = await route.handle({
      ...(parseRequest(request, route.request) as Pick<RouteRequest, 'params' | 'query' | 'body'>),
      apiKey: apiKeyOf(response),
      header: (name) => request.get(name),
      requestId: requestIdOf(response),
    });
    send(response, reply);
  };
}

function send(response: Response, { status, headers = {}, body }: RouteReply): void {
  response.status(status).set(headers);
  if (body === undefined) response.end();
  else response.json(body);
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const byPath = new Map<string, string[]>();
  for (const { path, method } of routes)
    byPath.set(path, [...(byPath.get(path) ?? []), method.toUpperCase()]);
  return byPath;
}

function refuseMethod(methods: readonly string[]): RequestHandler {
  return (request, response) => {
    response.set('allow', methods.join(', '));
    throw new AppError(
      'method_not_allowed',
      `${request.method} is not possible here; ${methods.join(', ')} is.`,
    );
  };
}
