import { setTimeout as wait } from 'node:timers/promises';
import { createPromRegistry, EVENT_LOOP_LOOK_MS, readEventLoopLagMs } from './prom-registry';

const LONG_MS = 4 * EVENT_LOOP_LOOK_MS;

function keepBusy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it('tells how late the event loop is, without the time between two looks', async () => {
  const registry = createPromRegistry();
  const scrape = async () => {
    await registry.metrics();
    return await readEventLoopLagMs(registry);
  };
  await wait(2 * EVENT_LOOP_LOOK_MS);
  keepBusy(LONG_MS);
  await wait(EVENT_LOOP_LOOK_MS);
  // It was due within the first of four looks, and came after the last.
  expect(await scrape()).toBeGreaterThanOrEqual(LONG_MS - EVENT_LOOP_LOOK_MS);
  expect(await scrape()).toBe(0);
});
