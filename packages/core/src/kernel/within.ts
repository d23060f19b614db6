/** What was asked for; `undefined` when that failed or took too long. */
export async function answerWithin<Answer>(
  patienceMs: number,
  asked: Promise<Answer>,
): Promise<Answer | undefined> {
  const isSettled = await settledWithin(patienceMs, asked);
  return isSettled ? await asked.catch(() => undefined) : undefined;
}

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
