import { setTimeout as wait } from 'node:timers/promises';
import { EVENT_LOOP_LOOK_MS, watchEventLoop } from './prom-registry';

const LONG_MS = 4 * EVENT_LOOP_LOOK_MS;

function keepBusy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it('tells how late the event loop is, without the time between two looks', async () => {
  const readLagMs = watchEventLoop();
  await wait(2 * EVENT_LOOP_LOOK_MS);
  keepBusy(LONG_MS);
  await wait(EVENT_LOOP_LOOK_MS);
  const lagMs = readLagMs();
  // It was due within the first of four looks, and came after the last.
  expect(lagMs).toBeGreaterThanOrEqual(LONG_MS - EVENT_LOOP_LOOK_MS);
  expect(readLagMs()).toBe(0);
});
