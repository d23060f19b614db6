import type { IncomingMessage } from 'node:http';
import { readRawBody } from './read-raw-body';
import { createReceive } from './receive';
import type { ReceiverOptions } from './receiver-options';

export type { Handler, Handlers, HandlingOptions, ReceiverOptions } from './receiver-options';

/** The used part of a context of Koa. */
export interface KoaContext {
  readonly req: IncomingMessage;
  readonly request: object;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}

const REMEDY = 'use this middleware before the body parser, or leave its path out there';

/** A middleware for Koa that reads the raw body itself, of each request that reaches it. Use it for one route only. */
export function webhooks<Events extends object = Record<string, unknown>>(
  options: ReceiverOptions<Events>,
): (context: KoaContext) => Promise<void> {
  const receive = createReceive(options);
  return async (context) => {
    const { request, req: stream } = context;
    const taken = 'body' in request ? [request.body] : [];
    const { status, headers, text } = await receive({
      headers: stream.headers,
      readBody: (maxBytes) => readRawBody({ stream, taken, remedy: REMEDY }, maxBytes),
    });
    // The body first: Koa takes an empty one for a 204.
    context.body = text;
    context.status = status;
    context.set({ ...headers });
  };
}
