import type { UsageRecorder } from '../accounts/account-quota';
import type { AccountId } from '../domain/account';
import { newestTimeOf } from '../domain/delivery-log';
import { COUNTED_LOG_BYTES, DELIVERY_BYTES, EVENT_BYTES } from '../domain/usage';
import { isNotedAsQueued } from '../events/event-text';
import {
  type Dropped,
  type DroppedEvent,
  fenceOf,
  type MovedReach,
  type MovedStore,
  type RemovedDelivery,
} from '../events/redis-moved';
import { digestOf, type KeptId, type MovedIds, staysKnown } from '../events/redis-moved-ids';
import type { ClaimedEntry } from '../events/redis-over-list';
import type { Clock } from '../platform/clock';
import type { Atomic } from '../platform/redis-atomic';
import type { InOrderForEach, RowStep } from '../platform/redis-rows';
import type { Step } from '../platform/redis-script';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { MovingEvent } from './judge-over';
import type { Settlement } from './settlement';

export interface RemoveMovedContext {
  readonly movedStore: Pick<
    MovedStore,
    'raiseReach' | 'guardUnchanged' | 'release' | 'remove' | 'drop' | 'guardGone' | 'leave'
  >;
  readonly movedIds: Pick<MovedIds, 'keep'>;
  readonly deliveryQueue: Pick<DeliveryQueue, 'guardUnplaced'>;
  readonly usageRecorder: Pick<UsageRecorder, 'note'>;
  readonly retention: { readonly ageMs: number };
  /** On the Redis of these, as is the next. */
  readonly atomic: Atomic;
  readonly forEach: InOrderForEach;
  readonly clock: Clock;
}

// A delivery that has a job, or changed while it moved, is tried again after an eighth of its age.
const PATIENCE_SHARE = 8;
const SOONEST_MS = 5_000;
const LATEST_MS = 3_600_000;

/** Remove deliveries from Redis that are in the history, unless they have changed since they were read. */
export async function removeMoved(
  context: RemoveMovedContext,
  events: readonly MovingEvent[],
  settlement: Settlement,
): Promise<void> {
  await raiseReaches(context, events);
  await removeDeliveries(context, events, settlement);
  await removeEvents(context, events, settlement);
}

async function raiseReaches(
  { movedStore, atomic }: RemoveMovedContext,
  events: readonly MovingEvent[],
): Promise<void> {
  const reaches = new Map<AccountId, MovedReach>();
  for (const event of events) {
    const { acceptedAt, attemptAt } = reaches.get(event.accountId) ?? { acceptedAt: 0, attemptAt: 0 };
    const newest = event.entries.map(({ delivery }) => newestTimeOf(delivery?.log ?? ''));
    reaches.set(event.accountId, {
      acceptedAt: Math.max(acceptedAt, timeOf(event)),
      attemptAt: Math.max(attemptAt, ...newest),
    });
  }
  const steps = [...reaches].map(
    ([accountId, reach]): Step =>
      (target) =>
        movedStore.raiseReach(accountId, reach, target),
  );
  await Promise.all(steps.map((step) => atomic([step])));
}

function timeOf({ listedAt, head }: MovingEvent): number {
  return listedAt ?? head?.acceptedAt ?? 0;
}

interface Removal extends RemovedDelivery {
  readonly event: MovingEvent;
  readonly entry: ClaimedEntry;
  readonly log: string | undefined;
}

/** The receiver leaves first: an event's receivers lead to deliveries that have their logs. */
async function removeDeliveries(
  context: RemoveMovedContext,
  events: readonly MovingEvent[],
  settlement: Settlement,
): Promise<void> {
  const { deliveryQueue, movedStore, forEach } = context;
  const removed = new Set<Removal>();
  const removals = events.flatMap(removalsOf);
  const ends = await forEach(removals, [
    (rows, target) => deliveryQueue.guardUnplaced(rows, target),
    (rows, target) => movedStore.guardUnchanged(rows, target),
    (rows, target) => movedStore.release(rows, target),
    async (rows, target) => {
      const isRemoved = await movedStore.remove(rows, target);
      for (const [i, removal] of rows.entries()) if (isRemoved[i]) removed.add(removal);
    },
  ]);
  for (const [i, removal] of removals.entries()) {
    const { event, entry, log } = removal;
    const end = ends[i];
    if (end instanceof Error) await settlement.setAside(entry, 'redis', String(end));
    else if (!removed.has(removal)) settlement.later(entry, patienceOf(context, event));
    else {
      settlement.hasMoved(entry);
      if (log !== undefined) noteRemoved(context, event, log);
    }
  }
}

function removalsOf(event: MovingEvent): readonly Removal[] {
  return event.entries.flatMap(({ entry, judgement, delivery }) => {
    const { accountId, eventId, endpointId } = entry;
    if ((judgement.kind !== 'move' && judgement.kind !== 'moved') || endpointId === undefined) return [];
    const log = delivery?.log;
    const status = judgement.kind === 'move' ? judgement.status : undefined;
    return { accountId, eventId, endpointId, fence: fenceOf(log ?? ''), status, event, entry, log };
  });
}

