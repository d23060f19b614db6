import type { SentResult } from '../attempt/transport';
import type { AttemptTimings } from '../model/attempt';
import { keptHeaders } from '../model/kept-headers';

/** What can go wrong between a listener and the address that it forwards to. */
export const forwardFailures = [
  'dns_error',
  'connect_refused',
  'connect_timeout',
  'connection_reset',
  'tls_error',
  'response_timeout',
  'protocol_error',
  'network_error',
] as const;

interface OfExchange {
  /** Which delivery it is about, as the stream has named it. */
  readonly exchange: string;
  readonly timings: AttemptTimings;
}

/** What a listener says of a delivery that was handed over to it. */
export type ListenerAnswer =
  | (OfExchange & {
      readonly kind: 'answered';
      readonly status: number;
      /** Names are in lower case. */
      readonly headers: Readonly<Record<string, string>>;
      /** The beginning of the response's body, or all of it, in Base64. */
      readonly body: string;
    })
  | (OfExchange & {
      readonly kind: 'failed';
      readonly reason: (typeof forwardFailures)[number];
      readonly error: string;
    });

const MAX_ERROR_LENGTH = 500;

/** The same as what comes of a request that a worker sends by itself. */
export function resultOf(answer: ListenerAnswer, keptBytes: number): SentResult {
  const { timings } = answer;
  if (answer.kind === 'failed') {
    const { reason, error } = answer;
    return { kind: 'failed', reason, error: error.slice(0, MAX_ERROR_LENGTH), timings };
  }
  const { status, headers, body } = answer;
  const kept = keptHeaders(headers);
  return {
    kind: 'answered',
    status,
    retryAfter: headers['retry-after'],
    wish: headers['webhook-delivery'],
    ...(kept === undefined ? {} : { headers: kept }),
    body: Buffer.from(body, 'base64').subarray(0, keptBytes).toString('utf8'),
    timings,
  };
}
