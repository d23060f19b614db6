import { type ClientRequest, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectOptions, judgeLiteral, type Route, refuse } from './direct-route';
import type { EgressProxy } from './egress-settings';
import type { JudgeTarget } from './judge-target';

export interface ProxyRouteOptions {
  readonly proxy: EgressProxy;
  readonly judgeTarget: JudgeTarget;
  /** For the whole way to the receiver. */
  readonly connectTimeoutMs: number;
}

// The proxy is near. Less than any endpoint may have as its own time-out, or a proxy that is away would look like a
// receiver that is.
const REACH_TIMEOUT_MS = 800;

/**
 * Leads through a tunnel (CONNECT) of a forward proxy, for http: too, so that what the proxy says can't be taken for
 * the receiver's answer. A literal address is judged before; names are looked up by the proxy, which has to judge
 * where they lead.
 */
export function proxyRoute(options: ProxyRouteOptions): Route {
  return (target, onConnection, connect) => {
    const blocked = judgeLiteral(target, options.judgeTarget);
    if (blocked) return refuse(blocked, onConnection);
    void openTunnel(authorityOf(target), options)
      .then((socket) => connect({ ...target, socket }))
      .then(
        (connection) => onConnection?.(null, connection as Duplex),
        (error: unknown) => refuse(error as Error, onConnection),
      );
    return undefined;
  };
}

function authorityOf({ host, port }: ConnectOptions): string {
  return `${isIPv6(host ?? '') ? `[${host}]` : host}:${port}`;
}

async function openTunnel(
  authority: string,
  { proxy, connectTimeoutMs }: ProxyRouteOptions,
): Promise<Duplex> {
  const request = askForTunnel(authority, proxy);
  const stopWatch = watch(request, proxy, connectTimeoutMs);
  try {
    return await answerTo(request);
  } finally {
    stopWatch();
  }
}

function askForTunnel(
  authority: string,
  { protocol, host, port, authorization }: EgressProxy,
): ClientRequest {
  const headers = {
    host: authority,
    connection: 'keep-alive',
    ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }),
  };
  const request = protocol === 'https:' ? requestHttps : requestHttp;
  // Or Node would take the name in the Host header, which is the receiver's, for the proxy's.
  const servername = isIP(host) === 0 ? host : '';
  // Said here, so that NODE_TLS_REJECT_UNAUTHORIZED in the environment can't switch it off.
  const options = { host, port, servername, agent: false, rejectUnauthorized: true } as const;
  return request({ ...options, method: 'CONNECT', path: authority, headers }).end();
}

/** Ends the request when the proxy can't be reached in time, or does not answer in time. */
function watch(request: ClientRequest, { protocol }: EgressProxy, connectTimeoutMs: number): () => void {
  const reachMs = Math.min(REACH_TIMEOUT_MS, connectTimeoutMs / 2);
  let timer = setTimeout(
    () => request.destroy(new ProxyFaultError(`The proxy could not be reached in ${reachMs} ms.`)),
    reachMs,
  );
  request.once('socket', (socket) =>
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      timer = setTimeout(() => request.destroy(tunnelTimeout(connectTimeoutMs)), connectTimeoutMs);
    }),
  );
  return () => clearTimeout(timer);
}

function answerTo(request: ClientRequest): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    request.on('error', (error) => reject(toProxyFault(error)));
    request.once('connect', ({ statusCode = 0 }, socket: Duplex, head) => {
      const refusal = refusalOf(statusCode);
      if (refusal) {
        socket.destroy();
        return reject(refusal);
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
  });
}

// A proxy that hangs up instead of an answer, or answers with something else than HTTP, is out of order as well.
function toProxyFault(error: NodeJS.ErrnoException): Error {
  if (error instanceof ProxyFaultError || error instanceof TunnelError) return error;
  return new ProxyFaultError(`The proxy could not be used (${error.code ?? error.name}).`);
}

// What a proxy says when it can't let anybody in: credentials that it does not take, too many requests.
const OUR_OWN_TROUBLE = [407, 429];

function refusalOf(status: number): Error | undefined {
  if (status >= 200 && status <= 299) return undefined;
  const message = `The proxy answered ${status} instead of opening a tunnel.`;
  if (OUR_OWN_TROUBLE.includes(status)) return new ProxyFaultError(message);
  const isDenial = status >= 400 && status <= 499;
  return new TunnelError(isDenial ? 'ERR_PROXY_DENIED' : 'ERR_PROXY_CONNECT_FAILED', message);
}

// The proxy is there, so it is most likely waiting for a receiver that is not.
function tunnelTimeout(connectTimeoutMs: number): TunnelError {
  return new TunnelError('ERR_PROXY_CONNECT_TIMEOUT', `No tunnel in ${connectTimeoutMs} ms.`);
}

/** The proxy is out of order, or does not let us in: none of the receiver's faults. */
class ProxyFaultError extends Error {
  override readonly name = 'ProxyFaultError';
  /** Comes through the HTTP client, which the class does not. */
  readonly code = PROXY_FAULT_CODE;
}

export const PROXY_FAULT_CODE = 'ERR_PROXY_FAULT';

/** The proxy answered, and there is no way to the receiver. */
class TunnelError extends Error {
  override readonly name = 'TunnelError';

  constructor(
    /** Comes through the HTTP client, which the class does not. */
    readonly code: 'ERR_PROXY_DENIED' | 'ERR_PROXY_CONNECT_FAILED' | 'ERR_PROXY_CONNECT_TIMEOUT',
    message: string,
  ) {
    super(message);
  }
}
