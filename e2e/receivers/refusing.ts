import { startWritingReceiver } from './raw-receiver';
import type { ReceiverKind } from './receiver-kind';

const RETRY_AFTERS = ['3', 'Wed, 21 Oct 2065 07:28:00 GMT', '99999999999999999999', '-5'];

/** Those that say no. */
export const refusingKinds: readonly ReceiverKind[] = [
  { name: '410', start: () => startWritingReceiver(answer(410)), ...refused(410) },
  ...[429, 503, 500].flatMap((status) =>
    RETRY_AFTERS.map((retryAfter) => ({
      name: `${status} with Retry-After: ${retryAfter}`,
      start: () => startWritingReceiver(answer(status, `Retry-After: ${retryAfter}\r\n`)),
      retryAfter,
      ...refused(status),
    })),
  ),
];

function answer(status: number, headers = ''): string {
  return `HTTP/1.1 ${status} No\r\n${headers}Content-Length: 0\r\n\r\n`;
}

function refused(status: number) {
  const outcome = status < 500 ? 'http_4xx' : 'http_5xx';
  return { outcome, status, endedBy: 'receiver', connection: 'kept' } as const;
}
