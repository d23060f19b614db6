import { BodyTooLong } from './body-too-long';
import { joinBytes } from './join-bytes';
import { createReceive } from './receive';
import type { ReceiverOptions } from './receiver-options';
import { WebhookVerificationError } from './verification-error';

export type { Handler, Handlers, HandlingOptions, ReceiverOptions } from './receiver-options';

/**
 * A function from `Request` to `Response`, for everything with fetch's types: a route handler of Next.js
 * (`export const POST = webhooks({ … })`), Hono (`(c) => receive(c.req.raw)`), Deno, Bun, Workers.
 */
export function webhooks<Events extends object = Record<string, unknown>>(
  options: ReceiverOptions<Events>,
): (request: Request) => Promise<Response> {
  const receive = createReceive(options);
  return async (request) => {
    const { headers } = request;
    const response = await receive({ headers, readBody: (maxBytes) => readBody(request, maxBytes) });
    return new Response(response.text === '' ? null : response.text, {
      status: response.status,
      headers: response.headers,
    });
  };
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.bodyUsed) {
    throw new WebhookVerificationError(
      'body_already_parsed',
      'The body was read before its signature could be checked: pass the request before request.json() or request.text().',
    );
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) break;
    length += chunk.value.length;
    if (length > maxBytes) {
      await reader?.cancel();
      throw new BodyTooLong(maxBytes);
    }
    chunks.push(chunk.value);
  }
  return joinBytes(chunks);
}
