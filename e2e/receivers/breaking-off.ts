import type { Socket } from 'node:net';
import { startRespondingReceiver } from './raw-receiver';
import type { ReceiverKind } from './receiver-kind';

const reset = { outcome: 'connection_reset', endedBy: 'receiver', connection: 'closed' } as const;
const delivered = { outcome: 'delivered', status: 200, endedBy: 'receiver', connection: 'closed' } as const;
const PART = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart';
const NO_CONTENT = 'HTTP/1.1 204 No Content\r\n\r\n';

/** Those that end the connection before its time. */
export const breakingOffKinds: readonly ReceiverKind[] = [
  { name: 'FIN before the status', start: () => startRespondingReceiver(finish), ...reset },
  { name: 'RST before the status', start: () => startRespondingReceiver(abort), ...reset },
  {
    name: 'FIN in the middle of the headers',
    start: () => start('HTTP/1.1 200 OK\r\nCont', finish),
    ...reset,
  },
  { name: 'FIN in the middle of the body', start: () => start(PART, finish), ...delivered },
  { name: 'RST in the middle of the body', start: () => start(PART, abort), ...delivered },
  { name: 'a body that stops in the middle', start: () => start(PART, () => {}), ...stalled() },
  {
    name: 'Connection: close each time',
    start: () => start('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n', finish),
    ...delivered,
    status: 204,
  },
  {
    name: 'closes a kept connection just as the next request comes',
    start: startClosingAtSecondRequest,
    ...delivered,
    status: 204,
    connection: 'stale',
  },
];

function finish(socket: Socket): void {
  socket.end();
}

function abort(socket: Socket): void {
  socket.resetAndDestroy();
}

function stalled() {
  return { outcome: 'response_timeout', endedBy: 'deadline', connection: 'closed' } as const;
}

function start(response: string, andThen: (socket: Socket) => void) {
  return startRespondingReceiver((socket) => socket.write(response, () => andThen(socket)));
}

function startClosingAtSecondRequest() {
  const responded = new WeakSet<Socket>();
  return startRespondingReceiver((socket) => {
    if (responded.has(socket)) return abort(socket);
    responded.add(socket);
    socket.write(NO_CONTENT);
  });
}
