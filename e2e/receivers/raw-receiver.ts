import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { StartedReceiver } from './receiver-kind';

// A thousand connect at once: with Node's own 511 some would wait a second for their second try.
const BACKLOG = 4_096;

/** A receiver that does what `onConnection` says with each connection. */
export function startRawReceiver(onConnection: (socket: Socket) => unknown): Promise<StartedReceiver> {
  // The receiver's end stays open until it ends it itself, as a careless program's would.
  return listen(createServer({ allowHalfOpen: true }, onConnection), 'http');
}

/** A receiver that does what `onRequest` says once the first bytes of a request are there. */
export function startRespondingReceiver(onRequest: (socket: Socket) => unknown): Promise<StartedReceiver> {
  return startRawReceiver((socket) => socket.on('data', () => onRequest(socket)));
}

/** A receiver that responds to each request with these bytes. */
export function startWritingReceiver(response: string | Buffer): Promise<StartedReceiver> {
  return startRespondingReceiver((socket) => socket.write(response));
}

export async function listen(server: Server, scheme: 'http' | 'https'): Promise<StartedReceiver> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    // That the other side goes away in the middle is the point.
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.end());
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: BACKLOG });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${scheme}://127.0.0.1:${port}/hook`,
    connectionCount: () => connections,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
