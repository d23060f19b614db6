import { setTimeout as wait } from 'node:timers/promises';

/** What the work comes to. @throws Error when that takes longer; then nobody hears of it any more. */
export async function within<T>(patienceMs: number, work: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const silence = wait(Math.max(patienceMs, 0), undefined, { signal: stop.signal }).then(() => {
    throw new Error('Redis did not answer in time');
  });
  // The one that comes second has nobody who waits for it.
  silence.catch(() => {});
  work.catch(() => {});
  try {
    return await Promise.race([work, silence]);
  } finally {
    stop.abort();
  }
}
