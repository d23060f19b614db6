import type { UsageRecorder } from '../../accounts/account-quota';
import type { AccountId } from '../../domain/account';
import { endStatuses, readSummary } from '../../domain/delivery-log';
import { bodyOf } from '../../domain/event';
import type { MovedDelivery, MovedEvent } from '../../domain/moved-event';
import type { RecordForm } from '../../domain/record-form';
import { COUNTED_LOG_BYTES, DELIVERY_BYTES, EVENT_BYTES, type UsageKind } from '../../domain/usage';
import { encodeStored } from '../../events/event-text';
import type { DeliveryStore } from '../../events/redis-delivery-store';
import type { EventStore } from '../../events/redis-event-store';
import type { MovedCounts } from '../../events/redis-moved';
import type { OverList } from '../../events/redis-over-list';
import type { RecalledStore } from '../../events/redis-recalled';
import type { Clock } from '../../platform/clock';
import type { Atomic } from '../../platform/redis-atomic';
import type { Step } from '../../platform/redis-script';
import type { PgHistory } from '../database/pg-history';
import type { DeliveryKey } from '../history-source';

export interface RecallContext {
  readonly recalledStore: Pick<
    RecalledStore,
    'pin' | 'unpin' | 'returnEvent' | 'returnReceiver' | 'returnLog' | 'listAgain'
  >;
  readonly eventStore: Pick<EventStore, 'erasePayload'>;
  readonly deliveryStore: Pick<DeliveryStore, 'eraseAnswersOf'>;
  readonly overList: Pick<OverList, 'addAll'>;
  readonly pgHistory: Pick<PgHistory, 'readForRecall' | 'countDeliveries' | 'readHeads'>;
  readonly usageRecorder: Pick<UsageRecorder, 'note'>;
  readonly retention: { readonly ageMs: number };
  /** In which events are written. Default: `current`. */
  readonly recordForm?: RecordForm | undefined;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly clock: Clock;
}

/**
 * Bring what has moved to the history back to Redis, so that it can be sent again, or to somebody who has not
 * got it: the events, and these deliveries of them if there were any. What is in Redis stays as it is. None of
 * it moves until `endRecall`, or for a minute if the process dies. By then it has jobs, which keep it; otherwise
 * it moves again.
 *
 * @param keys no more than some hundreds.
 * @throws AppError `history_unavailable` when some of it has moved and can't be read.
 */
export async function recall(
  context: RecallContext,
  accountId: AccountId,
  keys: readonly DeliveryKey[],
): Promise<void> {
  const { recalledStore, pgHistory, atomic } = context;
  const isHere = await Promise.all(keys.map((key) => atomic([recalledStore.pin(accountId, key)])));
  const away = keys.filter((_key, i) => !isHere[i]?.[0]);
  if (away.length === 0) return;
  const events = await pgHistory.readForRecall(accountId, away);
  await Promise.all(events.map((event) => bringBack(context, event)));
  await eraseAgain(context, accountId, events);
}

// An erasure looks into Redis once more after it has erased what the history has. What it did not find there,
// as this process was about to bring it back, is found here.
async function eraseAgain(
  { pgHistory, eventStore, deliveryStore }: RecallContext,
  accountId: AccountId,
  events: readonly MovedEvent[],
): Promise<void> {
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

/**
 * Do the work that sends deliveries again, with all of them in Redis.
 *
 * @param context absent: there is no history that they may have moved to.
 * @throws AppError `history_unavailable` as `recall` does, before the work.
 */
export async function whileRecalled<Result>(
  context: RecallContext | undefined,
  accountId: AccountId,
  keys: readonly DeliveryKey[],
  work: () => Promise<Result>,
): Promise<Result> {
  if (!context) return await work();
  try {
    await recall(context, accountId, keys);
    return await work();
  } finally {
    // Otherwise they may move in a minute.
    await endRecall(context, accountId, keys).catch(() => {});
  }
}

/** The recalled deliveries have their jobs now, or will get none. They may move when they finish. */
export async function endRecall(
  { recalledStore, atomic }: Pick<RecallContext, 'recalledStore' | 'atomic'>,
  accountId: AccountId,
  keys: readonly DeliveryKey[],
): Promise<void> {
  await Promise.all(keys.map((key) => atomic([recalledStore.unpin(accountId, key)])));
}

// A receiver is listed when its log is there.
async function bringBack(context: RecallContext, event: MovedEvent): Promise<void> {
  const { recalledStore, overList, atomic, clock } = context;
  const { accountId, id: eventId, createdAt, deliveries } = event;
  const text = textOf(event, context.recordForm);
  const counts = await countsOf(context, event);
  const entries =
    deliveries.length === 0
      ? [{ accountId, eventId }]
      : deliveries.map(({ endpointId }) => ({ accountId, eventId, endpointId }));
  const steps: readonly Step[] = [
    // First: whatever becomes of this process, it moves again.
    overList.addAll(entries, clock()),
    // An event that is in no list counts as one that is still fanned out.
    recalledStore.listAgain(accountId, eventId, createdAt),
    async (target) => {
      const isBack = await recalledStore.returnEvent({ accountId, eventId, text, counts })(target);
      if (isBack) note(context, event, 'events', EVENT_BYTES + Buffer.byteLength(text));
    },
    ...deliveries.flatMap((delivery) => stepsFor(context, event, delivery)),
  ];
  await atomic(steps);
}

function stepsFor(
  context: RecallContext,
  event: MovedEvent,
  { endpointId, log }: MovedDelivery,
): readonly Step[] {
  const { recalledStore } = context;
  const { accountId, id: eventId, createdAt } = event;
  const parts = { eventId, endpointId };
  const { status } = readSummary(log);
  return [
    async (target) => {
      const isBack = await recalledStore.returnLog(parts, log, createdAt)(target);
      const bytes = DELIVERY_BYTES + Math.max(Buffer.byteLength(log) - COUNTED_LOG_BYTES, 0);
      if (isBack) note(context, event, 'deliveries', bytes);
    },
    async (target) => {
      if (status !== 'pending') await recalledStore.returnReceiver(accountId, parts, status)(target);
    },
  ];
}

/** How many of the event's deliveries have moved: counted in Redis for as long as the event is there. */
async function countsOf({ pgHistory }: RecallContext, { accountId, id }: MovedEvent): Promise<MovedCounts> {
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
  { usageRecorder, retention }: RecallContext,
  { accountId, createdAt }: MovedEvent,
  kind: UsageKind,
  bytes: number,
): void {
  usageRecorder.note(accountId, kind, bytes, createdAt, retention.ageMs);
}
