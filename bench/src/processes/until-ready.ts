import { setTimeout as wait } from 'node:timers/promises';

const LOOK_EVERY_MS = 50;
// A bound, so that a process that can't start ends the benchmark.
const READY_WITHIN_MS = 20_000;

/** Resolves once the API at this address says that it is ready. */
export async function untilReady(url: string): Promise<void> {
  const limit = Date.now() + READY_WITHIN_MS;
  while (!(await isReady(url))) {
    if (Date.now() > limit) throw new Error('The API did not become ready.');
    await wait(LOOK_EVERY_MS);
  }
}

async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}
