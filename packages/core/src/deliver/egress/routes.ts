import {
  type ClientRequest,
  type ClientRequestArgs,
  Agent as HttpAgent,
  type AgentOptions as HttpAgentOptions,
  request as requestHttp,
} from 'node:http';
import {
  Agent as HttpsAgent,
  type AgentOptions as HttpsAgentOptions,
  request as requestHttps,
} from 'node:https';
import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { callbackify } from 'node:util';
import { startPatience } from '../../platform/timers';
import { type CheckTargetParts, checkTarget } from './address-policy';
import type { EgressProxy } from './egress-settings';
import { type ResolvedAddress, type ResolveName, UnresolvedNameError } from './resolve-name';

export type Connected = Duplex | null | undefined;
export type OnConnection = (error: Error | null, stream: Duplex) => void;

export interface ConnectOptions extends ClientRequestArgs {
  /** An existing connection to use. */
  readonly socket?: Duplex;
}

/** How an agent opens its connections. */
export interface Route {
  /** Give a connection at once, or later to `onConnection`. `connect` is Node's own way. */
  open(
    options: ConnectOptions,
    onConnection: OnConnection | undefined,
    connect: (options: ConnectOptions) => Connected,
  ): Connected;

  /** The receiver's address at the other end of a connection, or the last one that was tried; `undefined`: not known. */
  addressOf(connection: Duplex): string | undefined;
}

/**
 * An agent that connects by a route. A kept-alive connection stays with the peer that was checked when it was
 * opened.
 */
export class DeliveryHttpAgent extends HttpAgent {
  constructor(
    private readonly route: Route,
    private readonly idleSockets: IdleSockets,
    options: HttpAgentOptions,
  ) {
    super(options);
  }

  override createConnection(options: ConnectOptions, onConnection?: OnConnection): Connected {
    return this.route.open(
      options,
      onConnection,
      (given) => given.socket ?? super.createConnection(given, onConnection),
    );
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return keep(socket, super.keepSocketAlive(socket), this.idleSockets);
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.idleSockets.remove(socket);
    super.reuseSocket(socket, request);
  }
}

/** The same with TLS, over the route's connection. */
export class DeliveryHttpsAgent extends HttpsAgent {
  constructor(
    private readonly route: Route,
    private readonly idleSockets: IdleSockets,
    options: HttpsAgentOptions,
  ) {
    super(options);
  }

  override createConnection(options: ConnectOptions, onConnection?: OnConnection): Connected {
    return this.route.open(options, onConnection, (given) => super.createConnection(given, onConnection));
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return keep(socket, super.keepSocketAlive(socket), this.idleSockets);
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.idleSockets.remove(socket);
    super.reuseSocket(socket, request);
  }
}

/**
 * @param verdict Node's own, a boolean, whatever its types say: the receiver may have announced that it will
 *   close soon.
 */
function keep(socket: Duplex, verdict: unknown, idleSockets: IdleSockets): boolean {
  if (verdict !== true) return false;
  idleSockets.add(socket);
  return true;
}

/**
 * The kept-alive connections to all receivers that wait for their next request. When there are too many, the
 * one that has waited longest is closed.
 */
export class IdleSockets {
  /** In the order in which they became idle. */
  readonly #idle = new Set<Duplex>();
  readonly #watched = new WeakSet<Duplex>();

  constructor(private readonly max: number) {}

