import type { ErrorCode } from '../../platform/app-error';
import type { AccountId } from '../account';
import type { RequestSpan } from '../trace';
import type { Door } from '../usage';
import { signal } from './define';
import { accountId, error } from './sample-facts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'] as const;

/** OpenTelemetry's name for all other methods. */
export const OTHER_METHOD = '_OTHER';

export const httpMethods = [...METHODS, OTHER_METHOD] as const;

/** The reported method of a request. A closed set, so that unknown clients can't make up endless names. */
export type HttpMethod = (typeof httpMethods)[number];

export function httpMethodOf(method: string): HttpMethod {
  return METHODS.find((known) => known === method) ?? OTHER_METHOD;
}

/** Why the API closed the connection of a client without taking its request. */
export const connectionRefusals = [
  'malformed',
  'headers_too_large',
  'too_slow',
  'too_many',
  'pipelined',
] as const;
export type ConnectionRefusal = (typeof connectionRefusals)[number];

/** Why a stream of an account's changes ended. */
export const streamEnds = ['too_slow', 'stopping', 'unauthenticated', 'unverified', 'time_limit'] as const;
export type StreamEnd = (typeof streamEnds)[number];

const OUTAGES: readonly ErrorCode[] = ['storage_unavailable', 'history_unavailable', 'clock_skewed'];

/** Whether requests are refused with this code, all of them, because something is away that the service needs. */
export function isOutage(code: ErrorCode): boolean {
  return OUTAGES.includes(code);
}

/** Of requests to the API. */
export const requestSignals = {
  'request.completed': signal<{
    requestId: string;
    method: HttpMethod;
    /** The route's pattern, such as `/v1/webhooks/:id`, so that it can be a metric's label. */
    route: string;
    status: number;
    durationMs: number;
    clientAddress?: string;
    accountId?: AccountId;
    /** The API key of the request, if it was valid. */
    keyId?: string;
    /** The portal session of the request, if there was one. */
    sessionId?: string;
    /** The code of the error response. */
    code?: ErrorCode;
    span?: RequestSpan;
  }>({
    level: {
      usual: 'debug',
      other: 'info',
      isOther: ({ status, code }) => status >= 400 && !(code && isOutage(code)),
    },
    means:
      'The API responded to a request. `info` if the status is 400 or more; `code` then has the [error](errors.md). `debug` for those that `requests.refused` counts.',
    sample: {
      requestId: 'req_1',
      method: 'GET',
      route: '/v1/webhooks/:id',
      status: 200,
      durationMs: 12,
      clientAddress: '192.0.2.1',
      accountId,
      keyId: '0123456789abcdef',
      code: 'invalid_request',
    },
  }),
  'connection.refused': signal<{ reason: ConnectionRefusal; clientAddress?: string }>({
    level: 'debug',
    means:
      'The API closed a connection without responding to its request; `reason` says why. A client sent something that is not HTTP, was too slow, or had too many connections.',
    sample: { reason: 'too_slow', clientAddress: '192.0.2.1' },
  }),
  'request.failed': signal<{ requestId: string; error: unknown; traceId?: string }>({
    level: 'error',
    means: 'The API responded to a request with 500, or broke its response off. `error` has the cause.',
    act: 'If `error` is not about Redis or PostgreSQL, report the line: it is a fault of Hookferry.',
    sample: { requestId: 'req_1', error },
  }),
  /** In the place of their `request.failed` in the log. */
  'requests.refused': signal<{ count: number; code: ErrorCode; requestId: string; detail: string }>({
    level: 'error',
    means:
      'Within a second the API refused `count` requests with 503: Redis or PostgreSQL is away or full, or the clock is wrong; `code` says which. `request_id` and `detail` are of the first one.',
    act: 'See [WebhooksRedisUnreachable](runbook.md#webhooksredisunreachable).',
    sample: {
      count: 240,
      code: 'storage_unavailable',
      requestId: 'req_1',
      detail: "Redis can't be reached. ← connect ECONNREFUSED",
    },
  }),
  /** Anybody can send such requests, as many as the API can refuse. */
  'requests.left_out': signal<{ count: number; code: ErrorCode }>({
    level: 'info',
    means:
      'Within a second the API refused more requests without a valid key than the log takes, which is 50. For these `count` it has no `request.completed`; `code` says why they were refused.',
    act: 'If it goes on, find the client by `client_address` in the lines of `request.completed`, and keep it out at your proxy.',
    sample: { count: 950, code: 'unauthenticated' },
  }),
  /** So many requests were refused at once that these are in no audit log. */
  'audit.refusals_left_out': signal<{ count: number }>({
    level: 'debug',
    means: 'More requests were refused at once than the audit log takes. These are not in it.',
    sample: { count: 900 },
  }),
  /** This service ended a stream of an account's changes. */
  'change_stream.ended': signal<{ accountId: AccountId; reason: StreamEnd }>({
    level: 'info',
    means: 'The API ended a stream of changes; `reason` says why.',
    sample: { accountId, reason: 'too_slow' },
  }),
  /** A request of an account was refused, because it stores as much as it may. */
  'quota.exceeded': signal<{ accountId: AccountId; door: Door }>({
    level: 'debug',
    means: 'A request was refused, because its account stores as much as it may.',
    sample: { accountId, door: 'queue' },
  }),
} as const;
