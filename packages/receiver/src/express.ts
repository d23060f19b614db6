import type { IncomingMessage, ServerResponse } from 'node:http';
import { readRawBody } from './read-raw-body';
import { createReceive } from './receive';
import type { ReceiverOptions } from './receiver-options';
import { sendResponse } from './send-response';

export type { Handler, Handlers, HandlingOptions, ReceiverOptions } from './receiver-options';

/** A request of Express 4 and 5, or of `node:http`. Other middleware may have read its body. */
export interface ExpressRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

const REMEDY = 'register this route before app.use(express.json()), or leave its path out there';

/**
 * A handler for Express that reads the raw body itself: `app.post('/webhooks', webhooks({ secret, on: { … } }))`. Register
 * it before `app.use(express.json())`. A body that `express.raw()` has read is accepted, too.
 */
export function webhooks<Events extends object = Record<string, unknown>>(
  options: ReceiverOptions<Events>,
): (request: ExpressRequest, response: ServerResponse) => Promise<void> {
  const receive = createReceive(options);
  return async (request, response) => {
    const { body, rawBody } = request;
    const result = await receive({
      headers: request.headers,
      readBody: (maxBytes) =>
        readRawBody({ stream: request, taken: [rawBody, body], remedy: REMEDY }, maxBytes),
    });
    sendResponse(response, result);
  };
}
