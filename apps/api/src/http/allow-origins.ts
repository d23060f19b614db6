import { keyIn } from '@hookferry/core/accounts/authentication';
import { idOfToken } from '@hookferry/core/domain/account';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Request, RequestHandler } from 'express';
import { requestStateOf } from './request-state';
import { setHeads } from './send-reply';

const API = '/v1/';
// What `@hookferry/client` sends, and what the routes read. Firefox and Safari send its `User-Agent`.
const REQUEST_HEADERS =
  'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, user-agent, x-account-id, x-request-id, traceparent';
const METHODS = 'GET, POST, PUT, PATCH, DELETE';
const EXPOSED =
  'ETag, Location, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Idempotent-Replayed, Deprecation, Sunset';
// Short, because a browser that has been told of it sends requests for so long after the operator has removed an origin.
const PREFLIGHT_SECONDS = '600';

/**
 * Let pages of these origins send the token of a portal session to the API, and read the response. Pages of all other origins
 * are told nothing, as without this. The requests carry no cookies, so none are allowed.
 *
 * @throws AppError `insufficient_scope` for an API key: one that a page has is one that everybody has.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  const allowed = new Set(origins);
  return (request, response, next) => {
    if (!request.path.startsWith(API) || isOfOwnPage(request)) return next();
    const state = requestStateOf(response);
    const { origin, authorization } = request.headers;
    if (origin === undefined || !allowed.has(origin)) {
      state.originHead = ['vary', 'Origin'];
      return next();
    }
    state.originHead = ['vary', 'Origin', 'access-control-allow-origin', origin];
    if (isPreflight(request)) {
      state.route = `${API}*`;
      return setHeads(request, response, () => {
        response.set({
          'access-control-allow-methods': METHODS,
          'access-control-allow-headers': REQUEST_HEADERS,
          'access-control-max-age': PREFLIGHT_SECONDS,
        });
        response.status(204).end();
      });
    }
    state.originHead.push('access-control-expose-headers', EXPOSED);
    if (authorization !== undefined && idOfToken(keyIn(authorization) ?? '') === undefined) {
      throw new AppError(
        'insufficient_scope',
        'A page of another origin may send the token of a portal session, and no API key. Keep keys on your server.',
      );
    }
    return next();
  };
}

/** The portal's own page, also where its origin is on the list: operators sign in there by a key. */
function isOfOwnPage({ headers }: Request): boolean {
  return headers['sec-fetch-site'] === 'same-origin';
}

function isPreflight({ method, headers }: Request): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}
