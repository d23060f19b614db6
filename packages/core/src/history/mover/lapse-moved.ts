import type { AccountId } from '../../domain/account';
import { type EndStatus, newestTimeOf } from '../../domain/delivery-log';
import { COUNTED_LOG_BYTES, DELIVERY_BYTES, EVENT_BYTES } from '../../domain/usage';
import { isNotedAsQueued } from '../../events/event-text';
import { type LapsingRow, logVersionOf, type MovedUntil } from '../../events/redis-moved';
import type { LapsedRow } from '../../events/redis-moved.script';
import { digestOf, type KeptId } from '../../events/redis-moved-ids';
import type { Step } from '../../platform/redis-script';
import type { ClaimResults } from './claim-results';
import type { DecidedEntry, MovingEvent } from './decide-move';
import { forAllRows, forEachRow } from './for-each-row';
import type { MoverParts } from './mover-parts';

// A delivery that has a job, or changed while it moved, is tried again after an eighth of its age.
const PATIENCE_SHARE = 8;
const SOONEST_MS = 5_000;
const LATEST_MS = 3_600_000;

/** Let deliveries lapse in Redis that are in the history, unless they have changed since they were read. */
export async function lapseMoved(
  parts: MoverParts,
  events: readonly MovingEvent[],
  claimResults: ClaimResults,
): Promise<void> {
  const [statusOf] = await Promise.all([
    readMissed(parts, events),
    raiseAllMovedUntil(parts, events),
    keepIds(parts, events),
  ]);
  const rows = events.flatMap((event) =>
    event.entries.flatMap((each) => lapsingOf(parts, event, each, statusOf.get(each))),
  );
  const outcomes = await lapseAll(parts, rows);
  for (const [i, row] of rows.entries()) {
    const { entry, decision } = row.each;
    const result = outcomes[i];
    if (result === undefined || result instanceof Error) {
      await claimResults.refuse(entry, 'redis', String(result));
      continue;
    }
    note(parts, row, result);
    const isNeeded = result.outcome === 'needed' && row.endpointId === undefined;
    if (result.outcome === 'changed') claimResults.later(entry, patienceOf(parts, row.event));
    else if (result.outcome === 'later') claimResults.later(entry, SOONEST_MS);
    else if (isNeeded || decision.kind === 'gone') claimResults.done(entry);
    else claimResults.hasMoved(entry);
  }
  for (const { entries } of events.filter(isExpired))
    for (const { entry } of entries) claimResults.done(entry);
}

/**
 * The statuses of deliveries whose logs are gone. In a Cluster a process may have died when a log lapsed, and before its event
 * counted it.
 */
