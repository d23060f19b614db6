import { shrink } from './shrink';

const ITEMS = [1, 2, 3, 4, 5, 6, 7, 8];

it.each([
  ['one alone', [5]],
  ['two that are next to each other', [4, 5]],
  ['two that are far from each other', [1, 8]],
  ['three in all places', [2, 5, 7]],
])('finds what something fails for: %s', async (_name, guilty) => {
  const tried: (readonly number[])[] = [];
  const fails = async (items: readonly number[]) => {
    tried.push(items);
    return guilty.every((one) => items.includes(one));
  };
  expect(await shrink(ITEMS, { fails, mayTry: () => true })).toEqual(guilty);
  expect(tried.length).toBeLessThan(60);
});

it('gives what it has when time is over: something that has failed', async () => {
  let tries = 3;
  const fails = async (items: readonly number[]) => items.includes(1) && items.includes(2);
  const shortest = await shrink(ITEMS, { fails, mayTry: () => tries-- > 0 });
  expect(await fails(shortest)).toBe(true);
  expect(shortest.length).toBeLessThan(ITEMS.length);
});

it('keeps all of what fails only as a whole', async () => {
  const fails = async (items: readonly number[]) => items.length === ITEMS.length;
  expect(await shrink(ITEMS, { fails, mayTry: () => true })).toEqual(ITEMS);
});
