import type { AnyInit } from './call';
import { readJsonLines } from './read-json-lines';
import type { components, paths } from './schema';

export type ListenerLine = components['schemas']['ListenerLine'];
export type ListenerQuery = NonNullable<paths['/v1/listeners/{id}/stream']['get']['parameters']['query']>;

export const STREAM_PATH = '/v1/listeners/{id}/stream';

export interface StreamOptions {
  readonly silenceMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * The messages to a listener, until either side ends it. It connects once. The caller reconnects, and responds to the deliveries
 * that it got before.
 *
 * @param open resolves with a 2xx response whose body is not yet read
 * @throws WebhooksApiError, WebhooksConnectionError
 */
export async function* streamListener(
  open: (init: AnyInit) => Promise<Response>,
  id: string,
  query: ListenerQuery,
  { silenceMs, signal = new AbortController().signal }: StreamOptions,
): AsyncGenerator<ListenerLine, void, undefined> {
  const response = await open({ params: { path: { id }, query }, signal });
  yield* readJsonLines<ListenerLine>(response, {
    request: `GET ${STREAM_PATH}`,
    timeoutMs: silenceMs,
    signal,
  });
}
