export interface ShrinkOptions<Item> {
  /** Whether it still goes wrong with these alone. */
  readonly fails: (items: readonly Item[]) => Promise<boolean>;
  /** Whether there is time for another try. */
  readonly mayTry: () => boolean;
}

/**
 * The shortest part of something failing, in its order, that could be found to fail as well: first without larger and
 * then without smaller pieces, down to single ones (Zeller's ddmin). What fails now and then may come out too long, never wrong:
 * what is returned has failed.
 */
export async function shrink<Item>(
  failing: readonly Item[],
  { fails, mayTry }: ShrinkOptions<Item>,
): Promise<readonly Item[]> {
  let shortest = failing;
  let pieceLength = Math.ceil(failing.length / 2);
  while (shortest.length > 1) {
    const shorter = await firstFailing(candidatesOf(shortest, pieceLength), { fails, mayTry });
    if (shorter) {
      shortest = shorter;
      pieceLength = Math.min(pieceLength, Math.ceil(shorter.length / 2));
    } else if (pieceLength > 1 && mayTry()) pieceLength = Math.ceil(pieceLength / 2);
    else return shortest;
  }
  return shortest;
}

/** Each piece alone, and then everything without it. */
function candidatesOf<Item>(items: readonly Item[], pieceLength: number): readonly (readonly Item[])[] {
  const starts = Array.from({ length: Math.ceil(items.length / pieceLength) }, (_, i) => i * pieceLength);
  const pieces = starts.map((start) => items.slice(start, start + pieceLength));
  const rests = starts.map((start) => [...items.slice(0, start), ...items.slice(start + pieceLength)]);
  return (starts.length > 2 ? [...pieces, ...rests] : pieces).filter(
    ({ length }) => length > 0 && length < items.length,
  );
}

async function firstFailing<Item>(
  candidates: readonly (readonly Item[])[],
  { fails, mayTry }: ShrinkOptions<Item>,
): Promise<readonly Item[] | undefined> {
  for (const candidate of candidates) {
    if (!mayTry()) return undefined;
    if (await fails(candidate)) return candidate;
  }
  return undefined;
}
