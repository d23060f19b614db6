import type { HeavyTurns } from '../accounts/heavy-turns';
import type { AccountId } from '../domain/account';
import type { EventId, StoredEvent } from '../domain/event';
import type { EventStore } from '../events/redis-event-store';
import { chunksOf } from '../platform/batches';
import { textOfMember } from '../platform/json';
import { markOf, type SourceBatch, type SourceEntry } from './history-source';
import { JsonPattern, SearchWork } from './json-containment';

/** Payloads are searched with these. */
export interface SearchParts {
  readonly eventStore: EventStore;
  /** Payloads are read and compared in turn, some at a time: others have their turn in between. Absent: at once. */
  readonly heavyTurns?: HeavyTurns | undefined;
}

export interface SearchQuery {
  readonly accountId: AccountId;
  readonly data?: string | undefined;
  /** What is left for the page. Absent: nothing was spent on it. */
  readonly work?: SearchWork | undefined;
}

// A payload may have megabytes.
const READ_TOGETHER = 5;

type Verdict = 'contained' | 'other' | 'gone';

/**
 * Of a part of a list, leave only the rows of events whose data contain the pattern of the query, if it has one. Only the
 * payloads of such rows are read. No index knows them. The page ends behind the event on which its last work was spent.
 */
export async function searchRecent<Row>(
  parts: SearchParts,
  { accountId, data, work = new SearchWork() }: SearchQuery,
  readBatch: () => Promise<SourceBatch<Row>>,
): Promise<SourceBatch<Row>> {
  const pattern = data === undefined ? undefined : new JsonPattern(data);
  if (!pattern || pattern.isEmpty) return await readBatch();
  if (pattern.isInNone) return { entries: [], nextCursor: undefined };
  const batch = await readBatch();
  return await searchBatch(parts, { accountId, pattern, work }, batch);
}

interface Search {
  readonly accountId: AccountId;
  readonly pattern: JsonPattern;
  readonly work: SearchWork;
}

async function searchBatch<Row>(
  parts: SearchParts,
  search: Search,
  batch: SourceBatch<Row>,
): Promise<SourceBatch<Row>> {
  const { heavyTurns } = parts;
  const verdicts = new Map<EventId, Verdict>();
  const searched: SourceEntry<Row>[] = [];
  for (const some of chunksOf(batch.entries, READ_TOGETHER)) {
    const work = () => searchSome(parts, search, some, verdicts);
    searched.push(...(await (heavyTurns ? heavyTurns.run(search.accountId, work) : work())));
    const last = searched.at(-1);
    if (!search.work.isSpent || !last) continue;
    const isAll = searched.length === batch.entries.length;
    return { entries: searched, nextCursor: isAll ? batch.nextCursor : markOf(last.mark), endsPage: true };
  }
  return { ...batch, entries: searched };
}

/** The entries that match, as far as there was work left. */
async function searchSome<Row>(
  parts: SearchParts,
  search: Search,
  some: readonly SourceEntry<Row>[],
  verdicts: Map<EventId, Verdict>,
): Promise<readonly SourceEntry<Row>[]> {
  const events = await findAll(parts, search.accountId, withoutVerdict(some, verdicts));
  const searched: SourceEntry<Row>[] = [];
  for (const entry of some) {
    const { eventId } = entry.mark;
    if (events.has(eventId) && !verdicts.has(eventId)) {
      verdicts.set(eventId, await verdictOn(search, events.get(eventId)));
    }
    searched.push(filteredBy(verdicts, entry));
    if (search.work.isSpent) break;
  }
  return searched;
}

function withoutVerdict(
  entries: readonly SourceEntry<unknown>[],
  verdicts: ReadonlyMap<EventId, Verdict>,
): readonly EventId[] {
  const ids = entries.filter(({ row }) => row !== undefined).map(({ mark }) => mark.eventId);
  return [...new Set(ids)].filter((id) => !verdicts.has(id));
}

async function findAll({ eventStore }: SearchParts, accountId: AccountId, ids: readonly EventId[]) {
  const found = await Promise.all(ids.map(async (id) => [id, await eventStore.find(accountId, id)] as const));
  return new Map(found);
}

async function verdictOn({ pattern, work }: Search, event: StoredEvent | undefined): Promise<Verdict> {
  if (event === undefined) return 'gone';
  if (event.body === undefined) return 'other';
  work.spendOnText(event.body.length);
  const data = textOfMember(event.body, 'data');
  return data !== undefined && (await pattern.isIn(data, work)) ? 'contained' : 'other';
}

// An event is the last that leaves: its deliveries have left as well.
function filteredBy<Row>(verdicts: ReadonlyMap<EventId, Verdict>, entry: SourceEntry<Row>): SourceEntry<Row> {
  if (entry.row === undefined) return entry;
  const verdict = verdicts.get(entry.mark.eventId);
  if (verdict === 'contained') return entry;
  const { mark } = entry;
  return verdict === 'other' ? { mark, row: undefined } : { mark, row: undefined, isGone: true };
}
