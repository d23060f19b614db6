import type { Principal } from '@hookferry/core/domain/account';
import { type Emit, httpMethodOf } from '@hookferry/core/domain/signal';
import { type BeginSpan, parseTraceparent, type RequestSpan } from '@hookferry/core/domain/trace';
import type { ErrorCode } from '@hookferry/core/platform/app-error';
import type { Clock } from '@hookferry/core/platform/clock';
import type { NewId } from '@hookferry/core/platform/ids';
import type { RequestHandler } from 'express';

/** What those who work on a request leave for the log. */
interface RequestLocals {
  readonly apiKey?: Principal;
  readonly code?: ErrorCode;
}

// What no route is for shares one label, or strangers could make as many time series as they like.
const NO_ROUTE = 'none';

/** Announces each request once its answer is out, or the client is gone. */
export function announceRequests(emit: Emit, clock: Clock): RequestHandler {
  return (request, response, next) => {
    const startedAt = clock();
    // A socket that is closed no longer knows whose it was.
    const clientAddress = request.ip;
    response.once('close', () => {
      const { apiKey, code } = response.locals as RequestLocals;
      const span = spanOf(response);
      emit({
        name: 'request.completed',
        requestId: requestIdOf(response),
        method: httpMethodOf(request.method),
        route: String(response.locals.route ?? NO_ROUTE),
        status: response.statusCode,
        durationMs: clock() - startedAt,
        ...(clientAddress === undefined ? {} : { clientAddress }),
        ...(apiKey === undefined ? {} : whoIs(apiKey)),
        ...(code === undefined ? {} : { code }),
        ...(span === undefined ? {} : { span }),
      });
    });
    next();
  };
}

function whoIs({ accountId, id, capabilities }: Principal) {
  return capabilities === undefined ? { accountId, keyId: id } : { accountId, sessionId: id };
}

// Longer than any of our own; strangers can send sixteen thousand.
const MAX_PATH_LENGTH = 1_024;

/** Gives each request its span: below the caller's, if it sends a `traceparent`. */
export function traceRequests(beginSpan: BeginSpan, clock: Clock): RequestHandler {
  return (request, response, next) => {
    const parent = parseTraceparent(request.get('traceparent'));
    const span: RequestSpan = {
      ...beginSpan({ parent, startedAt: clock() }),
      scheme: request.protocol,
      path: request.path.slice(0, MAX_PATH_LENGTH),
    };
    response.locals.span = span;
    next();
  };
}

/** The request's span; `undefined` where traces are not wanted. */
export function spanOf(response: { readonly locals: Record<string, unknown> }): RequestSpan | undefined {
  return response.locals.span as RequestSpan | undefined;
}

const HEADER = 'x-request-id';
const ACCEPTABLE = /^[A-Za-z0-9_-]{1,64}$/;

/** Gives each request an id, or keeps the one that a proxy gave it, and sends it back. */
export function requestId(newId: NewId): RequestHandler {
  return (request, response, next) => {
    const given = request.get(HEADER);
    const id = given !== undefined && ACCEPTABLE.test(given) ? given : newId('req');
    response.locals.requestId = id;
    response.set(HEADER, id);
    next();
  };
}

export function requestIdOf(response: { readonly locals: Record<string, unknown> }): string {
  return String(response.locals.requestId);
}