async function readMissed(
  { pgHistory, atomic }: MoverParts,
  events: readonly MovingEvent[],
): Promise<ReadonlyMap<DecidedEntry, EndStatus>> {
  const statuses = new Map<DecidedEntry, EndStatus>();
  if (atomic.isOneScript) return statuses;
  await Promise.all(
    events.map(async (event) => {
      const { accountId, eventId, entries } = event;
      const missed = entries.flatMap((each) => {
        const { endpointId } = each.entry;
        return each.decision.kind === 'moved' && endpointId ? [{ each, endpointId }] : [];
      });
      if (missed.length === 0) return;
      const wanted = missed.map(({ endpointId }) => ({ eventId, endpointId, createdAt: timeOf(event) }));
      const states = await pgHistory.readStates(accountId, wanted);
      for (const [i, { each }] of missed.entries()) {
        const status = states[i]?.status;
        if (status !== undefined && status !== 'pending') statuses.set(each, status);
      }
    }),
  );
  return statuses;
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

// Before their events lapse.
async function keepIds({ movedIds, atomic, clock }: MoverParts, events: readonly MovingEvent[]) {
  const now = clock();
  const kept = events.flatMap((event): KeptId[] => {
    const movedId = movedIdOf(event);
    const { accountId, eventId } = event;
    return movedId ? [{ accountId, eventId, acceptedAt: timeOf(event), movedId }] : [];
  });
  await forEachRow(kept, (one) => atomic([movedIds.keep(one, now)]));
}

// Clients do not publish again with an id that the API generated.
function movedIdOf({ head, text, digest }: MovingEvent): KeptId['movedId'] | undefined {
  if (head === undefined || text === undefined) return undefined;
  if (digest !== undefined) return { kind: 'claimed', digest };
  if (head.erasedAt !== undefined) return { kind: 'claimed', digest: undefined };
  if (!isNotedAsQueued(text)) return undefined;
  return { kind: 'queued', digest: digestOf(text.slice(text.indexOf('\n') + 1)) };
}

interface Lapsing extends LapsingRow {
  readonly event: MovingEvent;
  readonly each: DecidedEntry;
}

// The event has expired and is gone. With a log it stays known as complete.
function isExpired({ head, entries }: MovingEvent): boolean {
  return head === undefined && entries.some(({ delivery }) => delivery?.log !== undefined);
}

function lapsingOf(
  parts: MoverParts,
  event: MovingEvent,
  each: DecidedEntry,
  missed: EndStatus | undefined,
): readonly Lapsing[] {
  if (isExpired(event)) return [];
  const { entry, decision, delivery } = each;
  const { accountId, eventId } = entry;
  const isDelivery = decision.kind === 'move' || decision.kind === 'moved';
  const endpointId = isDelivery ? entry.endpointId : undefined;
  return [
    {
      accountId,
      eventId,
      endpointId,
      logVersion: logVersionOf(delivery?.log ?? ''),
      places: endpointId && parts.deliveryQueue.keysOf({ eventId, endpointId }),
      status: decision.kind === 'move' ? decision.status : missed,
      isErased: event.head?.erasedAt !== undefined,
      event,
      each,
    },
  ];
}

type Lapsed = Pick<LapsedRow, 'outcome' | 'isFirst' | 'wasListed' | 'bytes'>;

/** On one server, a delivery and its event lapse at once, and in a Cluster step by step. */
async function lapseAll(parts: MoverParts, rows: readonly Lapsing[]): Promise<readonly (Lapsed | Error)[]> {
  const { movedStore, atomic } = parts;
  if (!atomic.isOneScript) return await forEachRow(rows, (row) => lapseInSteps(parts, row));
  const lapsed = await forAllRows(rows, async (some) => (await atomic([movedStore.lapseAll(some)]))[0]);
  return lapsed.map((row) => (row.failure === undefined ? row : new Error(row.failure)));
}

const NOTHING: Step<true> = async () => true;

// The delivery first: it can be read for longer than the rest takes.
async function lapseInSteps(
  { deliveryQueue, movedStore, atomic }: MoverParts,
  row: Lapsing,
): Promise<Lapsed> {
  const { eventId, endpointId, logVersion } = row;
  const delivery = endpointId && { eventId, endpointId, logVersion };
  const { results, error } = await atomic.tried([
    delivery ? deliveryQueue.guardUnplaced(delivery) : NOTHING,
    delivery ? movedStore.lapse(delivery) : NOTHING,
    movedStore.lapseEvent(row),
    movedStore.leave(row),
  ]);
  const [, ofDelivery, ofEvent, wasListed = false] = results;
  if (error !== undefined) throw error;
  return {
    outcome: ofEvent?.outcome ?? 'changed',
    isFirst: ofDelivery !== undefined && ofDelivery !== true && ofDelivery.isFirst,
    wasListed,
    bytes: ofEvent?.bytes,
  };
}

function note({ usageRecorder }: MoverParts, { event, each }: Lapsing, lapsed: Lapsed): void {
  const log = each.delivery?.log;
  if (lapsed.isFirst && log !== undefined) {
    const bytes = DELIVERY_BYTES + Math.max(Buffer.byteLength(log) - COUNTED_LOG_BYTES, 0);
    usageRecorder.note(event.accountId, 'deliveries', -bytes, timeOf(event));
  }
  if (!lapsed.wasListed) return;
  usageRecorder.note(event.accountId, 'events', -((lapsed.bytes ?? 0) + EVENT_BYTES), timeOf(event));
}

function patienceOf({ clock }: MoverParts, event: MovingEvent): number {
  const age = clock() - timeOf(event);
  return Math.min(Math.max(age / PATIENCE_SHARE, SOONEST_MS), LATEST_MS);
}
