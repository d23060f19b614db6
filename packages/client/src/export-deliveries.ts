import type { AnyInit } from './call';
import { waitFor } from './deadline';
import type { CheckedOptions } from './options';
import { readJsonLines } from './read-json-lines';
import { isWorthRetrying, retryDelayMs } from './retry-policy';
import type { components, paths } from './schema';

export type ExportedAttempt = components['schemas']['ExportedAttempt'];
export type ExportQuery = NonNullable<paths['/v1/deliveries/export']['get']['parameters']['query']>;

export const EXPORT_PATH = '/v1/deliveries/export';

/** The service sends an empty line every 10 s. After this long without one, the connection is dead. */
const LEAST_SILENCE_MS = 30_000;

/** How long an export may be silent. */
export const silenceMsFor = ({ timeoutMs }: Pick<CheckedOptions, 'timeoutMs'>) =>
  Math.max(timeoutMs, LEAST_SILENCE_MS);

export interface ExportOptions extends Pick<CheckedOptions, 'retries' | 'onRetry'> {
  readonly silenceMs: number;
}

/**
 * The lines of an export. After a broken connection, the next request continues after the last line. `retries` requests in
 * a row may fail without a line between them.
 *
 * @param open resolves with a 2xx response whose body is not yet read
 * @throws WebhooksApiError, WebhooksConnectionError
 */
export async function* readExport(
  open: (init: AnyInit) => Promise<Response>,
  query: ExportQuery,
  signal: AbortSignal = new AbortController().signal,
  { silenceMs, retries, onRetry }: ExportOptions,
): AsyncGenerator<ExportedAttempt, void, undefined> {
  const deadline = { request: `GET ${EXPORT_PATH}`, timeoutMs: silenceMs, signal };
  let remaining = query;
  let breaks = 0;
  while (remaining.limit !== 0) {
    const response = await open({ params: { query: remaining }, signal });
    try {
      for await (const attempt of readJsonLines<ExportedAttempt>(response, deadline)) {
        yield attempt;
        remaining = after(attempt, remaining);
        breaks = 0;
      }
      return;
    } catch (error) {
      breaks += 1;
      if (breaks > retries || !isWorthRetrying(error, true)) throw error;
      const delayMs = retryDelayMs(error, breaks, Math.random());
      onRetry({ method: 'GET', path: EXPORT_PATH, retry: breaks, delayMs, error: error as Error });
      await waitFor(delayMs, deadline);
    }
  }
}

/** The query for the rest. */
function after({ cursor }: ExportedAttempt, query: ExportQuery): ExportQuery {
  return { ...query, cursor, ...(query.limit === undefined ? {} : { limit: query.limit - 1 }) };
}
