import { waitFor, withDeadline } from './deadline';
import type { CheckedOptions } from './options';
import { readProblem, unexpectedResponse } from './read-response';
import { isWorthRetrying, retryDelayMs } from './retry-policy';

export interface Sending {
  /** Whether it does no harm to send it again when the result is unknown. */
  readonly isRepeatable: boolean;
  /** Whether the caller reads the body of a 2xx response. */
  readonly isStream: boolean;
}

type SendOptions = Pick<CheckedOptions, 'fetch' | 'retries' | 'timeoutMs' | 'onRetry'>;

/**
 * Sends a request until the response is a 2xx, or no retry is left or useful.
 *
 * @throws WebhooksApiError, WebhooksConnectionError those of the last attempt
 */
export async function send(request: Request, sending: Sending, options: SendOptions): Promise<Response> {
  const { method } = request;
  const path = new URL(request.url).pathname;
  const body = (await request.text()) || undefined;
  for (let retry = 1; ; retry += 1) {
    try {
      return await sendOnce(request, body, sending.isStream, options);
    } catch (error) {
      if (retry > options.retries || !isWorthRetrying(error, sending.isRepeatable)) throw error;
      const delayMs = retryDelayMs(error, retry, Math.random());
      options.onRetry({ method, path, retry, delayMs, error: error as Error });
      await waitFor(delayMs, { request: `${method} ${path}`, signal: request.signal });
    }
  }
}

async function sendOnce(
  request: Request,
  body: string | undefined,
  isStream: boolean,
  { fetch, timeoutMs }: SendOptions,
): Promise<Response> {
  const name = `${request.method} ${new URL(request.url).pathname}`;
  const { response, text } = await withDeadline(
    { request: name, timeoutMs, signal: request.signal },
    async (signal) => {
      const received = await fetch(repeatOf(request, body, signal));
      // The body is part of the attempt: a connection may break in the middle of it.
      return { response: received, text: isStream && received.ok ? undefined : await received.text() };
    },
  );
  // Browsers say nothing else about a redirect.
  if (response.status === 0) throw unexpectedResponse(name, response);
  if (text === undefined) return response;
  const { status, headers } = response;
  if (!response.ok) throw readProblem(name, { status, headers, text });
  return new Response(text === '' ? null : text, { status, headers });
}

/** A request can be sent once; this one has the same content. Redirects are not followed: the key is for this service alone. */
function repeatOf(request: Request, body: string | undefined, signal: AbortSignal): Request {
  return new Request(request, { ...(body === undefined ? {} : { body }), signal, redirect: 'manual' });
}
