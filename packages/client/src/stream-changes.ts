import type { AnyInit } from './call';
import { waitFor } from './deadline';
import type { CheckedOptions } from './options';
import { endedEarly, readEvents } from './read-events';
import { isWorthRetrying, retryDelayMs } from './retry-policy';
import type { components, paths } from './schema';

export type StreamedChange = components['schemas']['StreamedChange'];
export type ChangesQuery = Omit<
  NonNullable<paths['/v1/stream']['get']['parameters']['query']>,
  'max_seconds'
>;
/** The changes. `ready`: no later change is missing. `reset`: changes are missing. */
export type Change = Exclude<StreamedChange, { event: 'end' }>;

export const CHANGES_PATH = '/v1/stream';

export interface ChangesOptions extends Pick<CheckedOptions, 'retries' | 'onRetry'> {
  readonly silenceMs: number;
  readonly signal: AbortSignal | undefined;
}

// When a process stops, its readers reconnect to the others, at different times.
const SPREAD_MS = 1_000;

/**
 * The changes, until the caller stops. When a connection ends, the next one continues where it was. `retries` connections
 * in a row may fail without an event between them.
 *
 * @param open resolves with a 2xx response whose body is not yet read
 * @throws WebhooksApiError, WebhooksConnectionError
 */
export async function* streamChanges(
  open: (init: AnyInit) => Promise<Response>,
  query: ChangesQuery,
  { silenceMs, retries, onRetry, signal = new AbortController().signal }: ChangesOptions,
): AsyncGenerator<Change, void, undefined> {
  const deadline = { request: `GET ${CHANGES_PATH}`, timeoutMs: silenceMs, signal };
  let place = query.last_event_id;
  let breaks = 0;
  for (;;) {
    const last = place === undefined ? {} : { last_event_id: place };
    try {
      const response = await open({ params: { query: { ...query, ...last } }, signal });
      let hasEnded = false;
      for await (const read of readEvents(response, deadline)) {
        const change = read as StreamedChange;
        breaks = 0;
        hasEnded = change.event === 'end';
        if (change.event === 'end') break;
        place = change.id;
        yield change;
      }
      if (!hasEnded) throw endedEarly(deadline);
      await waitFor(Math.random() * SPREAD_MS, deadline);
    } catch (error) {
      breaks += 1;
      if (breaks > retries || !isWorthRetrying(error, true)) throw error;
      const delayMs = retryDelayMs(error, breaks, Math.random());
      onRetry({ method: 'GET', path: CHANGES_PATH, retry: breaks, delayMs, error: error as Error });
      await waitFor(delayMs, deadline);
    }
  }
}
