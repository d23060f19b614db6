import { entryOf } from '../accounts/audit/redis-recorded-change';
import type { AccountId } from '../domain/account';
import type { Act, AuditEntry } from '../domain/audit';
import type { DeliveryParts } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import { type EventHead, type EventId, eventNotFound } from '../domain/event';
import type { Emit } from '../domain/signal';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { CACHED_FOR_MS, type EventStore } from '../events/redis-event-store';
import type { MovedStore } from '../events/redis-moved';
import type { MovedIds } from '../events/redis-moved-ids';
import type { PgDatabase } from '../history/database/pg-database';
import { erasePayload } from '../history/database/pg-erase';
import { AppError } from '../platform/app-error';
import { chunksOf } from '../platform/batches';
import type { Clock } from '../platform/clock';
import type { ScheduledEvents } from '../publish/scheduled-events';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { EventQueue } from '../queue/bullmq-event-queue';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';

export interface PayloadErasureParts {
  readonly endpointStore: EndpointStore;
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  readonly eventQueue: EventQueue;
  readonly deliveryQueue: DeliveryQueue;
  readonly heldDeliveries: HeldDeliveries;
  readonly scheduledEvents: ScheduledEvents;
  /** Absent, as the two below: there is no history. */
  readonly historyDatabase?: PgDatabase | undefined;
  readonly movedIds?: MovedIds | undefined;
  readonly movedStore?: MovedStore | undefined;
  readonly wait: (ms: number) => Promise<unknown>;
  readonly clock: Clock;
  readonly emit: Emit;
}

// Twice as long as any process may use a body that it has in memory, so that it does not hang on how timers
// round.
const UNTIL_FORGOTTEN_MS = 2 * CACHED_FOR_MS;
// In groups, so that an event with thousands of endpoints does not fill the memory.
const ERASED_AT_ONCE = 250;

/** Erases the payloads of events. */
export class PayloadErasure {
  constructor(private readonly parts: PayloadErasureParts) {}

  /**
   * Erase an event's payload for good: in its record, on the queue, and in the responses of its receivers. Once
   * the promise has resolved no new attempt sends it. Pending deliveries are cancelled when their time comes; at once
   * where others may wait behind them in an order.
   * Repeating it is harmless, and does what an interrupted call has not.
   *
   * Responses come last: by then every delivery that began with the payload is registered, and one that is
   * still under way finds its log marked.
   *
   * Then the history. What a mover has read before is committed before that, and erased with the rest; or the mover finds out
   * when it begins to write, and leaves it in Redis, where it is erased.
   *
   * @throws AppError `not_found`, also for another account's event; `history_unavailable` when the history may
   *   have some of it still.
   */
  async erase(accountId: AccountId, id: EventId, act?: Act): Promise<void> {
    const { eventQueue, wait, clock, emit } = this.parts;
    await cancelIfWaiting(this.parts, accountId, id);
    const erasedAt = clock();
    // Look here first: an event that leaves the queue meanwhile is stored by then.
    const queued = await eventQueue.find(accountId, id);
    const isRecent = await eraseRecent(this.parts, accountId, id, erasedAt, queued, act);
    // Payloads that only the history has are recorded there, without a script of Redis.
    const entry = act && !isRecent ? entryOf({ act, accountId, targetId: id }) : undefined;
    const hasMoved = await eraseMoved(this.parts, accountId, id, erasedAt, entry);
    if (!isRecent && !hasMoved) throw eventNotFound();
    if (entry) act?.onRecorded?.(entry);
    if (!isRecent) {
      // It may just have been read in the history, to be sent again.
      await wait(UNTIL_FORGOTTEN_MS);
      await eraseRecent(this.parts, accountId, id, erasedAt);
    }
    emit({ name: 'event.payload_erased', accountId, eventId: id });
  }
}

