/** A part of a list, in the list's order. */
export interface Batch<Entry, Cursor> {
  readonly entries: readonly Entry[];
  /** Where the next part starts; none: that was the last one. */
  readonly nextCursor: Cursor | undefined;
}

export interface ScanPageInput<Entry, Found, Cursor> {
  readonly limit: number;
  /** Where the page before ended. */
  readonly before: Cursor | undefined;
  readonly readBatch: (limit: number, before: Cursor | undefined) => Promise<Batch<Entry, Cursor>>;
  readonly cursorOf: (entry: Entry) => Cursor;
  /** What an entry is shown as; `undefined`: it is left out. */
  readonly show: (entry: Entry) => Promise<Found | undefined>;
}

export interface Page<Found, Cursor> {
  readonly found: readonly Found[];
  readonly nextCursor: Cursor | undefined;
}

const BATCH = 250;
/** After so many entries a page ends, however few of them were shown: the next one goes on from there. */
export const MOST_SCANNED = 500;

/** A page of those entries of a list that are to be shown: in bounded time, also where hardly any is. */
export async function scanPage<Entry, Found, Cursor>({
  limit,
  before,
  readBatch,
  cursorOf,
  show,
}: ScanPageInput<Entry, Found, Cursor>): Promise<Page<Found, Cursor>> {
  const found: Found[] = [];
  let cursor = before;
  // Mostly all are shown, so that the first batch is the page.
  for (let scanned = 0, size = limit; scanned < MOST_SCANNED; size = BATCH) {
    const { entries, nextCursor } = await readBatch(size, cursor);
    const shown = await Promise.all(entries.map(show));
    for (const [i, entry] of entries.entries()) {
      const one = shown[i];
      if (one !== undefined) found.push(one);
      if (found.length === limit) {
        return { found, nextCursor: i === entries.length - 1 ? nextCursor : cursorOf(entry) };
      }
    }
    scanned += entries.length;
    cursor = nextCursor;
    if (cursor === undefined) break;
  }
  return { found, nextCursor: cursor };
}
