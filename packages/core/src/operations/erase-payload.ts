import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { type EventId, eventNotFound } from '../domain/event';
import type { Emit } from '../domain/signal';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { CACHED_FOR_MS, type EventStore } from '../events/redis-event-store';
import type { Clock } from '../platform/clock';
import type { EventQueue } from '../queue/bullmq-event-queue';

export interface ErasePayloadContext {
  readonly eventStore: Pick<EventStore, 'erasePayload' | 'listReceivers'>;
  readonly deliveryStore: Pick<DeliveryStore, 'eraseAnswersOf'>;
  readonly eventQueue: Pick<EventQueue, 'find' | 'empty'>;
  readonly wait: (ms: number) => Promise<unknown>;
  readonly clock: Clock;
  readonly emit: Emit;
}

// Twice as long as any process may use a body that it has in memory, so that it does not hang on how timers
// round.
const UNTIL_FORGOTTEN_MS = 2 * CACHED_FOR_MS;
// In groups, so that an event with thousands of endpoints does not fill the memory.
const ERASED_AT_ONCE = 250;

/**
 * Erase an event's payload for good: in its record, on the queue, and in the responses of its receivers. Once
 * the promise has resolved no new attempt sends it. Pending deliveries are cancelled when their time comes.
 * Repeating it is harmless, and does what an interrupted call has not.
 *
 * Responses come last: by then every delivery that began with the payload is registered, and one that is
 * still under way finds its log marked.
 *
 * @throws AppError `not_found`, also for another account's event.
 */
export async function erasePayload(
  context: ErasePayloadContext,
  accountId: AccountId,
  id: EventId,
): Promise<void> {
  const { eventStore, eventQueue, wait, clock, emit } = context;
  const erasedAt = clock();
  // Look here first: an event that leaves the queue meanwhile is stored by then.
  const queued = await eventQueue.find(accountId, id);
  if (!(await eventStore.erasePayload(accountId, id, erasedAt, queued))) throw eventNotFound();
  if (queued) await eventQueue.empty(accountId, id, queued);
  await wait(UNTIL_FORGOTTEN_MS);
  await eraseAnswers(context, accountId, id, erasedAt);
  emit({ name: 'event.payload_erased', accountId, eventId: id });
}

async function eraseAnswers(
  { eventStore, deliveryStore }: ErasePayloadContext,
  accountId: AccountId,
  eventId: EventId,
  erasedAt: number,
): Promise<void> {
  let before: EndpointId | undefined;
  do {
    const page = await eventStore.listReceivers(accountId, eventId, ERASED_AT_ONCE, before);
    const deliveries = page.members.map((endpointId) => ({ endpointId, eventId }));
    await Promise.all(deliveries.map((delivery) => deliveryStore.eraseAnswersOf(delivery, erasedAt)));
    before = page.nextCursor;
  } while (before !== undefined);
}
