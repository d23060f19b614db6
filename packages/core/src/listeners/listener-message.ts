import { z } from 'zod';
import { type AttemptTimings, keptHeaders } from '../domain/attempt';
import type { EndpointId } from '../domain/endpoint';
import type { requestFailures } from '../domain/network-failures';
import type { SendResult, SentResult } from '../domain/transport';

/** A delivery that a worker has handed over. The worker waits for its response. */
export interface HandedRequest {
  /** Names the exchange to the worker. */
  readonly id: string;
  /** The worker's mailbox. */
  readonly replyTo: string;
  readonly endpointId: EndpointId;
  readonly stream: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  /** How much of the response's body is kept. */
  readonly keptBytes: number;
}

/** A request that was handed over to a stream, and waits there. */
export type NamedRequest = Pick<HandedRequest, 'id' | 'endpointId' | 'stream'>;

/**
 * Messages between processes about listeners. A worker hands over a request, the process with the stream
 * returns its result, and any process passes a listener's responses on to that process. Before a request begins that has
 * waited for the listener, the process asks the worker whether it still may.
 */
export type ListenerMessage =
  | { readonly kind: 'request'; readonly request: HandedRequest }
  | { readonly kind: 'result'; readonly id: string; readonly result: SendResult }
  | ({ readonly kind: 'may_begin'; readonly askedBy: string } & NamedRequest)
  | ({ readonly kind: 'permit'; readonly mayBegin: boolean } & NamedRequest)
  | {
      readonly kind: 'answers';
      readonly endpointId: EndpointId;
      readonly stream: string;
      readonly answers: readonly ListenerAnswer[];
    };

const kindSchema = z.object({ kind: z.enum(['request', 'result', 'answers', 'may_begin', 'permit']) });

export function encodeMessage(message: ListenerMessage): string {
  return JSON.stringify(message);
}

/** Gives `undefined` for a message of another version that this one does not know. */
export function decodeMessage(text: string): ListenerMessage | undefined {
  const message: unknown = JSON.parse(text);
  return kindSchema.safeParse(message).success ? (message as ListenerMessage) : undefined;
}

interface OfExchange {
  /** The delivery that it is about, as the stream has named it. */
  readonly exchange: string;
  readonly timings: AttemptTimings;
}

/** A listener's response to a delivery that was handed over to it. */
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
      /** It failed between the listener and the address that it forwards to. */
      readonly reason: (typeof requestFailures)[number];
      readonly error: string;
    });

const MAX_ERROR_LENGTH = 500;

/** The same in the form of a worker's own request. */
export function resultOf(answer: ListenerAnswer, keptBytes: number): SentResult {
  const { timings } = answer;
  if (answer.kind === 'failed') {
    const { reason, error } = answer;
    return { kind: 'failed', reason, error: error.slice(0, MAX_ERROR_LENGTH), timings };
  }
  const { status, headers, body } = answer;
  const kept = keptHeaders(headers);
  return {
    kind: 'responded',
    status,
    retryAfter: headers['retry-after'],
    wish: headers['webhook-delivery'],
    ...(kept === undefined ? {} : { headers: kept }),
    body: Buffer.from(body, 'base64').subarray(0, keptBytes).toString('utf8'),
    timings,
  };
}
