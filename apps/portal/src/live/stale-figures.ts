import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { queryKeys } from '../api/query-keys';
import type { DeliveryChange } from './live-message';

const READ_EVERY_MS = 1_000;
const LISTED_WEBHOOKS = ['webhooks', 'listed'] as const;

/**
 * Counts of deliveries: the health of webhooks, the results of an event. Those on the page are read again, once a second at
 * most, however many deliveries change.
 */
export class StaleFigures {
  readonly #queries: QueryClient;
  #changed = new Set<string>();
  /** Was read once. The service writes down how an attempt went up to a second after it, so it is read once more. */
  #settling = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isStopped = false;

  constructor(queries: QueryClient) {
    this.#queries = queries;
  }

  note({ webhook_id: webhookId, event_id: eventId }: DeliveryChange): void {
    const keys = [LISTED_WEBHOOKS, queryKeys.webhook(webhookId), queryKeys.event(eventId)];
    for (const key of keys) this.#changed.add(nameOf(key));
    this.#readLater();
  }

  /** No request is made any more. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #readLater(): void {
    const hasStale = this.#changed.size > 0 || this.#settling.size > 0;
    if (!hasStale || this.#isReading || this.#isStopped) return;
    this.#timer ??= setTimeout(() => void this.#read(), READ_EVERY_MS);
  }

  async #read(): Promise<void> {
    this.#timer = undefined;
    const stale = new Set([...this.#settling, ...this.#changed]);
    [this.#settling, this.#changed] = [this.#changed, new Set()];
    this.#isReading = true;
    // To its end: a slow response would be given up for the next question, and none would ever be there.
    await this.#queries.invalidateQueries({ predicate: ({ queryKey }) => stale.has(nameOf(queryKey)) });
    this.#isReading = false;
    this.#readLater();
  }
}

/** A list of webhooks by its kind alone, whatever is looked for in it. */
function nameOf(key: QueryKey): string {
  return key.slice(0, 2).join(' ');
}
