import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { startRawReceiver, startRespondingReceiver, startWritingReceiver } from './raw-receiver';
import type { ReceiverKind, StartedReceiver } from './receiver-kind';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const LAST_OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
const SERVER_ERROR = 'HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n';
const delivered = { outcome: 'delivered', status: 200, endedBy: 'receiver', connection: 'kept' } as const;

/** Those that are all right, if not as one would expect. */
export const unusualKinds: readonly ReceiverKind[] = [
  {
    name: '204',
    start: () => startWritingReceiver('HTTP/1.1 204 No Content\r\n\r\n'),
    ...delivered,
    status: 204,
  },
  {
    name: '200 with a small body',
    start: () => startWritingReceiver('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nthanks'),
    ...delivered,
  },
  {
    name: 'HTTP/1.0 without a length',
    start: () => startRespondingReceiver((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nthanks')),
    ...delivered,
    connection: 'closed',
  },
  { name: '1500 headers', start: () => startWritingReceiver(withHeaders(1_500)), ...delivered },
  { name: 'a gzip bomb', start: startGzipBomb, ...delivered },
  {
    name: 'responds before there is a request',
    start: startRespondingEarly,
    ...delivered,
    connection: 'closed',
  },
  {
    name: 'responds without reading the request',
    start: () => startRawReceiver((socket) => socket.once('readable', () => socket.write(LAST_OK))),
    requestBytes: 256 * 1024,
    ...delivered,
    connection: 'closed',
  },
  {
    name: 'two responses at once',
    start: () => startWritingReceiver(OK + SERVER_ERROR),
    ...delivered,
    connection: 'closed',
  },
];

function withHeaders(count: number): string {
  const lines = Array.from({ length: count }, (_, i) => `x${i}: y\r\n`);
  return `HTTP/1.1 200 OK\r\n${lines.join('')}Content-Length: 0\r\n\r\n`;
}

/** 10 MB of zeros in some 10 kB: all of it is read, as it is. */
function startGzipBomb(): Promise<StartedReceiver> {
  const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024));
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`;
  return startWritingReceiver(Buffer.concat([Buffer.from(head), bomb]));
}

function startRespondingEarly(): Promise<StartedReceiver> {
  return startRawReceiver((socket: Socket) => {
    socket.write(LAST_OK);
    socket.resume();
  });
}
