/** Resolves when the work has come to its end, be it well or not, or when its time is over. Gives whether it has. */
export async function settledWithin(patienceMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeIsOver = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), patienceMs);
  });
  const hasEnded = work.then(
    () => true,
    () => true,
  );
  const isSettled = await Promise.race([hasEnded, timeIsOver]);
  clearTimeout(timer);
  return isSettled;
}
