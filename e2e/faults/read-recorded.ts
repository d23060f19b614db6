import { setTimeout as wait } from 'node:timers/promises';
import type { ApiClient } from '../support/api-client';
import { askPatiently } from './ask-patiently';
import { isUnended } from './checks/check-record';
import type { RecordedDelivery } from './ledger';

const READ_EVERY_MS = 1_000;

interface Page {
  readonly data: readonly {
    readonly event_id: string;
    readonly status: string;
    readonly attempt_count: number;
  }[];
  readonly next_cursor?: string | null;
}

/** All deliveries to an endpoint, as the API lists them. */
export async function readRecorded(
  client: ApiClient,
  endpoint: string,
  webhookId: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly RecordedDelivery[]> {
  const recorded: RecordedDelivery[] = [];
  let cursor: string | null | undefined;
  do {
    const page = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const path = `/v1/webhooks/${webhookId}/deliveries?limit=200${page}`;
    const { body } = await askPatiently<Page>(client, 200, 'GET', path, undefined, headers);
    for (const { event_id, status, attempt_count } of body.data) {
      recorded.push({ endpoint, eventId: event_id, status, attemptCount: attempt_count });
    }
    cursor = body.next_cursor;
  } while (cursor);
  return recorded;
}

/**
 * Reads until every delivery has an end, at most for so long. What a receiver accepted just when its worker died is owed no
 * more, and may wait behind its endpoint's rate limit to be sent once more, with no job in any queue.
 */
export async function readEnded(
  read: () => Promise<readonly RecordedDelivery[]>,
  forMs: number,
): Promise<readonly RecordedDelivery[]> {
  const until = Date.now() + forMs;
  for (;;) {
    const recorded = await read();
    if (!recorded.some(isUnended) || Date.now() > until) return recorded;
    await wait(READ_EVERY_MS);
  }
}
