import { inBatches, scanPage, Turns } from './batches';

describe('batches', () => {
  async function* count(to: number, taken: number[] = []) {
    for (let n = 1; n <= to; n += 1) {
      taken.push(n);
      yield n;
    }
  }

  it.each([
    [0, []],
    [2, [[1, 2]]],
    [3, [[1, 2], [3]]],
    [
      4,
      [
        [1, 2],
        [3, 4],
      ],
    ],
  ])('gives %i of them two at a time, and what is left at the end', async (to, expected) => {
    const batches: (readonly number[])[] = [];
    for await (const batch of inBatches(count(to), 2)) batches.push(batch);
    expect(batches).toEqual(expected);
  });

  it('takes no more than it is asked for', async () => {
    const taken: number[] = [];
    await inBatches(count(100, taken), 2).next();
    expect(taken).toEqual([1, 2]);
  });
});

describe('turns', () => {
  it('runs one after the other, in the order in which they come', async () => {
    const turns = new Turns();
    const log: string[] = [];
    const work = (name: string) => async () => {
      log.push(`${name} begins`);
      await Promise.resolve();
      log.push(`${name} ends`);
      return name;
    };
    expect(await Promise.all([turns.take(work('one')), turns.take(work('two'))])).toEqual(['one', 'two']);
    expect(log).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  it('goes on after one that fails, which fails for its own caller only', async () => {
    const turns = new Turns();
    const failing = turns.take(() => Promise.reject(new Error('no luck')));
    const next = turns.take(async () => 'next');
    await expect(failing).rejects.toThrow('no luck');
    expect(await next).toBe('next');
  });
});

describe('scan page', () => {
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
});