  add(socket: Duplex): void {
    this.#watch(socket);
    this.#idle.add(socket);
    if (this.#idle.size <= this.max) return;
    for (const longest of this.#idle) {
      this.#idle.delete(longest);
      return void longest.destroy();
    }
  }

  remove(socket: Duplex): void {
    this.#idle.delete(socket);
  }

  // Once for each connection, however often it becomes idle.
  #watch(socket: Duplex): void {
    if (this.#watched.has(socket)) return;
    this.#watched.add(socket);
    socket.once('close', () => this.#idle.delete(socket));
  }
}

export interface DirectRouteParts extends CheckTargetParts {
  readonly resolveName: ResolveName;
}

/**
 * Leads to allowed addresses only, whatever URL and DNS say. A literal address is checked before connecting, a
 * name by each of its addresses, and the peer once connected, before it gets a byte.
 */
export class DirectRoute implements Route {
  readonly #find = callbackify((name: string, family: number) => findAllowed(this.parts, name, family));
  readonly #addresses = new WeakMap<Duplex, string>();

  constructor(private readonly parts: DirectRouteParts) {}

  open(
    options: ConnectOptions,
    onConnection: OnConnection | undefined,
    connect: (options: ConnectOptions) => Connected,
  ): Connected {
    const blocked = checkLiteral(this.parts, options);
    if (blocked) return refuse(blocked, onConnection);
    const socket = connect({ ...options, lookup: this.lookup }) as Socket;
    // Only of addresses that were checked before.
    socket.on('connectionAttempt', (address: string) => this.#addresses.set(socket, address));
    // Before all other listeners of the connection: they send the request, or begin the TLS handshake.
    socket.prependOnceListener('connect', () => this.#checkPeer(socket, options.host ?? ''));
    return socket;
  }

  /** For sockets: gives a name's addresses only if every one of them may be reached. */
  readonly lookup: LookupFunction = (name, options, callback) =>
    this.#find(name, Number(options.family ?? 0), (error, addresses) => {
      const [first] = addresses ?? [];
      if (!first) callback(error, []);
      // Node asks for all of them, to try IPv6 and IPv4 side by side.
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });

  #checkPeer(socket: Socket, host: string): void {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) return void socket.destroy(new HungUpError());
    const blocked = checkTarget(this.parts, host, remoteAddress);
    if (!blocked) return void this.#addresses.set(socket, remoteAddress);
    // Clients see the records, and must not see a refused address.
    this.#addresses.delete(socket);
    socket.destroy(blocked);
  }

  addressOf(connection: Duplex): string | undefined {
    return this.#addresses.get(connection);
  }
}

/**
 * Gives at least one. A name with one allowed and one refused address is refused. They are checked each time,
 * cached or not.
 */
async function findAllowed(parts: DirectRouteParts, name: string, family: number) {
  const resolved = await parts.resolveName(name);
  for (const { address } of resolved) {
    const blocked = checkTarget(parts, name, address);
    if (blocked) throw blocked;
  }
  const wished = resolved.filter((found) => family === 0 || found.family === family);
  if (wished.length === 0) throw new UnresolvedNameError(name, 'ENODATA');
  return wished.map(toLookupAddress);
}

function toLookupAddress({ address, family }: ResolvedAddress) {
  return { address, family };
}

/** A connection that lost its peer before it could be checked. */
class HungUpError extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('The receiver hung up as soon as it was connected.');
  }
}

/**
 * Check targets without a lookup: a literal address, or a socket in the file system, which no receiver has.
 */
function checkLiteral(parts: CheckTargetParts, { socketPath, host }: ConnectOptions): Error | undefined {
  const target = socketPath ?? host ?? '';
  return socketPath === undefined && isIP(target) === 0 ? undefined : checkTarget(parts, target, target);
}

/** Not thrown: the agent may call this from a timer or an event, where nothing would catch it. */
function refuse(error: Error, onConnection: OnConnection | undefined): undefined {
  if (!onConnection) throw error;
  (onConnection as (error: Error) => void)(error);
}

export interface ProxyRouteParts extends CheckTargetParts {
  readonly proxy: EgressProxy;
  /** For the whole way to the receiver. */
  readonly connectTimeoutMs: number;
}

// The proxy is near. Less than any endpoint's own time-out: otherwise an absent proxy would look like an
// absent receiver.
const REACH_TIMEOUT_MS = 800;

/**
 * Leads through a tunnel (CONNECT) of a forward proxy, for http: too, so that a response of the proxy can't
 * be mistaken for the receiver's. A literal address is checked before; the proxy looks up names, and has to
 * check where they lead.
 */
export class ProxyRoute implements Route {
  constructor(private readonly parts: ProxyRouteParts) {}

