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

// Twice as long as any process may use a body that it has in memory, so that it does not hang on how timers round.
const UNTIL_FORGOTTEN_MS = 2 * CACHED_FOR_MS;
// So many at a time, so that an event that went to thousands of endpoints does not fill the memory.
const ERASED_AT_ONCE = 250;

/**
 * Erase an event's payload for good: where it is kept, on the queue, and in what its receivers have answered. Once the
 * promise has resolved no attempt that begins sends it; what is pending is cancelled when its time comes. Doing it again is
 * harmless, and does what broke off the first time.
 *
 * Answers come last: by then every delivery that was begun with the payload is registered, and one that is still under way
 * finds its log marked.
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
  // First: an event that leaves the queue meanwhile is stored by then.
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
