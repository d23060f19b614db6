import { startWritingReceiver } from './raw-receiver';
import type { ReceiverKind } from './receiver-kind';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const delivered = { outcome: 'delivered', status: 200, endedBy: 'receiver', connection: 'kept' } as const;
const switching = { outcome: 'http_1xx', status: 101, endedBy: 'receiver', connection: 'closed' } as const;

/** Those that say something before they respond, or instead. */
export const interimKinds: readonly ReceiverKind[] = [
  {
    name: '100, then 200',
    start: () => startWritingReceiver(`HTTP/1.1 100 Continue\r\n\r\n${OK}`),
    ...delivered,
  },
  {
    name: '103, then 200',
    start: () => startWritingReceiver(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}`),
    ...delivered,
  },
  {
    name: '101 to another protocol',
    start: () =>
      startWritingReceiver('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    ...switching,
  },
  {
    name: '101 to no protocol',
    start: () => startWritingReceiver('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    ...switching,
    connection: 'kept',
  },
];