  open(
    target: ConnectOptions,
    onConnection: OnConnection | undefined,
    connect: (options: ConnectOptions) => Connected,
  ): undefined {
    const blocked = checkLiteral(this.parts, target);
    if (blocked) return refuse(blocked, onConnection);
    void openTunnel(authorityOf(target), this.parts)
      .then((socket) => connect({ ...target, socket }))
      .then(
        (connection) => onConnection?.(null, connection as Duplex),
        (error: unknown) => refuse(error as Error, onConnection),
      );
    return undefined;
  }

  /** The other end is the proxy, which alone knows the receiver's address. */
  addressOf(): undefined {
    return undefined;
  }
}

function authorityOf({ host, port }: ConnectOptions): string {
  return `${isIPv6(host ?? '') ? `[${host}]` : host}:${port}`;
}

async function openTunnel(authority: string, { proxy, connectTimeoutMs }: ProxyRouteParts): Promise<Duplex> {
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
  // Otherwise Node would take the name in the Host header, which is the receiver's, for the proxy's.
  const servername = isIP(host) === 0 ? host : '';
  // Set here, so that NODE_TLS_REJECT_UNAUTHORIZED in the environment can't switch it off.
  const options = { host, port, servername, agent: false, rejectUnauthorized: true } as const;
  return request({ ...options, method: 'CONNECT', path: authority, headers }).end();
}

/** End the request when the proxy can't be reached in time, or does not respond in time. */
function watch(request: ClientRequest, { protocol }: EgressProxy, connectTimeoutMs: number): () => void {
  const reachMs = Math.min(REACH_TIMEOUT_MS, connectTimeoutMs / 2);
  let timer: NodeJS.Timeout | undefined;
  const keepTimer = (next: NodeJS.Timeout) => {
    timer = next;
  };
  const endBy = (error: Error) => () => void request.destroy(error);
  startPatience(
    reachMs,
    endBy(new ProxyFaultError(`The proxy could not be reached in ${reachMs} ms.`)),
    keepTimer,
  );
  request.once('socket', (socket) =>
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      startPatience(connectTimeoutMs, endBy(tunnelTimeout(connectTimeoutMs)), keepTimer);
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

// A proxy that hangs up instead of responding, or responds with anything but HTTP, is out of order as well.
function toProxyFault(error: NodeJS.ErrnoException): Error {
  if (error instanceof ProxyFaultError || error instanceof TunnelError) return error;
  return new ProxyFaultError(`The proxy could not be used (${error.code ?? error.name}).`);
}

// Statuses of a proxy that lets no request in: wrong credentials, too many requests.
const OUR_OWN_TROUBLE = [407, 429];

function refusalOf(status: number): Error | undefined {
  if (status >= 200 && status <= 299) return undefined;
  const message = `The proxy responded with ${status} instead of opening a tunnel.`;
  if (OUR_OWN_TROUBLE.includes(status)) return new ProxyFaultError(message);
  const isDenial = status >= 400 && status <= 499;
  return new TunnelError(isDenial ? 'ERR_PROXY_DENIED' : 'ERR_PROXY_CONNECT_FAILED', message);
}

// The proxy is there, so it is most likely waiting for an absent receiver.
function tunnelTimeout(connectTimeoutMs: number): TunnelError {
  return new TunnelError('ERR_PROXY_CONNECT_TIMEOUT', `No tunnel in ${connectTimeoutMs} ms.`);
}

/** The proxy is out of order, or refuses this service: through no fault of the receiver. */
class ProxyFaultError extends Error {
  override readonly name = 'ProxyFaultError';
  /** The HTTP client passes the code on, but not the class. */
  readonly code = PROXY_FAULT_CODE;
}

export const PROXY_FAULT_CODE = 'ERR_PROXY_FAULT';

/** The proxy responded, but can't reach the receiver. */
class TunnelError extends Error {
  override readonly name = 'TunnelError';

  constructor(
    /** The HTTP client passes the code on, but not the class. */
    readonly code: 'ERR_PROXY_DENIED' | 'ERR_PROXY_CONNECT_FAILED' | 'ERR_PROXY_CONNECT_TIMEOUT',
    message: string,
  ) {
    super(message);
  }
}