// Without its payload there is nothing to wait for.
async function cancelIfWaiting(parts: PayloadErasureParts, accountId: AccountId, id: EventId): Promise<void> {
  try {
    await parts.scheduledEvents.cancel(accountId, id);
  } catch (error) {
    const isDone = error instanceof AppError && ['not_found', 'already_due'].includes(error.code);
    if (!isDone) throw error;
  }
}

/** Erase what Redis has. Gives whether there is such an event. */
async function eraseRecent(
  parts: PayloadErasureParts,
  accountId: AccountId,
  id: EventId,
  erasedAt: number,
  queued?: EventHead,
  act?: Act,
): Promise<boolean> {
  const { eventStore, eventQueue, wait } = parts;
  if (!(await eventStore.erasePayload(accountId, id, erasedAt, queued, act))) return false;
  if (queued) await eventQueue.empty(accountId, id, queued);
  await wait(UNTIL_FORGOTTEN_MS);
  await eraseResponses(parts, accountId, id, erasedAt);
  return true;
}

/** Erase what the history has, and what lapses in Redis. Gives whether the history has such an event. */
async function eraseMoved(
  { historyDatabase, movedIds, movedStore, eventStore, deliveryStore }: PayloadErasureParts,
  accountId: AccountId,
  id: EventId,
  erasedAt: number,
  entry?: AuditEntry,
): Promise<boolean> {
  await movedIds?.eraseDigest(accountId, id);
  await movedStore?.noteErasure();
  if (historyDatabase === undefined) return false;
  const erased = await erasePayload(historyDatabase, accountId, id, erasedAt, entry);
  if (!erased) return false;
  // Once more: it may just have been read in the history, to be sent again.
  await eventStore.erasePayload(accountId, id, erasedAt);
  // Those that lapse are not among its receivers any more.
  for (const some of chunksOf(erased.endpointIds, ERASED_AT_ONCE)) {
    const deliveries = some.map((endpointId) => ({ endpointId, eventId: id }));
    const logs = await deliveryStore.readLogs(deliveries);
    const left = deliveries.filter((_delivery, i) => logs[i] !== '');
    await Promise.all(
      left.map((delivery) => deliveryStore.eraseAnswersOf(delivery, erasedAt, { mayHaveMoved: true })),
    );
  }
  return true;
}

async function eraseResponses(
  parts: PayloadErasureParts,
  accountId: AccountId,
  eventId: EventId,
  erasedAt: number,
): Promise<void> {
  const { eventStore } = parts;
  let before: EndpointId | undefined;
  do {
    const page = await eventStore.listReceivers(accountId, eventId, ERASED_AT_ONCE, before);
    const deliveries = page.members.map((endpointId) => ({ endpointId, eventId }));
    await Promise.all(deliveries.map((delivery) => eraseResponsesOf(parts, delivery, erasedAt)));
    await endInOrder(parts, accountId, eventId, page.members);
    before = page.nextCursor;
  } while (before !== undefined);
}

// One that has a job has not moved, even if it is in no list any more and has no log yet: its attempt may be under way.
async function eraseResponsesOf(
  { deliveryStore, deliveryQueue, historyDatabase }: PayloadErasureParts,
  delivery: DeliveryParts,
  erasedAt: number,
): Promise<void> {
  const mayHaveMoved =
    historyDatabase !== undefined && (await deliveryQueue.requestOf(delivery)) === 'no_job';
  await deliveryStore.eraseAnswersOf(delivery, erasedAt, { mayHaveMoved });
}

// One that is held is released when it may go, and ends then.
async function endInOrder(
  { endpointStore, heldDeliveries, deliveryQueue }: PayloadErasureParts,
  accountId: AccountId,
  eventId: EventId,
  endpointIds: readonly EndpointId[],
): Promise<void> {
  const endpoints = await endpointStore.findAll(accountId, endpointIds);
  const ordered = endpoints.filter(({ ordering }) => ordering !== 'none');
  await Promise.all(
    ordered.map(async ({ id: endpointId }) => {
      if (await heldDeliveries.isHeld(endpointId, eventId)) return;
      await deliveryQueue.promote(endpointId, [eventId]);
    }),
  );
}
