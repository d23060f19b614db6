declare global {
  /** When jest ends what runs now, a test or a hook, by `performance.now()`: tools/test/timed-environment.mjs. */
  var timeIsOverAt: number | undefined;
}

/** Jest's own error says only that a test took too long. A process that is busy needs some time to say more. */
const BEFORE_MS = 10_000;
const LONGEST_SHOWN = 1_000;

/**
 * Wait for something, and no longer than the test has time. The stack of the error says where the test was.
 * @param seen what was seen last. It is asked when the wait was in vain.
 */
export async function inTime<T>(work: Promise<T>, seen: () => string): Promise<T> {
  if (globalThis.timeIsOverAt === undefined) return await work;
  const limitMs = globalThis.timeIsOverAt - BEFORE_MS - performance.now();
  let timer: NodeJS.Timeout | undefined;
  const timeIsOver = new Promise<typeof OVER>((resolve) => {
    timer = setTimeout(() => resolve(OVER), Math.max(limitMs, 0));
  });
  try {
    const first = await Promise.race([work, timeIsOver]);
    if (first !== OVER) return first;
  } finally {
    clearTimeout(timer);
  }
  throw new Error(
    `Waited in vain, until the test had no more time. Last seen: ${seen().slice(0, LONGEST_SHOWN)}`,
  );
}

const OVER = Symbol('the time is over');
