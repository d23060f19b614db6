/** How far a search through all keys is. */
export interface SearchPlace {
  /** The servers that hold the keys when it began, in the order in which they are searched. */
  readonly masters: readonly string[];
  /** The one that is being searched. */
  readonly master: string;
  readonly cursor: string;
}

const START = '0';

/**
 * Where a search is to go on. It begins again when the servers are others than they were: what has moved may have moved from
 * where it has not looked yet to where it has been, and a cursor says nothing to another server.
 *
 * @param masters in any order, which differs from process to process.
 */
export function placeAmong(
  masters: readonly string[],
  noted: SearchPlace | undefined,
): SearchPlace | undefined {
  const sorted = masters.toSorted();
  if (noted && isSame(noted.masters, sorted)) return noted;
  return startOf(sorted, 0);
}

/** The place after a look that gave this cursor; `undefined` at the end. */
export function placeAfter({ masters, master }: SearchPlace, cursor: string): SearchPlace | undefined {
  if (cursor !== START) return { masters, master, cursor };
  return startOf(masters, masters.indexOf(master) + 1);
}

function startOf(masters: readonly string[], index: number): SearchPlace | undefined {
  const master = masters[index];
  return master === undefined ? undefined : { masters, master, cursor: START };
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each, i) => each === others[i]);
}
