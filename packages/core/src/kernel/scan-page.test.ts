import { scanPage } from './scan-page';

const MOST_SCANNED = 300;

/** A list of the numbers from `count` down to 1, and how many of them were looked at. */
function listOf(count: number) {
  let read = 0;
  return {
    looked: () => read,
    async readBatch(limit: number, before = count + 1) {
      const entries = Array.from({ length: Math.min(limit, before - 1) }, (_, i) => before - 1 - i);
      read += entries.length;
      const last = entries.at(-1);
      return { entries, nextCursor: last === undefined || last === 1 ? undefined : last };
    },
  };
}

function pageOf(
  list: ReturnType<typeof listOf>,
  limit: number,
  isShown: (entry: number) => boolean = () => true,
  before?: number,
) {
  return scanPage({
    limit,
    before,
    mostScanned: MOST_SCANNED,
    readBatch: list.readBatch,
    cursorOf: (entry) => entry,
    show: async (entry) => (isShown(entry) ? `shown ${entry}` : undefined),
  });
}

describe('scanPage', () => {
  it('reads no more than the page when all are shown', async () => {
    const list = listOf(10);
    expect(await pageOf(list, 3)).toEqual({ found: ['shown 10', 'shown 9', 'shown 8'], nextCursor: 8 });
    expect(list.looked()).toBe(3);
  });

  it('reads few more where few are missing', async () => {
    const list = listOf(700);
    expect((await pageOf(list, 50, (entry) => entry !== 690)).found).toHaveLength(50);
    expect(list.looked()).toBeLessThan(100);
  });

  it('fills a page that is larger than what it looks at otherwise', async () => {
    const page = await pageOf(listOf(700), MOST_SCANNED + 1);
    expect(page).toMatchObject({ found: { length: MOST_SCANNED + 1 }, nextCursor: 700 - MOST_SCANNED });
  });

  it('has no next page when the last one is just full', async () => {
    expect((await pageOf(listOf(3), 3)).nextCursor).toBeUndefined();
  });

  it.each([1, 2, 7, 250, 300])('shows each match once, in pages of %d', async (limit) => {
    const isShown = (entry: number) => entry % 3 === 0;
    const found: string[] = [];
    let before: number | undefined;
    do {
      const page = await pageOf(listOf(700), limit, isShown, before);
      found.push(...page.found);
      before = page.nextCursor;
    } while (before !== undefined);
    expect(found).toEqual(Array.from({ length: 233 }, (_, i) => `shown ${699 - 3 * i}`));
  });

  it('prepares few entries at the same time, and none after the page is full', async () => {
    let open = 0;
    let prepared = 0;
    let most = 0;
    const { found } = await scanPage({
      limit: 100,
      before: undefined,
      mostScanned: MOST_SCANNED,
      readBatch: listOf(700).readBatch,
      cursorOf: (entry) => entry,
      show: async (entry) => {
        prepared += 1;
        open += 1;
        most = Math.max(most, open);
        await Promise.resolve();
        open -= 1;
        return entry % 2 === 0 ? entry : undefined;
      },
    });
    expect([found.length, most]).toEqual([100, 25]);
    expect(prepared).toBeLessThanOrEqual(200);
  });

  it('ends a page after a bounded search, and the next one goes on from there', async () => {
    const list = listOf(5 * MOST_SCANNED);
    const first = await pageOf(list, 50, (entry) => entry === 1);
    expect(first.found).toEqual([]);
    expect(first.nextCursor).toBeDefined();
    expect(list.looked()).toBe(MOST_SCANNED);
    const second = await pageOf(list, 50, (entry) => entry === 1, 2);
    expect(second).toEqual({ found: ['shown 1'], nextCursor: undefined });
  });
});
