import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';

export interface LocalServer {
  readonly port: number;
  /** How many connections were opened to it so far. */
  connectionCount(): number;
  /** Ends all its connections too. */
  close(): Promise<void>;
}

/** A receiver on this machine that speaks HTTP. */
export function startHttpServer(listener: RequestListener, host?: string): Promise<LocalServer> {
  return listen(createHttpServer(listener), host);
}

/** A server on this machine that speaks as `onConnection` does, or not at all. */
export function startTcpServer(onConnection: (socket: Socket) => void): Promise<LocalServer> {
  return listen(createTcpServer(onConnection));
}

// Below the system's own range of ports. There, another server on any port, or an outgoing connection, would
// take the port while its server is down, and a client that keeps connecting to it would in the end meet
// itself. --
const FIRST_PORT = 20_000;
const PORTS = 12_000;

/** A port without a server, which stays so: for a server that is started, killed and started again. */
export async function findClosedPort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (await canListen(port)) return port;
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = createTcpServer();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Lets a server of whatever kind listen on a free port. */
export async function listen(server: Server, host = '127.0.0.1'): Promise<LocalServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    // Many tests have a client that goes away in the middle.
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connectionCount: () => connections,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
