import type { UsageRecorder } from '../../accounts/account-quota';
import type { AccountId } from '../../domain/account';
import { endStatuses, readSummary } from '../../domain/delivery-log';
import { bodyOf } from '../../domain/event';
import type { MovedDelivery, MovedEvent } from '../../domain/moved-event';
import type { RecordForm } from '../../domain/record-form';
import { COUNTED_LOG_BYTES, DELIVERY_BYTES, EVENT_BYTES, type UsageKind } from '../../domain/usage';
import { encodeStored } from '../../events/event-text';
import type { DeliveryStore } from '../../events/redis-delivery-store';
import type { EndedList } from '../../events/redis-ended-list';
import type { EventStore } from '../../events/redis-event-store';
import type { MovedCounts } from '../../events/redis-moved';
import type { RehydrationStore } from '../../events/redis-rehydration';
import type { Clock } from '../../platform/clock';
import type { Atomic } from '../../platform/redis-atomic';
import type { Step } from '../../platform/redis-script';
import type { PgHistory } from '../database/pg-history';
import type { DeliveryKey } from '../history-source';

export interface RehydrationParts {
  readonly rehydrationStore: RehydrationStore;
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  readonly endedList: EndedList;
  readonly pgHistory: PgHistory;
  readonly usageRecorder: UsageRecorder;
  /** In which events are written. Default: `current`. */
  readonly recordForm?: RecordForm | undefined;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly clock: Clock;
}

/** Brings what has moved to the history back to Redis, so that it can be sent again, or to an endpoint that has not got it. */
export class Rehydration {
  constructor(private readonly parts: RehydrationParts) {}

  /**
   * Do the work that sends deliveries again, with all of them in Redis.
   *
   * @throws AppError `history_unavailable` as `bringBack` does, before the work.
   */
  async whileRehydrated<Result>(
    accountId: AccountId,
    keys: readonly DeliveryKey[],
    work: () => Promise<Result>,
  ): Promise<Result> {
    try {
      await this.bringBack(accountId, keys);
      return await work();
    } finally {
      // Otherwise they may move in a minute.
      await this.end(accountId, keys).catch(() => {});
    }
  }

  /**
   * Bring back the events, and these deliveries of them if there were any. What is in Redis stays as it is. None of
   * it moves until `end`, or for a minute if the process dies. By then it has jobs, which keep it; otherwise it
   * moves again.
   *
   * @param keys no more than some hundreds.
   * @throws AppError `history_unavailable` when some of it has moved and can't be read.
   */
  async bringBack(accountId: AccountId, keys: readonly DeliveryKey[]): Promise<void> {
    const { rehydrationStore, pgHistory, atomic } = this.parts;
    const isHere = await Promise.all(keys.map((key) => atomic([rehydrationStore.pin(accountId, key)])));
    const away = keys.filter((_key, i) => !isHere[i]?.[0]);
    if (away.length === 0) return;
    const events = await pgHistory.readForRehydration(accountId, away);
    await Promise.all(events.map((event) => returnEvent(this.parts, event)));
    await this.#eraseAgain(accountId, events);
  }

  /** The rehydrated deliveries have their jobs now, or will get none. They may move when they finish. */
  async end(accountId: AccountId, keys: readonly DeliveryKey[]): Promise<void> {
    const { rehydrationStore, atomic } = this.parts;
    await Promise.all(keys.map((key) => atomic([rehydrationStore.unpin(accountId, key)])));
  }

  // An erasure looks into Redis once more after it has erased what the history has. What it did not find there,
  // as this process was about to bring it back, is found here.
  async #eraseAgain(accountId: AccountId, events: readonly MovedEvent[]): Promise<void> {
    const { pgHistory, eventStore, deliveryStore } = this.parts;
    const whole = events.filter(({ head }) => head.erasedAt === undefined);
    if (whole.length === 0) return;
    const places = whole.map(({ id: eventId, createdAt }) => ({ eventId, createdAt }));
    const heads = await pgHistory.readHeads(accountId, places);
    await Promise.all(
      whole.map(async ({ id: eventId, deliveries }, i) => {
        const erasedAt = heads[i]?.erasedAt;
        if (erasedAt === undefined) return;
        await eventStore.erasePayload(accountId, eventId, erasedAt);
        const parts = deliveries.map(({ endpointId }) => ({ eventId, endpointId }));
        await Promise.all(
          parts.map((delivery) => deliveryStore.eraseAnswersOf(delivery, erasedAt, { mayHaveMoved: true })),
        );
      }),
    );
  }
}

// A receiver is listed when its log is there.
async function returnEvent(parts: RehydrationParts, event: MovedEvent): Promise<void> {
  const { rehydrationStore, endedList, atomic, clock } = parts;
  const { accountId, id: eventId, createdAt, deliveries } = event;
  const text = textOf(event, parts.recordForm);
  const counts = await countsOf(parts, event);
  const entries =
    deliveries.length === 0
      ? [{ accountId, eventId }]
      : deliveries.map(({ endpointId }) => ({ accountId, eventId, endpointId }));
  const steps: readonly Step[] = [
    // First: whatever becomes of this process, it moves again.
    endedList.addAll(entries, clock()),
    // An event that is in no list counts as one that is still fanned out.
    rehydrationStore.listAgain(accountId, eventId, createdAt),
    async (target) => {
      const isBack = await rehydrationStore.returnEvent({ accountId, eventId, text, counts })(target);
      if (isBack) note(parts, event, 'events', EVENT_BYTES + Buffer.byteLength(text));
    },
    ...deliveries.flatMap((delivery) => stepsFor(parts, event, delivery)),
  ];
  await atomic(steps);
}

function stepsFor(
  parts: RehydrationParts,
  event: MovedEvent,
  { endpointId, log }: MovedDelivery,
): readonly Step[] {
  const { rehydrationStore } = parts;
  const { accountId, id: eventId, createdAt } = event;
  const delivery = { eventId, endpointId };
  const { status } = readSummary(log);
  return [
    async (target) => {
      const isBack = await rehydrationStore.returnLog(delivery, log, createdAt)(target);
      const bytes = DELIVERY_BYTES + Math.max(Buffer.byteLength(log) - COUNTED_LOG_BYTES, 0);
      if (isBack) note(parts, event, 'deliveries', bytes);
    },
    async (target) => {
      if (status !== 'pending') await rehydrationStore.returnReceiver(accountId, delivery, status)(target);
    },
  ];
}

/** How many of the event's deliveries have moved: counted in Redis for as long as the event is there. */
async function countsOf(
  { pgHistory }: RehydrationParts,
  { accountId, id }: MovedEvent,
): Promise<MovedCounts> {
  const counts = await pgHistory.countDeliveries(accountId, id);
  return Object.fromEntries(
    endStatuses.flatMap((status) => (counts[status] === 0 ? [] : [[status, counts[status]]])),
  );
}

function textOf({ head, dataText, createdAt }: MovedEvent, form: RecordForm | undefined): string {
  const body = dataText === undefined ? '' : bodyOf(head.type, dataText);
  return encodeStored({ ...head, acceptedAt: createdAt }, body, form);
}

function note(
  { usageRecorder }: RehydrationParts,
  { accountId, createdAt }: MovedEvent,
  kind: UsageKind,
  bytes: number,
): void {
  usageRecorder.note(accountId, kind, bytes, createdAt);
}
