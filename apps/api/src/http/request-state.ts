import type { Principal } from '@hookferry/core/domain/account';
import { type Emit, httpMethodOf } from '@hookferry/core/domain/signal';
import { type BeginSpan, parseTraceparent, type RequestSpan } from '@hookferry/core/domain/trace';
import type { EndpointsVersion } from '@hookferry/core/endpoints/subscriptions';
import type { ErrorCode } from '@hookferry/core/platform/app-error';
import type { Clock } from '@hookferry/core/platform/clock';
import type { NewId } from '@hookferry/core/platform/ids';
import type { Request, RequestHandler } from 'express';
import type { Turn } from './heavy-turns';
import type { Drain } from './probes';

// Requests without a route share one label. Otherwise unknown clients could make as many time series as they
// like.
const NO_ROUTE = 'none';

/** The state of a request from the first middleware to the log. */
export class RequestState {
  /** The path of its route, as the route writes it. */
  route = NO_ROUTE;
  /** The key or session of the request: its requests are counted for this one. */
  spender: Principal | undefined;
  /**
   * The same with the account that it acts for. Absent before it is let in, and where the route needs no key.
   */
  apiKey: Principal | undefined;
  /** What was counted for it by the rate limit. */
  spent: { readonly points: number; readonly windows: number } | undefined;
  /** The version of that account's endpoints, if the request publishes and it was read. */
  endpointsVersion: Promise<EndpointsVersion> | undefined;
  /** Its body, as far as that was begun to be read. */
  bytes: Promise<Buffer> | undefined;
  /** When its body was there. Milliseconds since the Unix epoch. */
  receivedAt: number | undefined;
  /** Absent where the request is not heavy. */
  turn: Turn | undefined;
  /** Absent where traces are not wanted. */
  span: RequestSpan | undefined;
  /** The code of its refusal, if it was refused. */
  code: ErrorCode | undefined;

  constructor(readonly requestId: string) {}

  /** It is nobody's again, as before it was let in. */
  letOut(): void {
    this.spender = undefined;
    this.apiKey = undefined;
    this.spent = undefined;
  }
}

interface WithLocals {
  readonly locals: Record<string, unknown>;
}

/** The state of the request that this is the response to. `beginRequests` has made it. */
export function requestStateOf({ locals }: WithLocals): RequestState {
  return locals.request as RequestState;
}

/** For middleware after the admission. */
export function apiKeyOf({ apiKey, route }: RequestState): Principal {
  if (apiKey === undefined) throw new Error(`A request to ${route} was not let in.`);
  return apiKey;
}

const HEADER = 'x-request-id';
const ACCEPTABLE = /^[A-Za-z0-9_-]{1,64}$/;

interface BeginContext {
  readonly drain: Pick<Drain, 'isDraining'>;
  readonly newId: NewId;
}

/** The first middleware: give each request its state and an id, or keep a proxy's id, and send it back. */
export function beginRequests({ drain, newId }: BeginContext): RequestHandler {
  return (request, response, next) => {
    const given = request.headers[HEADER];
    const id = typeof given === 'string' && ACCEPTABLE.test(given) ? given : newId('req');
    response.locals.request = new RequestState(id);
    response.setHeader(HEADER, id);
    // A client that keeps its connection open learns that its next request goes elsewhere.
    if (drain.isDraining) response.setHeader('connection', 'close');
    next();
  };
}

interface AnnounceContext {
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Announces each request once its response is out, or the client is gone. Gives it a span before. */
export function announceRequests({ beginSpan, clock, emit }: AnnounceContext): RequestHandler {
  return (request, response, next) => {
    const startedAt = clock();
    const state = requestStateOf(response);
    if (beginSpan) state.span = spanOf(request, beginSpan, startedAt);
    // A closed socket no longer knows its client's address.
    const clientAddress = request.ip;
    response.once('close', () => {
      const { requestId, route, apiKey, code, span } = state;
      emit({
        name: 'request.completed',
        requestId,
        method: httpMethodOf(request.method),
        route,
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

// Longer than any path of the API; clients can send sixteen thousand characters.
const MAX_PATH_LENGTH = 1_024;

/** Below the caller's span, if the request has a `traceparent`. */
function spanOf(request: Request, beginSpan: BeginSpan, startedAt: number): RequestSpan {
  const parent = parseTraceparent(request.get('traceparent'));
  return {
    ...beginSpan({ parent, startedAt }),
    scheme: request.protocol,
    path: request.path.slice(0, MAX_PATH_LENGTH),
  };
}

function whoIs({ accountId, id, capabilities }: Principal) {
  return capabilities === undefined ? { accountId, keyId: id } : { accountId, sessionId: id };
}
