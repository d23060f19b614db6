import { startWritingReceiver } from './raw-receiver';
import type { ReceiverKind } from './receiver-kind';

const fault = { outcome: 'protocol_error', endedBy: 'receiver', connection: 'closed' } as const;

/** Those whose response is not HTTP, or not as it should be. */
export const malformedKinds: readonly ReceiverKind[] = [
  {
    name: 'both a length and chunks',
    start: () =>
      startWritingReceiver(
        'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      ),
    ...fault,
  },
  {
    name: 'a header of 20 kB',
    start: () => startWritingReceiver(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`),
    ...fault,
  },
  { name: 'garbage', start: () => startWritingReceiver('\0\x01\x02\r\n\r\n'), ...fault },
  { name: 'an SSH banner', start: () => startWritingReceiver('SSH-2.0-OpenSSH_9.2\r\n'), ...fault },
  { name: 'status 99', start: () => startWritingReceiver('HTTP/1.1 99 Odd\r\n\r\n'), ...fault },
  {
    name: 'status 999',
    start: () => startWritingReceiver('HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'),
    ...fault,
    status: 999,
    connection: 'kept',
  },
  {
    name: 'lines that end with a bare LF',
    start: () => startWritingReceiver('HTTP/1.1 200 OK\nContent-Length: 0\n\n'),
    ...fault,
  },
  {
    name: 'a chunk whose size is no number',
    start: () =>
      startWritingReceiver('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\npart\r\n0\r\n\r\n'),
    ...fault,
    // The status was there before.
    outcome: 'delivered',
    status: 200,
  },
];
