import { setTimeout as wait } from 'node:timers/promises';

/** The result of the work. @throws Error if that takes longer. Its result is then ignored. */
export async function within<T>(patienceMs: number, work: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const silence = wait(Math.max(patienceMs, 0), undefined, { signal: stop.signal }).then(() => {
    throw new Error('Redis did not reply in time');
  });
  // Nobody waits for the one that ends second.
  silence.catch(() => {});
  work.catch(() => {});
  try {
    return await Promise.race([work, silence]);
  } finally {
    stop.abort();
  }
}
