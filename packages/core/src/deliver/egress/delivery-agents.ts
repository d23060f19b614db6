import { type ClientRequest, Agent as HttpAgent, type AgentOptions as HttpAgentOptions } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Connected, ConnectOptions, OnConnection, Route } from './routes';

/**
 * An agent that connects by a route. A kept-alive connection stays with the peer that was judged when it was
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
