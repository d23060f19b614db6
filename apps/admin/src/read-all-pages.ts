const PAGE = 200;

/** Gives a page's items and where the next one starts. */
export type ReadPage<Item, Cursor> = (
  limit: number,
  before: Cursor | undefined,
) => Promise<readonly [items: readonly Item[], nextCursor: Cursor | undefined]>;

/** The pages of a list, one after the other; each is read when it is asked for. */
export async function* readPages<Item, Cursor>(
  readPage: ReadPage<Item, Cursor>,
): AsyncGenerator<readonly Item[]> {
  let before: Cursor | undefined;
  do {
    const [items, nextCursor] = await readPage(PAGE, before);
    yield items;
    before = nextCursor;
  } while (before !== undefined);
}

/** Everything in a list that is read page by page. */
export async function readAllPages<Item, Cursor = string>(readPage: ReadPage<Item, Cursor>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const items of readPages(readPage)) all.push(...items);
  return all;
}
