import { inBatches } from './batches';

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
