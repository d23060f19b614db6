import type { Emit } from '@hookferry/core/domain/signal';
import { AppError, type ErrorCode, validationErrorSchema } from '@hookferry/core/platform/app-error';
import { nameRedisError } from '@hookferry/core/platform/redis-errors';
import { nearestTo } from '@hookferry/producer/fault-words';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { z } from 'zod';
import { requestStateOf } from './request-state';
import { sendText } from './send-reply';

/** The only place that knows which status an error has. */
export const PROBLEMS: Readonly<Record<ErrorCode, { readonly status: number; readonly title: string }>> = {
  malformed_request: { status: 400, title: 'Malformed HTTP request' },
  malformed_json: { status: 400, title: 'The body is not JSON' },
  unauthenticated: { status: 401, title: 'No valid API key' },
  insufficient_scope: { status: 403, title: 'The API key lacks a scope' },
  operator_only: { status: 403, title: 'Only for the operator' },
  not_found: { status: 404, title: 'Not found' },
  route_not_found: { status: 404, title: 'No such route' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'The request took too long' },
  conflict: { status: 409, title: 'Conflict' },
  event_id_conflict: { status: 409, title: 'The id belongs to another event' },
  payload_erased: { status: 409, title: 'The payload was erased' },
  already_due: { status: 409, title: 'The event is due already' },
  request_in_progress: { status: 409, title: 'The same request is being processed' },
  last_admin_key: { status: 409, title: 'The last key that can issue others' },
  response_not_kept: { status: 409, title: 'The request was carried out, but its response was not kept' },
  limit_reached: { status: 409, title: 'A limit is reached' },
  replays_running: { status: 409, title: 'Too many replays are running' },
  quota_exceeded: { status: 409, title: 'The quota of the account is used up' },
  precondition_failed: { status: 412, title: 'The object was changed since you read it' },
  payload_too_large: { status: 413, title: 'The request is too large' },
  uri_too_long: { status: 414, title: 'URL too long' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  invalid_request: { status: 422, title: 'The request is not valid' },
  deliver_at_in_past: { status: 422, title: 'The time to deliver the event is in the past' },
  deliver_at_too_far: { status: 422, title: 'The time to deliver the event is too far ahead' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key belongs to another request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'Headers too large' },
  secret_unreadable: { status: 500, title: 'A stored secret cannot be read' },
  internal_error: { status: 500, title: 'Internal error' },
  storage_unavailable: { status: 503, title: 'Redis is not reachable, or takes no writes' },
  clock_skewed: { status: 503, title: 'The clock of the service is wrong' },
  history_unavailable: { status: 503, title: 'The history (PostgreSQL) is not reachable' },
};

const errorCodes = Object.keys(PROBLEMS) as ErrorCode[];
export const codeSchema = z.enum(errorCodes).meta({ id: 'ErrorCode' });

/** The body of every error. */
export const problemSchema = z
  .object({
    type: z
      .string()
      .meta({ example: 'urn:hookferry:error:not_found' })
      .describe('The kind of error, as a URI: `urn:hookferry:error:` and the code.'),
    title: z.string().describe('The kind of error, in words. It is the same for every error of this code.'),
    status: z.int().describe('The HTTP status of the response.'),
    detail: z.string().describe('What is wrong with this request, in a sentence for people.'),
    code: codeSchema.describe('The kind of error, for programs. The page on errors lists all codes.'),
    request_id: z.string().describe('The id of the request. Search the log of the service for it.'),
    errors: z
      .array(validationErrorSchema)
      .optional()
      .describe('Each fault of the request. Absent for errors that are about no member.'),
  })
  .meta({ id: 'Problem' });

export const PROBLEM_TYPE = 'application/problem+json';

export function titleOf(code: ErrorCode): string {
  return PROBLEMS[code].title;
}

export function statusOf(code: ErrorCode): number {
  return PROBLEMS[code].status;
}

const RETRY_AFTER_SECONDS = '1';

/** Respond to every error with `application/problem+json` (RFC 9457). */
export function answerProblems(emit: Emit): ErrorRequestHandler {
  // Express recognises an error handler by its four parameters.
  return (thrown: unknown, _request, response, _next) => {
    const error = nameRedisError(thrown);
    const state = requestStateOf(response);
    const { requestId, span } = state;
    const traced = span && { traceId: span.context.traceId };
    if (response.headersSent) {
      // Only a broken connection can show that the rest of a response is missing.
      emit({ name: 'request.failed', requestId, error, ...traced });
      response.destroy();
      return;
    }
    const known = toAppError(error);
    const { status, body } = presentProblem(known, requestId);
    state.code = known.code;
    if (status >= 500 && !state.isProbe) emit({ name: 'request.failed', requestId, error, ...traced });
    const headers: string[] = [];
    const retryAfter = retryAfterOf(known, status);
    if (retryAfter !== undefined) headers.push('retry-after', retryAfter);
    if (status === 401 && !response.hasHeader('www-authenticate')) headers.push('www-authenticate', 'Bearer');
    const text = JSON.stringify(body);
    const bytes = Buffer.byteLength(text);
    sendText(response, status, `${PROBLEM_TYPE}; charset=utf-8`, text, bytes, headers);
  };
}

/** In seconds. */
function retryAfterOf({ code, retryAfterMs }: AppError, status: number): string | undefined {
  if (retryAfterMs !== undefined) return String(Math.ceil(retryAfterMs / 1_000));
  return status === 503 || code === 'request_in_progress' ? RETRY_AFTER_SECONDS : undefined;
}

/** An error as clients see it. */
export function presentProblem({ code, message, validationErrors }: AppError, requestId: string) {
  const { status, title } = PROBLEMS[code];
  const errors = validationErrors.length === 0 ? {} : { errors: validationErrors };
  return {
    status,
    body: {
      type: `urn:hookferry:error:${code}`,
      title,
      status,
      detail: message,
      code,
      request_id: requestId,
      ...errors,
    },
  };
}

/**
 * Refuse what no route takes.
 *
 * @param paths those of all routes, as they are declared.
 */
export function createRefuseUnknownRoute(paths: readonly string[]): RequestHandler {
  return ({ method, path }) => {
    const meant = nearestRoute(path, paths) ?? routeWithEnd(path, paths);
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
    throw new AppError('route_not_found', `There is no ${method} ${path}.${hint}`);
  };
}

const MOST_SEGMENTS = 8;

/** The path that a misspelt one most likely means: one with as many segments, each of which is a parameter, equal or similar. */
function nearestRoute(path: string, paths: readonly string[]): string | undefined {
  const asked = path.split('/');
  if (asked.length > MOST_SEGMENTS) return undefined;
  const similar = paths.flatMap((each) => {
    const known = each.split('/');
    const isSimilar = known.length === asked.length && known.every((one, i) => isMeant(asked[i] ?? '', one));
    if (!isSimilar) return [];
    return [known.map((one, i) => (one.startsWith(':') ? asked[i] : one)).join('/')];
  });
  return nearestTo(path, similar);
}

/** The shortest path that ends with the same name: what belongs to a webhook, say, is below it. */
function routeWithEnd(path: string, paths: readonly string[]): string | undefined {
  const end = path.slice(path.lastIndexOf('/'));
  const [shortest] = paths.filter((each) => each.endsWith(end)).toSorted((a, b) => a.length - b.length);
  return end.length < 2 ? undefined : shortest?.replaceAll(/:(\w+)/g, '{$1}');
}

function isMeant(asked: string, known: string): boolean {
  return known.startsWith(':') || asked === known || nearestTo(asked, [known]) !== undefined;
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  // Express' router throws a URIError with this status for a path such as /v1/webhooks/%ff.
  if ((error as { readonly status?: number }).status === 400) {
    return new AppError('route_not_found', 'The path is not percent-encoded correctly.', { cause: error });
  }
  return new AppError(
    'internal_error',
    'The service has a fault. The operator finds its cause in the log, by this request id.',
    {
      cause: error,
    },
  );
}
