import { answerWithin } from '../kernel/answer-within';

// A scrape must be answered also when Redis is away: then without the numbers that come from there.
const PATIENCE_MS = 1_000;

/** What was read for a scrape; `undefined` when that failed or took too long. */
export async function inTime<Read>(reading: Promise<Read>): Promise<Read | undefined> {
  return await answerWithin(PATIENCE_MS, reading);
}
