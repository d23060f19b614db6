import { decodeHead } from '../../events/event-text';
import type { ClaimedEntry } from '../../events/redis-ended-list';
import type { EventPlace, SeenEvent } from '../../events/redis-moved';
import type { ClaimResults } from './claim-results';
import type { EndedEntryRead, EndedEvent } from './decide-move';
import { forAllRows } from './for-each-row';
import type { MoverParts } from './mover-parts';

const BATCH_BYTES = 8 * 1024 * 1024;
/** How many events are read together while their size is unknown. */
const FIRST_READ = 50;
/** An erasure removes it meanwhile. */
const ERASING_MS = 60_000;

/** Read the events of some entries, with the logs: 8 MiB or a little more. The other entries come again. */
export async function readEnded(
  parts: MoverParts,
  entries: readonly ClaimedEntry[],
  claimResults: ClaimResults,
): Promise<readonly EndedEvent[]> {
  const groups = groupByEvent(entries);
  const events: EndedEvent[] = [];
  let bytes = 0;
  let read = 0;
  while (read < groups.length && bytes <= BATCH_BYTES) {
    // As many as are expected to fit.
    const count = read === 0 ? FIRST_READ : Math.ceil(((BATCH_BYTES - bytes) * read) / Math.max(bytes, 1));
    const some = groups.slice(read, read + Math.max(count, 1));
    read += some.length;
    for (const event of await readEvents(parts, some, claimResults)) {
      events.push(event);
      bytes += sizeOf(event);
    }
  }
  return await leaveErasing(parts, events, claimResults);
}

interface EntriesOfEvent extends EventPlace {
  readonly entries: ClaimedEntry[];
}

function groupByEvent(entries: readonly ClaimedEntry[]): readonly EntriesOfEvent[] {
  const groups = new Map<string, EntriesOfEvent>();
  for (const entry of entries) {
    const { accountId, eventId } = entry;
    const name = `${accountId}/${eventId}`;
    const group = groups.get(name);
    if (group) group.entries.push(entry);
    else groups.set(name, { accountId, eventId, entries: [entry] });
  }
  return [...groups.values()];
}

async function readEvents(
  { movedStore, eventStore, atomic }: MoverParts,
  groups: readonly EntriesOfEvent[],
  claimResults: ClaimResults,
): Promise<readonly EndedEvent[]> {
  const listed = groups.flatMap(({ entries }) => entries.flatMap(toListed));
  const [events, deliveries] = await Promise.all([
    forAllRows(groups, async (some) => (await atomic([movedStore.seeEvents(some)]))[0]),
    forAllRows(listed, async (some) => (await atomic([movedStore.seeDeliveries(some)]))[0]),
  ]);
  const deliveryOf = new Map(listed.map(({ entry }, i) => [entry, deliveries[i]]));
  const read: EndedEvent[] = [];
  for (const [i, { accountId, eventId, entries }] of groups.entries()) {
    const seen = entries.map((entry) => ({ entry, delivery: deliveryOf.get(entry) }));
    const event = events[i];
    // A key of an unexpected type must not stop all others.
    const error = [event, ...seen.map(({ delivery }) => delivery)].find((one) => one instanceof Error);
    if (error) await Promise.all(entries.map((entry) => claimResults.refuse(entry, 'redis', String(error))));
    else {
      const { text, listedAt } = event as SeenEvent;
      const mayLapse = text !== undefined && listedAt === undefined;
      const hasLapsed = mayLapse && (await eventStore.hasLapsed(accountId, eventId));
      const withEvent = { accountId, eventId, ...withHead(event as SeenEvent), hasLapsed };
      read.push({ ...withEvent, entries: seen as EndedEntryRead[] });
    }
  }
  return read;
}

function withHead(event: SeenEvent) {
  return { ...event, head: event.text === undefined ? undefined : decodeHead(event.text) };
}

function toListed(entry: ClaimedEntry) {
  const { eventId, endpointId } = entry;
  return endpointId === undefined ? [] : [{ entry, eventId, endpointId }];
}

function sizeOf({ text = '', entries }: EndedEvent): number {
  return entries.reduce((sum, { delivery }) => sum + (delivery?.log?.length ?? 0), text.length);
}

// Asked after they were read: what begins to be erased later waits until nobody can commit this batch.
async function leaveErasing(
  { openAccounts }: MoverParts,
  events: readonly EndedEvent[],
  claimResults: ClaimResults,
): Promise<readonly EndedEvent[]> {
  const ids = [...new Set(events.map((event) => event.accountId))];
  const found = await Promise.all(ids.map((id) => openAccounts.find(id)));
  const accounts = new Map(ids.map((id, i) => [id, found[i]]));
  return events.flatMap((event) => {
    const account = accounts.get(event.accountId);
    if (account) return { ...event, historyDays: account.historyDays };
    // Of an event that is gone, nothing is written.
    if (event.text === undefined) return event;
    for (const { entry } of event.entries) claimResults.later(entry, ERASING_MS);
    return [];
  });
}
