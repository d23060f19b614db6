import { startRespondingReceiver } from './raw-receiver';
import type { ReceiverKind } from './receiver-kind';
import { drip, flood } from './write-without-end';

const OK = 'HTTP/1.1 200 OK\r\n';
export const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
export const CHUNK = Buffer.from(`10000\r\n${'x'.repeat(0x1_0000)}\r\n`);
const TEN_GIGABYTES = 10_000_000_000;
const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';

const untilDeadline = { outcome: 'response_timeout', endedBy: 'deadline', connection: 'closed' } as const;
const tooMuch = { outcome: 'protocol_error', endedBy: 'receiver', connection: 'closed' } as const;
const untilCap = { outcome: 'delivered', status: 200, endedBy: 'receiver', connection: 'closed' } as const;

/** Those that don't come to an end. */
export const endlessKinds: readonly ReceiverKind[] = [
  { name: 'a body without end, fast', start: () => start(CHUNKED, flood, CHUNK), ...untilCap },
  { name: 'a body without end, in drips', start: () => start(CHUNKED, drip, '1\r\nx\r\n'), ...untilDeadline },
  {
    name: 'a body of 10 GB',
    start: () => start(`${OK}Content-Length: ${TEN_GIGABYTES}\r\n\r\n`, flood, CHUNK),
    ...untilCap,
  },
  { name: 'headers in drips', start: () => start(`${OK}x: `, drip, 'y'), ...untilDeadline },
  { name: '103 without end, in drips', start: () => start('', drip, EARLY_HINTS), ...untilDeadline },
  {
    name: '103 without end, fast',
    start: () => start('', flood, EARLY_HINTS.repeat(100)),
    ...tooMuch,
  },
  {
    name: 'blank lines without end, fast',
    start: () => start('', flood, '\r\n'.repeat(1_000)),
    ...tooMuch,
  },
];

function start<Piece extends string | Buffer>(
  beginning: string,
  goOn: (socket: Parameters<typeof flood>[0], piece: Piece) => void,
  piece: Piece,
) {
  return startRespondingReceiver((socket) => {
    // Whatever else of the request comes is read over.
    socket.removeAllListeners('data').resume();
    if (beginning !== '') socket.write(beginning);
    goOn(socket, piece);
  });
}
