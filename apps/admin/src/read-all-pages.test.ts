import { readAllPages } from './read-all-pages';

it('readAllPages reads on until there is no next page', async () => {
  const pages = new Map([
    [undefined, [[1, 2], 'a']],
    ['a', [[], 'b']],
    ['b', [[3], undefined]],
  ] as const);
  const all = await readAllPages<number>(async (_limit, before) => {
    const page = pages.get(before as 'a' | 'b' | undefined);
    if (page === undefined) throw new Error(`There is no page after ${before}.`);
    return page;
  });
  expect(all).toEqual([1, 2, 3]);
});
