import { isIPv6 } from 'node:net';
import type { Turn } from '@hookferry/core/accounts/heavy-turns';
import type { Principal } from '@hookferry/core/domain/account';
import type { Act } from '@hookferry/core/domain/audit';
import { REQUEST_ID_FORM } from '@hookferry/core/domain/event';
import type { Emit } from '@hookferry/core/domain/signal';
import { httpMethodOf } from '@hookferry/core/domain/signals/requests';
import { type BeginSpan, parseTraceparent, type RequestSpan } from '@hookferry/core/domain/trace';
import type { EndpointsVersion } from '@hookferry/core/endpoints/subscriptions';
import { AppError, type ErrorCode } from '@hookferry/core/platform/app-error';
import type { Clock } from '@hookferry/core/platform/clock';
import type { NewId } from '@hookferry/core/platform/ids';
import type { Request, RequestHandler, Response } from 'express';

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
  /** The points that the rate limit counted for it. */
  spent: { readonly points: number; readonly windows: number } | undefined;
  /** The version of that account's endpoints, if the request publishes and it was read. */
  endpointsVersion: Promise<EndpointsVersion> | undefined;
  /** Its body, as far as that was begun to be read. */
  bytes: Promise<Buffer> | undefined;
  /** Called when its response is out, or the client is gone. */
  onClose: (() => void) | undefined;
  /** When its body was there. Milliseconds since the Unix epoch. */
  receivedAt: number | undefined;
  /** Absent where the request is not heavy. */
  turn: Turn | undefined;
  /** Absent where traces are not wanted. */
  span: RequestSpan | undefined;
  /** The code of its refusal, if it was refused. */
  code: ErrorCode | undefined;

  /** The standing by the rate limit, as the client is told. */
  rate: { readonly policy: string; readonly standing: string } | undefined;
  /** Probes come every few seconds and say nothing about the use of the API: they are not announced. */
  isProbe = false;
  /** What its route adds to the head of each response, names and values by turns. */
  routeHead: readonly string[] | undefined;
  /** What tells a browser whether a page of another origin may read the response, in the same form. */
  originHead: string[] | undefined;
  #ownId: string | undefined;

  constructor(
    /** As the client is told. */
    readonly requestId: string,
    readonly clientAddress: string | undefined,
    /** Milliseconds since the Unix epoch. */
    readonly startedAt: number,
    /** Whether its connection ends with it: the process is about to stop. */
    readonly isClosing: boolean,
    /** The id that the client gave it, or a proxy: others may have the same one. */
    readonly clientRequestId?: string,
  ) {}

  /** For the audit log: an id that no other request has, whatever the clients send, and the client's beside it. */
  requestIds(newId: NewId): Pick<Act, 'requestId' | 'clientRequestId'> {
    const { clientRequestId } = this;
    if (clientRequestId === undefined) return { requestId: this.requestId };
    this.#ownId ??= newId(REQUEST_ID_PREFIX);
    return { requestId: this.#ownId, clientRequestId };
  }

  get isOfApi(): boolean {
    return this.route.startsWith('/v1/');
  }

  /** It has no principal again, as before authentication. */
  letOut(): void {
    this.spender = undefined;
    this.apiKey = undefined;
    this.spent = undefined;
    this.rate = undefined;
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

export const REQUEST_ID = 'x-request-id';
const REQUEST_ID_PREFIX = 'req';

interface RequestParts {
  readonly drain: { readonly isDraining: boolean };
  readonly newId: NewId;
  /** Undefined where traces are not wanted. Nobody may forget to say so. */
  readonly beginSpan: BeginSpan | undefined;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * The first handler of each request. Gives it its state and an id, or keeps a proxy's id; refuses a bad head;
 * announces it once its response is out, or the client is gone.
 */
export function beginRequests({ drain, newId, beginSpan, clock, emit }: RequestParts): RequestHandler {
  function announce(this: Response): void {
    const state = requestStateOf(this);
    state.onClose?.();
    if (state.isProbe) return;
    const { requestId, route, apiKey, code, span, startedAt, clientAddress } = state;
    emit({
      name: 'request.completed',
      requestId,
      method: httpMethodOf(this.req.method),
      route,
      status: this.statusCode,
      durationMs: clock() - startedAt,
      ...(clientAddress === undefined ? {} : { clientAddress }),
      ...(apiKey === undefined ? {} : whoIs(apiKey)),
      ...(code === undefined ? {} : { code }),
      ...(span === undefined ? {} : { span }),
    });
  }
  return (request, response, next) => {
    const given = request.headers[REQUEST_ID];
    const kept = typeof given === 'string' && REQUEST_ID_FORM.test(given) ? given : undefined;
    const id = kept ?? newId(REQUEST_ID_PREFIX);
    // A closed socket no longer knows its client's address.
    const state = new RequestState(id, request.ip, clock(), drain.isDraining, kept);
    response.locals.request = state;
    refuseBadHead(request);
    if (beginSpan) state.span = spanOf(request, beginSpan, state.startedAt);
    response.on('close', announce);
    next();
  };
}

// Longer than any id or cursor, shorter than proxies allow.
const MAX_URL_LENGTH = 8 * 1024;
// Node silently ignores headers beyond its `maxHeadersCount`, so they are counted below it.
const MAX_HEADERS = 100;

/** The HTTP server limits the size of all headers together. */
function refuseBadHead({ url, rawHeaders, headers, httpVersion }: Request): void {
  // RFC 9112, 3.2. Node would do the same, without an explanation.
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw new AppError('malformed_request', 'The header "Host" is missing.');
  }
  if (url.length > MAX_URL_LENGTH) {
    throw new AppError('uri_too_long', `The URL is longer than ${MAX_URL_LENGTH} characters.`);
  }
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    throw new AppError('headers_too_large', `There are more than ${MAX_HEADERS} headers.`);
  }
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

/** A request's protocol and host from Express: HTTP/1.0 has no host. */
interface Named {
  readonly protocol: string;
  readonly host: string | undefined;
}

const HOST =
  /^(?:(?<name>[A-Za-z0-9_](?:[A-Za-z0-9._-]*))|\[(?<address>[0-9A-Fa-f:.]+)\])(?::(?<port>\d{1,5}))?$/;
const MAX_HOST_LENGTH = 260;
const MAX_PORT = 65_535;

/**
 * The origin that a request was sent to, such as `https://hooks.example.com`, as the request or a trusted
 * proxy states it. Anybody can name any host, so this makes sure that the prefix of a link is one origin and
 * nothing more.
 *
 * @throws AppError `malformed_request` when it names no host, or not a host of a URL.
 */
export function originOf({ protocol, host = '' }: Named): string {
  if (isHost(host)) return `${protocol}://${host.toLowerCase()}`;
  throw new AppError(
    'malformed_request',
    'The header "Host" or "X-Forwarded-Host" must be a host, with or without a port: links begin with it.',
  );
}

/** RFC 3986, 3.2.2 and 3.2.3, restricted to names that hosts have. */
function isHost(text: string): boolean {
  if (text.length > MAX_HOST_LENGTH) return false;
  const { name, address, port = '0' } = HOST.exec(text)?.groups ?? {};
  if (Number(port) > MAX_PORT) return false;
  return name === undefined ? address !== undefined && isIPv6(address) : !name.includes('..');
}
