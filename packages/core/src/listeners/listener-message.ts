import { z } from 'zod';
import type { SendResult } from '../attempt/transport';
import type { EndpointId } from '../model/endpoint';
import type { ListenerAnswer } from './listener-answer';

/** A delivery that a worker has handed over, and waits for the answer to. */
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
  /** How much of the answer's body is kept. */
  readonly keptBytes: number;
}

/**
 * What processes tell each other of listeners: a worker hands over a request, the process that has the stream gives its
 * result back, and any process passes on to that one what a listener has said.
 */
export type ListenerMessage =
  | { readonly kind: 'request'; readonly request: HandedRequest }
  | { readonly kind: 'result'; readonly id: string; readonly result: SendResult }
  | {
      readonly kind: 'answers';
      readonly endpointId: EndpointId;
      readonly stream: string;
      readonly answers: readonly ListenerAnswer[];
    };

const kindSchema = z.object({ kind: z.enum(['request', 'result', 'answers']) });

export function encodeMessage(message: ListenerMessage): string {
  return JSON.stringify(message);
}

/** `undefined` for what another version has written, and this one does not know. */
export function decodeMessage(text: string): ListenerMessage | undefined {
  const message: unknown = JSON.parse(text);
  return kindSchema.safeParse(message).success ? (message as ListenerMessage) : undefined;
}
