import type { AccountId } from '@hookferry/core/domain/account';
import type { EventId, StoredEvent } from '@hookferry/core/domain/event';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { testRetention } from '@hookferry/core/testing/test-retention';
import type { TestApi } from './start-test-api';

const ALWAYS = { since: 0, until: Number.MAX_SAFE_INTEGER };
// More than a request may bring.
const MOST = 1_000;

/** An account's events as they are stored, and as a worker will send them, the oldest first. */
export async function readAcceptedEvents({ redis }: TestApi, accountId: AccountId): Promise<StoredEvent[]> {
  const eventStore = new EventStore(redis.client, testRetention);
  const marks = await eventStore.listFrom(accountId, ALWAYS, MOST);
  const events = await Promise.all(marks.map(({ id }) => eventStore.find(accountId, id as EventId)));
  return events.filter((event) => event !== undefined);
}
