/** Resolves when the work has come to its end, be it well or not, or when its time is over. */
export async function settledWithin(patienceMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeIsOver = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, patienceMs);
  });
  await Promise.race([work.catch(() => {}), timeIsOver]);
  clearTimeout(timer);
}
