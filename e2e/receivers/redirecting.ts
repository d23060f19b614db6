import { startWritingReceiver } from './raw-receiver';
import type { ReceiverKind } from './receiver-kind';

const METADATA_SERVICE = 'http://169.254.169.254/latest/meta-data/';

/** Those that send us elsewhere. Were they followed, the outcome would be `blocked_address`. */
export const redirectingKinds: readonly ReceiverKind[] = [301, 302, 303, 304, 307, 308].map((status) => ({
  name: `${status} to the metadata service`,
  start: () =>
    startWritingReceiver(
      `HTTP/1.1 ${status} Elsewhere\r\nLocation: ${METADATA_SERVICE}\r\nContent-Length: 0\r\n\r\n`,
    ),
  outcome: 'http_3xx',
  status,
  endedBy: 'receiver',
  connection: 'kept',
}));
