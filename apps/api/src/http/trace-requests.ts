import type { Clock } from '@hookferry/core/kernel/clock';
import { type BeginSpan, parseTraceparent, type RequestSpan } from '@hookferry/core/model/trace';
import type { RequestHandler } from 'express';

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
