/** Does the work for each number below `count`, so many at once: when one is done, the next one begins. */
export async function inParallel(
  count: number,
  atOnce: number,
  work: (i: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  async function workOnRest(): Promise<void> {
    while (next < count) await work(next++);
  }
  await Promise.all(Array.from({ length: atOnce }, workOnRest));
}
