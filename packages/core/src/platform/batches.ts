/** The same items in the same order, in chunks of this size; only the last one may be smaller. */
export function chunksOf<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}

/** The same items in the same order, in chunks of this size; only the last one may be smaller. */
export async function* inBatches<Item>(
  items: AsyncIterable<Item>,
  size: number,
): AsyncGenerator<readonly Item[], void> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/**
 * Runs pieces of work one after the other, in the order of their arrival, whether earlier ones fail or not.
 */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** A part of a list, in the list's order. */
export interface Batch<Entry, Cursor> {
  readonly entries: readonly Entry[];
  /** The cursor of the next part; `undefined` after the last one. */
  readonly nextCursor: Cursor | undefined;
  /** A page ends with it, although the list goes on. */
  readonly endsPage?: true;
}

export interface ScanPageInput<Entry, Found, Cursor> {
  readonly limit: number;
  /** The cursor at the end of the page before. */
  readonly before: Cursor | undefined;
  /**
   * After this many entries, but no fewer than `limit`, the page ends, however few were shown: the next page
   * goes on there.
   */
  readonly mostScanned: number;
  readonly readBatch: (limit: number, before: Cursor | undefined) => Promise<Batch<Entry, Cursor>>;
  readonly cursorOf: (entry: Entry) => Cursor;
  /** The shown form of an entry; `undefined`: it is left out. */
  readonly show: (entry: Entry) => Promise<Found | undefined>;
}

export interface Page<Found, Cursor> {
  readonly found: readonly Found[];
  readonly nextCursor: Cursor | undefined;
}

// Together they cost 17 µs of processor time each, one by one 36 µs (measured with a million recorded), so a
// request that finds nothing costs about as much as one that fills its page.
/** If one command reads a batch. */
export const SCANNED_TOGETHER = 150;
/** If each entry needs a command of its own. */
export const SCANNED_ONE_BY_ONE = 60;
const LARGEST_BATCH = 250;
const SMALLEST_BATCH = 10;
// Showing an entry may read some ten kilobytes.
const SHOWN_TOGETHER = 25;

/** Read a page of a list's entries that are shown: in bounded time, even where hardly any is shown. */
export async function scanPage<Entry, Found, Cursor>({
  limit,
  before,
  mostScanned,
  readBatch,
  cursorOf,
  show,
}: ScanPageInput<Entry, Found, Cursor>): Promise<Page<Found, Cursor>> {
  const found: Found[] = [];
  let cursor = before;
  // Mostly all are shown, so that the first batch is the page.
  let size = limit;
  const most = Math.max(mostScanned, limit);
  for (let scanned = 0; scanned < most; size = nextSize(limit, found.length, scanned)) {
    const { entries, nextCursor, endsPage } = await readBatch(Math.min(size, most - scanned), cursor);
    let shown: readonly (Found | undefined)[] = [];
    for (const [i, entry] of entries.entries()) {
      const place = i % SHOWN_TOGETHER;
      if (place === 0) shown = await Promise.all(entries.slice(i, i + SHOWN_TOGETHER).map(show));
      const one = shown[place];
      if (one !== undefined) found.push(one);
      if (found.length === limit) {
        return { found, nextCursor: i === entries.length - 1 ? nextCursor : cursorOf(entry) };
      }
    }
    scanned += entries.length;
    cursor = nextCursor;
    if (cursor === undefined || endsPage) break;
  }
  return { found, nextCursor: cursor };
}

// The size of a batch that should contain the missing entries, by the share so far: all entries of a
// batch are prepared for showing.
function nextSize(limit: number, found: number, scanned: number): number {
  const expected = Math.ceil(((limit - found) * scanned) / Math.max(found, 1));
  return Math.min(Math.max(expected, SMALLEST_BATCH), LARGEST_BATCH);
}
