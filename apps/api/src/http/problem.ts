import { AppError, type ErrorCode } from '@webhooks/core/errors/app-error';
import type { Emit } from '@webhooks/core/signals/signals';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { requestIdOf } from './request-id';

/** The only place that knows which status an error has. */
const PROBLEMS: Readonly<Record<ErrorCode, { readonly status: number; readonly title: string }>> = {
  malformed_json: { status: 400, title: 'The body is not JSON' },
  unauthenticated: { status: 401, title: 'No valid API key' },
  insufficient_scope: { status: 403, title: 'The API key lacks a scope' },
  operator_only: { status: 403, title: 'Only for the operator' },
  not_found: { status: 404, title: 'Not found' },
  route_not_found: { status: 404, title: 'No such route' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'Conflict' },
  event_id_conflict: { status: 409, title: 'The id belongs to another event' },
  request_in_progress: { status: 409, title: 'The same request is being worked on' },
  limit_reached: { status: 409, title: 'A limit is reached' },
  precondition_failed: { status: 412, title: 'It was changed meanwhile' },
  payload_too_large: { status: 413, title: 'Too large' },
  unsupported_media_type: { status: 415, title: 'Not JSON' },
  invalid_request: { status: 422, title: 'The request is not valid' },
  secret_unreadable: { status: 500, title: 'A stored secret can not be read' },
  internal_error: { status: 500, title: 'A fault of ours' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key belongs to another request' },
  storage_unavailable: { status: 503, title: 'The store is not reachable' },
};

export function statusOf(code: ErrorCode): number {
  return PROBLEMS[code].status;
}

const RETRY_AFTER_SECONDS = '1';

/** Answers every error as `application/problem+json` (RFC 9457). */
export function answerProblems(emit: Emit): ErrorRequestHandler {
  // Express knows an error handler by its four parameters.
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    const requestId = requestIdOf(response);
    const known = toAppError(error);
    const { status, title } = PROBLEMS[known.code];
    if (status >= 500) emit({ name: 'request.failed', requestId, error });
    if (status === 503 || known.code === 'request_in_progress')
      response.set('retry-after', RETRY_AFTER_SECONDS);
    if (status === 401) response.set('www-authenticate', 'Bearer');
    response.status(status).type('application/problem+json');
    response.json({
      type: `urn:webhooks:error:${known.code}`,
      title,
      status,
      detail: known.message,
      code: known.code,
      request_id: requestId,
      ...(known.faults.length === 0 ? {} : { errors: known.faults }),
    });
  };
}

export const refuseUnknownRoute: RequestHandler = (request) => {
  throw new AppError('route_not_found', `There is no ${request.method} ${request.path}.`);
};

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  // Express' router throws a URIError with this status for a path such as /v1/webhooks/%ff.
  if ((error as { readonly status?: number }).status === 400) {
    return new AppError('route_not_found', 'The path is not well encoded.', { cause: error });
  }
  return new AppError('internal_error', 'Something went wrong here. The request id leads to it in our log.', {
    cause: error,
  });
}
