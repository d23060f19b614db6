import { constants } from 'node:crypto';
import { type ClientRequestArgs, type Agent as HttpAgent, request as requestHttp } from 'node:http';
import { type Agent as HttpsAgent, type RequestOptions, request as requestHttps } from 'node:https';
import type { PeerCertificate } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { got, type Options, type Request } from 'got';
import type { DeliveryRequest, TlsMaterial, Transport } from '../domain/transport';
import { createTlsFaults } from '../endpoints/tls/certificate';
import { checkReceiver } from '../endpoints/tls/receiver-certificate';
import type { Validity } from '../endpoints/tls/redis-receiver-certificates';
import { ParsedCache } from '../platform/caches';
import { DeliveryHttpAgent, DeliveryHttpsAgent, IdleSockets, type Route } from './egress/routes';
import { Exchange, type ExchangeLimits } from './got-exchange';

export interface GotTransportOptions extends ExchangeLimits {
  /**
   * From the first DNS query to the last byte of the response's body. For requests without a time-out of
   * their own.
   */
  readonly timeoutMs: number;
  /** How connections are opened, and where they may go. */
  readonly route: Route;
  /** Called with the certificate of a receiver when a connection is opened without a known session. */
  readonly onCertificate?: (host: string, validity: Validity) => void;
}

interface Agents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

type NativeOptions = ReturnType<Options['createNativeRequestOptions']>;

// Enough for an event to 10,000 webhooks. With one too few it would find none of them the next time.
const REMEMBERED_URLS = 20_000;
const IDLE_SOCKET_MS = 60_000;
const IDLE_SOCKETS_PER_ORIGIN = 256;
// For all origins together: ten thousand receivers with one request a minute each do not justify as many open
// connections.
const IDLE_SOCKETS = 2_048;

/**
 * Delivers over HTTP(S) with kept-alive connections. One try, no redirects, no decompression, bounded memory.
 */
export class GotTransport {
  readonly #options: GotTransportOptions;
  readonly #agents: Agents;
  /** Each of their connections serves one request. */
  readonly #freshAgents: Agents;
  readonly #client;
  readonly #faultOfTls = createTlsFaults();
  readonly #targets = new ParsedCache((href) => targetOf(new URL(href)), { entries: REMEMBERED_URLS });

  constructor(options: GotTransportOptions) {
    const idleSockets = new IdleSockets(IDLE_SOCKETS);
    const { onCertificate } = options;
    const tls = {
      ...TLS_OPTIONS,
      ...(onCertificate && { checkServerIdentity: checkAndReport(onCertificate) }),
    };
    this.#options = options;
    this.#agents = {
      http: new DeliveryHttpAgent(options.route, idleSockets, KEEP_ALIVE),
      https: new DeliveryHttpsAgent(options.route, idleSockets, { ...KEEP_ALIVE, ...tls }),
    };
    this.#freshAgents = {
      http: new DeliveryHttpAgent(options.route, idleSockets, {}),
      https: new DeliveryHttpsAgent(options.route, idleSockets, tls),
    };
    this.#client = got.extend({
      agent: this.#agents,
      method: 'POST',
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      decompress: false,
      http2: false,
      enableUnixSockets: false,
      handlers: [
        (request, next) => {
          request.createNativeRequestOptions = () => this.#nativeOptionsOf(request);
          return next(request);
        },
      ],
      request: (url: URL, native: RequestOptions) =>
        url.protocol === 'https:' ? requestHttps(native) : requestHttp(native),
    });
  }

  readonly send: Transport = (request, signal) => {
    const fault = request.tls && this.#faultOfTls(request.tls);
    if (fault !== undefined) {
      return Promise.resolve({ kind: 'failed', reason: 'tls_error', error: fault, timings: {} });
    }
    return new Exchange({
      request,
      open: this.#open,
      route: this.#options.route,
      timeoutMs: request.timeoutMs ?? this.#options.timeoutMs,
      limits: this.#limitsOf(request),
      signal,
    }).result;
  };

  #limitsOf({ responseBytes }: DeliveryRequest): ExchangeLimits {
    if (responseBytes === undefined) return this.#options;
    return { ...this.#options, readBytes: responseBytes, keptBytes: responseBytes };
  }

  close(): void {
    for (const { http, https } of [this.#agents, this.#freshAgents]) {
      http.destroy();
      https.destroy();
    }
  }

  /**
   * The needed options only. got would pass some forty, most of them undefined, which it and Node copy several
   * times: an eighth of a worker's processor time.
   */
  #nativeOptionsOf({ url, agent, method, headers, https }: Options): NativeOptions {
    const { href, protocol } = url as URL;
    const target = this.#targets.get(href);
    if (protocol === 'http:') return { method, headers, agent: agent.http, ...target } as NativeOptions;
    const { certificateAuthority: ca, certificate: cert, key } = https;
    return {
      method,
      headers,
      agent: agent.https,
      ...target,
      ...definedOf({ ca, cert, key }),
    } as NativeOptions;
  }

  readonly #open = ({ url, method, headers, body, tls }: DeliveryRequest, isFresh: boolean): Request =>
    this.#client.stream(url, {
      headers,
      body,
      ...(method === undefined ? undefined : { method }),
      ...(tls === undefined ? undefined : { https: toHttpsOptions(tls) }),
      ...(isFresh ? { agent: this.#freshAgents } : undefined),
    });
}

// Connections and TLS sessions are kept apart by all of these: Node's agents have them in the name of a pool.
function toHttpsOptions({ ca, certificate, key }: TlsMaterial) {
  return {
    ...(ca === undefined ? {} : { certificateAuthority: ca }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(key === undefined ? {} : { key }),
  };
}

function checkAndReport(onCertificate: NonNullable<GotTransportOptions['onCertificate']>) {
  return (host: string, certificate: PeerCertificate): Error | undefined => {
    const fault = checkReceiver(host, certificate);
    const { valid_from: from, valid_to: until } = certificate;
    if (!fault) onCertificate(host, { from: Date.parse(from), until: Date.parse(until) });
    return fault;
  };
}

function targetOf(url: URL): ClientRequestArgs {
  const { protocol, hostname, port, path } = urlToHttpOptions(url);
  return { protocol, hostname, port, path };
}

// An agent's own options win over undefined ones, but these are in the name of the pool.
function definedOf({ ca, cert, key }: Pick<NativeOptions, 'ca' | 'cert' | 'key'>) {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

const KEEP_ALIVE = {
  keepAlive: true,
  maxFreeSockets: IDLE_SOCKETS_PER_ORIGIN,
  timeout: IDLE_SOCKET_MS,
  scheduling: 'lifo',
} as const;

const TLS_OPTIONS = {
  minVersion: 'TLSv1.2',
  // Elliptic curves only: over finite fields, the receiver chooses the size of the numbers, and a handshake
  // with the largest blocks the process for some hundred milliseconds.
  ciphers: `${constants.defaultCipherList}:!kDHE`,
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  // Set here, so that NODE_TLS_REJECT_UNAUTHORIZED in the environment can't switch it off.
  rejectUnauthorized: true,
  checkServerIdentity: checkReceiver,
  // Otherwise a receiver could do handshake after handshake over one connection, 3.5 s of processor time in 9
  // s. Node's own `disableRenegotiation` has no effect on the client's side.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  // With a known session, the next connection costs half the handshake.
  maxCachedSessions: 1_000,
} as const;
