import type { RawBody } from './body';
import { BodyTooLong } from './body-too-long';
import type { WebhookEvent } from './event';
import { handleEach } from './handle-each';
import { handleOnce } from './handle-once';
import type { RequestHeaders } from './headers';
import type { ReceiverOptions } from './receiver-options';
import { ReceiverResponse } from './responses';
import { WebhookVerificationError } from './verification-error';
import { verifyEvents } from './verify';

// The longest event is 256 KiB unless the operator of the service allows more, which may be up to 10 MiB.
export const DEFAULT_MAX_BYTES = 1_310_720;

/** A request, for all adapters. */
export interface IncomingWebhook {
  readonly headers: RequestHeaders;
  /** @throws BodyTooLong if the body has more than `maxBytes`. */
  readonly readBody: (maxBytes: number) => RawBody | Promise<RawBody>;
}

/** Makes the function that responds to requests: it verifies a request, responds to a challenge or calls the handler, and never throws. */
export function createReceive<Events extends object>(
  options: ReceiverOptions<Events>,
): (webhook: IncomingWebhook) => Promise<ReceiverResponse> {
  const { maxBytes = DEFAULT_MAX_BYTES, onError = writeToConsole } = options;
  return async ({ headers, readBody }) => {
    try {
      const request = await verifyEvents({ ...options, headers, body: await readBody(maxBytes) });
      const once = { ...options, onError };
      const handle = (event: WebhookEvent) => handleOnce(event, () => callHandler(event, options), once);
      const [event] = request.events;
      if (request.isBatch || event === undefined) {
        const refuse = (error: unknown) => (onError(error), responseTo(error));
        return await handleEach(request.events, (each) => handle(each).catch(refuse), options);
      }
      const challenge = challengeOf(event);
      return challenge === undefined ? await handle(event) : proof(challenge);
    } catch (error) {
      onError(error);
      return responseTo(error);
    }
  };
}

/** The response to a challenge, which the service wants before it sends events. Its signature was verified before. */
function challengeOf({ type, data }: WebhookEvent): string | undefined {
  if (type !== 'webhook.verification' || typeof data !== 'object' || data === null) return undefined;
  return 'challenge' in data && typeof data.challenge === 'string' ? data.challenge : undefined;
}

function proof(challenge: string): ReceiverResponse {
  return new ReceiverResponse(200, { 'content-type': 'application/json' }, JSON.stringify({ challenge }));
}

async function callHandler<Events extends object>(
  event: WebhookEvent,
  { on, otherwise }: ReceiverOptions<Events>,
): Promise<ReceiverResponse> {
  const handlers: Readonly<Record<string, unknown>> = on;
  // Its own ones: a type may be called "constructor".
  const handler = Object.hasOwn(handlers, event.type) ? handlers[event.type] : otherwise;
  const result: unknown = typeof handler === 'function' ? await handler(event) : undefined;
  return result instanceof ReceiverResponse ? result : new ReceiverResponse(204);
}

function responseTo(error: unknown): ReceiverResponse {
  if (error instanceof WebhookVerificationError) {
    return new ReceiverResponse(
      error.isConfigurationError ? 500 : 401,
      {},
      `${error.code}: ${error.message}\n`,
    );
  }
  // The rest of a body that is too long is not read, so nothing else can come over this connection.
  if (error instanceof BodyTooLong)
    return new ReceiverResponse(413, { connection: 'close' }, `${error.message}\n`);
  return new ReceiverResponse(
    500,
    {},
    'The webhook could not be handled: the log of the receiver says why.\n',
  );
}

function writeToConsole(error: unknown): void {
  // Anybody can send requests that can't be verified, so they get one line in the log.
  const isRefused = error instanceof WebhookVerificationError;
  console.error('Webhook not handled:', isRefused ? `${error.code}: ${error.message}` : error);
}
