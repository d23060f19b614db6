import { settledWithin } from './settled-within';

/** What was asked for; `undefined` when that failed or took too long. */
export async function answerWithin<Answer>(
  patienceMs: number,
  asked: Promise<Answer>,
): Promise<Answer | undefined> {
  const isSettled = await settledWithin(patienceMs, asked);
  return isSettled ? await asked.catch(() => undefined) : undefined;
}
