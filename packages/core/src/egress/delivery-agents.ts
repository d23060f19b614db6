import { type ClientRequest, Agent as HttpAgent, type AgentOptions as HttpAgentOptions } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { IdleSockets } from './idle-sockets';
import type { Connected, ConnectOptions, OnConnection, Route } from './route';

/**
 * An agent whose connections go by a route. One that is kept alive stays with the peer that was judged when it was
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
    return this.route(
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

/** The same with TLS, over what the route gives. */
export class DeliveryHttpsAgent extends HttpsAgent {
  constructor(
    private readonly route: Route,
    private readonly idleSockets: IdleSockets,
    options: HttpsAgentOptions,
  ) {
    super(options);
  }

  override createConnection(options: ConnectOptions, onConnection?: OnConnection): Connected {
    return this.route(options, onConnection, (given) => super.createConnection(given, onConnection));
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return keep(socket, super.keepSocketAlive(socket), this.idleSockets);
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.idleSockets.remove(socket);
    super.reuseSocket(socket, request);
  }
}

/** @param verdict Node's own, a boolean, whatever its types say: the receiver may have said that it will close soon. */
function keep(socket: Duplex, verdict: unknown, idleSockets: IdleSockets): boolean {
  if (verdict !== true) return false;
  idleSockets.add(socket);
  return true;
}
