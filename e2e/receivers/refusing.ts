import { startWritingReceiver } from './raw-receiver';
import type { ReceiverKind } from './receiver-kind';

const RETRY_AFTERS: readonly (readonly [status: number, retryAfter: string])[] = [
  [429, '3'],
  [429, 'Wed, 21 Oct 2065 07:28:00 GMT'],
  [429, '99999999999999999999'],
  [429, '-5'],
  [500, '3'],
  [503, '3'],
];

/** Those that say no. */
export const refusingKinds: readonly ReceiverKind[] = [
  { name: '410', start: () => startWritingReceiver(response(410)), ...refused(410) },
  ...RETRY_AFTERS.map(([status, retryAfter]) => ({
    name: `${status} with Retry-After: ${retryAfter}`,
    start: () => startWritingReceiver(response(status, `Retry-After: ${retryAfter}\r\n`)),
    retryAfter,
    ...refused(status),
  })),
];

function response(status: number, headers = ''): string {
  return `HTTP/1.1 ${status} No\r\n${headers}Content-Length: 0\r\n\r\n`;
}

function refused(status: number) {
  const outcome = status < 500 ? 'http_4xx' : 'http_5xx';
  return { outcome, status, endedBy: 'receiver', connection: 'kept' } as const;
}