interface Leaving extends DroppedEvent, KeptId {
  readonly event: MovingEvent;
  readonly first: ClaimedEntry;
}

/** An event's id is kept before it goes, and its place in the account's list goes last. */
async function removeEvents(
  context: RemoveMovedContext,
  events: readonly MovingEvent[],
  settlement: Settlement,
): Promise<void> {
  const { movedStore, movedIds, forEach, clock } = context;
  const outcomes = new Map<Leaving, Dropped | Error>();
  const now = clock();
  const keep: RowStep<Leaving> = (rows, target) => movedIds.keep(rows, now, target);
  const drop: RowStep<Leaving> = async (rows, target) => {
    const dropped = await movedStore.drop(rows, target);
    for (const [i, row] of rows.entries()) {
      const { outcome, bytes } = dropped[i] ?? { outcome: 'later', bytes: 0 };
      outcomes.set(row, outcome);
      if (outcome === 'dropped') noteDropped(context, row.event, bytes);
    }
  };
  const guardGone: RowStep<Leaving> = (rows, target) => movedStore.guardGone(rows, target);
  const leave: RowStep<Leaving> = (rows, target) => movedStore.leave(rows, target);
  async function run(rows: readonly Leaving[], steps: readonly RowStep<Leaving>[]): Promise<void> {
    const ends = await forEach(rows, steps);
    for (const [i, row] of rows.entries()) {
      const end = ends[i];
      if (end instanceof Error) outcomes.set(row, end);
    }
  }
  const leaving = events.flatMap(leavingOf);
  const here = leaving.filter(({ event }) => event.text !== undefined);
  await Promise.all([
    run(
      here.filter((row) => staysKnown(row, now)),
      [keep, drop, leave],
    ),
    run(
      here.filter((row) => !staysKnown(row, now)),
      [drop, leave],
    ),
    run(leaving.filter(isGone), [guardGone, leave]),
  ]);
  for (const row of leaving) {
    const outcome = outcomes.get(row) ?? 'dropped';
    if (outcome instanceof Error) await settlement.setAside(row.first, 'redis', String(outcome));
    else await settleEvent(row, outcome, settlement);
  }
}

function leavingOf(event: MovingEvent): readonly Leaving[] {
  const { accountId, eventId, head, entries } = event;
  const [first] = entries;
  if (!first) return [];
  const isErased = head?.erasedAt !== undefined;
  const known = { acceptedAt: timeOf(event), movedId: movedIdOf(event) };
  return [{ accountId, eventId, isErased, event, first: first.entry, ...known }];
}

// With a log it has expired, and stays known as complete.
function isGone({ event: { text, entries } }: Leaving): boolean {
  return text === undefined && entries.every(({ delivery }) => delivery?.log === undefined);
}

async function settleEvent(
  { event: { entries }, first }: Leaving,
  outcome: Dropped,
  settlement: Settlement,
): Promise<void> {
  for (const { entry, judgement } of entries) {
    if (judgement.kind === 'gone') settlement.done(entry);
    if (judgement.kind !== 'move_event') continue;
    if (outcome === 'dropped') settlement.hasMoved(entry);
    else if (outcome === 'needed') settlement.done(entry);
    else settlement.later(entry, SOONEST_MS);
  }
  const isEntry = entries.some(({ judgement }) => judgement.kind === 'move_event');
  if (outcome === 'later' && !isEntry) await settlement.addEvent(first, SOONEST_MS);
}

// Clients do not publish again with an id that the API generated.
function movedIdOf({ head, text, digest }: MovingEvent): KeptId['movedId'] {
  if (head === undefined || text === undefined) return undefined;
  if (digest !== undefined) return { kind: 'claimed', digest };
  if (head.erasedAt !== undefined) return { kind: 'claimed', digest: undefined };
  if (!isNotedAsQueued(text)) return undefined;
  return { kind: 'queued', digest: digestOf(text.slice(text.indexOf('\n') + 1)) };
}

function noteRemoved(
  { usageRecorder, retention }: RemoveMovedContext,
  event: MovingEvent,
  log: string,
): void {
  const bytes = DELIVERY_BYTES + Math.max(Buffer.byteLength(log) - COUNTED_LOG_BYTES, 0);
  usageRecorder.note(event.accountId, 'deliveries', -bytes, timeOf(event), retention.ageMs);
}

function noteDropped(
  { usageRecorder, retention }: RemoveMovedContext,
  event: MovingEvent,
  bytes: number,
): void {
  usageRecorder.note(event.accountId, 'events', -(bytes + EVENT_BYTES), timeOf(event), retention.ageMs);
}

function patienceOf({ clock }: RemoveMovedContext, event: MovingEvent): number {
  const age = clock() - timeOf(event);
  return Math.min(Math.max(age / PATIENCE_SHARE, SOONEST_MS), LATEST_MS);
}
