const PAGE = 200;

/** Everything in a list that is read page by page. `readPage` gives a page's items and where the next one starts. */
export async function readAllPages<Item>(
  readPage: (
    limit: number,
    before: string | undefined,
  ) => Promise<readonly [items: readonly Item[], nextCursor: string | undefined]>,
): Promise<Item[]> {
  const all: Item[] = [];
  let before: string | undefined;
  do {
    const [items, nextCursor] = await readPage(PAGE, before);
    all.push(...items);
    before = nextCursor;
  } while (before !== undefined);
  return all;
}
