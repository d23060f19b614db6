import { setImmediate } from 'node:timers/promises';
import type { AccountId } from '../domain/account';
import type { EventId, StoredEvent } from '../domain/event';
import type { EventStore } from '../events/redis-event-store';
import { chunksOf } from '../platform/batches';
import { textOfMember } from '../platform/json';
import { markOf, type SourceBatch, type SourceEntry } from './history-source';
import { JsonPattern } from './json-containment';

export interface SearchRecentContext {
  readonly eventStore: Pick<EventStore, 'find'>;
}

export interface SearchQuery {
  readonly accountId: AccountId;
  readonly data?: string | undefined;
}

// A payload may have megabytes.
const READ_TOGETHER = 5;
/** A page ends behind so much of payloads: comparing takes some milliseconds for each. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

type Verdict = 'contained' | 'other' | 'gone';

/**
 * Of a part of a list, leave only the rows of events whose data contain the pattern of the query, if it has one. Only the
 * payloads of such rows are read. No index knows them.
 */
export async function searchRecent<Row>(
  context: SearchRecentContext,
  { accountId, data }: SearchQuery,
  readBatch: () => Promise<SourceBatch<Row>>,
): Promise<SourceBatch<Row>> {
  const pattern = data === undefined ? undefined : new JsonPattern(data);
  if (!pattern || pattern.isEmpty) return await readBatch();
  if (pattern.isInNone) return { entries: [], nextCursor: undefined };
  const batch = await readBatch();
  const verdicts = new Map<EventId, Verdict>();
  const judged: SourceEntry<Row>[] = [];
  let characters = 0;
  for (const some of chunksOf(batch.entries, READ_TOGETHER)) {
    for (const [id, event] of await findAll(context, accountId, unjudged(some, verdicts))) {
      verdicts.set(id, judge(pattern, event));
      characters += event?.body?.length ?? 0;
      // Others have their turn in between.
      await setImmediate();
    }
    judged.push(...some.map((entry) => judgedBy(verdicts, entry)));
    const last = judged.at(-1);
    if (characters < MOST_CHARACTERS || !last) continue;
    const isAll = judged.length === batch.entries.length;
    return { entries: judged, nextCursor: isAll ? batch.nextCursor : markOf(last.mark), endsPage: true };
  }
  return { ...batch, entries: judged };
}

function unjudged(
  entries: readonly SourceEntry<unknown>[],
  verdicts: ReadonlyMap<EventId, Verdict>,
): readonly EventId[] {
  const ids = entries.filter(({ row }) => row !== undefined).map(({ mark }) => mark.eventId);
  return [...new Set(ids)].filter((id) => !verdicts.has(id));
}

async function findAll({ eventStore }: SearchRecentContext, accountId: AccountId, ids: readonly EventId[]) {
  return await Promise.all(ids.map(async (id) => [id, await eventStore.find(accountId, id)] as const));
}

function judge(pattern: JsonPattern, event: StoredEvent | undefined): Verdict {
  if (event === undefined) return 'gone';
  const data = event.body === undefined ? undefined : textOfMember(event.body, 'data');
  return data !== undefined && pattern.isIn(data) ? 'contained' : 'other';
}

// An event is the last that leaves: its deliveries have left as well.
function judgedBy<Row>(verdicts: ReadonlyMap<EventId, Verdict>, entry: SourceEntry<Row>): SourceEntry<Row> {
  if (entry.row === undefined) return entry;
  const verdict = verdicts.get(entry.mark.eventId);
  if (verdict === 'contained') return entry;
  const { mark } = entry;
  return verdict === 'other' ? { mark, row: undefined } : { mark, row: undefined, isGone: true };
}
