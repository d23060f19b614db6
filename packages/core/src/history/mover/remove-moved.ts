import type { AccountId } from '../../domain/account';
import { newestTimeOf } from '../../domain/delivery-log';
import { COUNTED_LOG_BYTES, DELIVERY_BYTES, EVENT_BYTES } from '../../domain/usage';
import { isNotedAsQueued } from '../../events/event-text';
import type { ClaimedEntry } from '../../events/redis-ended-list';
import {
  type Dropped,
  type DroppedEvent,
  logVersionOf,
  type MovedUntil,
  type RemovedDelivery,
} from '../../events/redis-moved';
import { digestOf, type KeptId, staysKnown } from '../../events/redis-moved-ids';
import type { Step } from '../../platform/redis-script';
import type { ClaimResults } from './claim-results';
import type { MovingEvent } from './decide-move';
import { forEachRow } from './for-each-row';
import type { MoverParts } from './mover-parts';

// A delivery that has a job, or changed while it moved, is tried again after an eighth of its age.
const PATIENCE_SHARE = 8;
const SOONEST_MS = 5_000;
const LATEST_MS = 3_600_000;

/** Remove deliveries from Redis that are in the history, unless they have changed since they were read. */
export async function removeMoved(
  parts: MoverParts,
  events: readonly MovingEvent[],
  claimResults: ClaimResults,
): Promise<void> {
  await raiseAllMovedUntil(parts, events);
  await removeDeliveries(parts, events, claimResults);
  await removeEvents(parts, events, claimResults);
}

async function raiseAllMovedUntil(
  { movedStore, atomic }: MoverParts,
  events: readonly MovingEvent[],
): Promise<void> {
  const times = new Map<AccountId, MovedUntil>();
  for (const event of events) {
    const { acceptedAt, attemptAt } = times.get(event.accountId) ?? { acceptedAt: 0, attemptAt: 0 };
    const newest = event.entries.map(({ delivery }) => newestTimeOf(delivery?.log ?? ''));
    times.set(event.accountId, {
      acceptedAt: Math.max(acceptedAt, timeOf(event)),
      attemptAt: Math.max(attemptAt, ...newest),
    });
  }
  await Promise.all(
    [...times].map(([accountId, movedUntil]) => atomic([movedStore.raiseMovedUntil(accountId, movedUntil)])),
  );
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
  parts: MoverParts,
  events: readonly MovingEvent[],
  claimResults: ClaimResults,
): Promise<void> {
  const { deliveryQueue, movedStore, atomic } = parts;
  const removals = events.flatMap(removalsOf);
  const areRemoved = await forEachRow(removals, async (removal) => {
    const [, , , isRemoved] = await atomic([
      deliveryQueue.guardUnplaced(removal),
      movedStore.guardUnchanged(removal),
      movedStore.release(removal),
      movedStore.remove(removal),
    ]);
    return isRemoved;
  });
  for (const [i, { event, entry, log }] of removals.entries()) {
    const isRemoved = areRemoved[i];
    if (isRemoved instanceof Error) await claimResults.refuse(entry, 'redis', String(isRemoved));
    else if (!isRemoved) claimResults.later(entry, patienceOf(parts, event));
    else {
      claimResults.hasMoved(entry);
      if (log !== undefined) noteRemoved(parts, event, log);
    }
  }
}

function removalsOf(event: MovingEvent): readonly Removal[] {
  return event.entries.flatMap(({ entry, decision, delivery }) => {
    const { accountId, eventId, endpointId } = entry;
    if ((decision.kind !== 'move' && decision.kind !== 'moved') || endpointId === undefined) return [];
    const log = delivery?.log;
    const status = decision.kind === 'move' ? decision.status : undefined;
    return { accountId, eventId, endpointId, logVersion: logVersionOf(log ?? ''), status, event, entry, log };
  });
}

interface Leaving extends DroppedEvent, KeptId {
  readonly event: MovingEvent;
  readonly first: ClaimedEntry;
}

async function removeEvents(
  parts: MoverParts,
  events: readonly MovingEvent[],
  claimResults: ClaimResults,
): Promise<void> {
  const now = parts.clock();
  const leaving = events.flatMap(leavingOf);
  const outcomes = await forEachRow(leaving, (row) => removeEvent(parts, row, now));
  for (const [i, row] of leaving.entries()) {
    const outcome = outcomes[i] ?? 'later';
    if (outcome instanceof Error) await claimResults.refuse(row.first, 'redis', String(outcome));
    else await noteOutcome(row, outcome, claimResults);
  }
}

const NOTHING: Step<void> = async () => {};

/** An event's id is kept before it goes, and its place in the account's list goes last. */
async function removeEvent(parts: MoverParts, row: Leaving, now: number): Promise<Dropped> {
  const { movedStore, movedIds, atomic } = parts;
  if (row.event.text === undefined) {
    if (isGone(row)) await atomic([movedStore.guardGone(row), movedStore.leave(row)]);
    return 'dropped';
  }
  const keep = staysKnown(row, now) ? movedIds.keep(row, now) : NOTHING;
  const { results, error } = await atomic.tried([keep, movedStore.drop(row), movedStore.leave(row)]);
  const [, dropped] = results;
  if (dropped?.outcome === 'dropped') noteDropped(parts, row.event, dropped.bytes);
  if (error !== undefined) throw error;
  return dropped?.outcome ?? 'later';
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

async function noteOutcome(
  { event: { entries }, first }: Leaving,
  outcome: Dropped,
  claimResults: ClaimResults,
): Promise<void> {
  for (const { entry, decision } of entries) {
    if (decision.kind === 'gone') claimResults.done(entry);
    if (decision.kind !== 'move_event') continue;
    if (outcome === 'dropped') claimResults.hasMoved(entry);
    else if (outcome === 'needed') claimResults.done(entry);
    else claimResults.later(entry, SOONEST_MS);
  }
  const isEntry = entries.some(({ decision }) => decision.kind === 'move_event');
  if (outcome === 'later' && !isEntry) await claimResults.addEvent(first, SOONEST_MS);
}

// Clients do not publish again with an id that the API generated.
function movedIdOf({ head, text, digest }: MovingEvent): KeptId['movedId'] {
  if (head === undefined || text === undefined) return undefined;
  if (digest !== undefined) return { kind: 'claimed', digest };
  if (head.erasedAt !== undefined) return { kind: 'claimed', digest: undefined };
  if (!isNotedAsQueued(text)) return undefined;
  return { kind: 'queued', digest: digestOf(text.slice(text.indexOf('\n') + 1)) };
}

function noteRemoved({ usageRecorder }: MoverParts, event: MovingEvent, log: string): void {
  const bytes = DELIVERY_BYTES + Math.max(Buffer.byteLength(log) - COUNTED_LOG_BYTES, 0);
  usageRecorder.note(event.accountId, 'deliveries', -bytes, timeOf(event));
}

function noteDropped({ usageRecorder }: MoverParts, event: MovingEvent, bytes: number): void {
  usageRecorder.note(event.accountId, 'events', -(bytes + EVENT_BYTES), timeOf(event));
}

function patienceOf({ clock }: MoverParts, event: MovingEvent): number {
  const age = clock() - timeOf(event);
  return Math.min(Math.max(age / PATIENCE_SHARE, SOONEST_MS), LATEST_MS);
}
