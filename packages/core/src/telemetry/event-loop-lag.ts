import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Its default, 10 ms, is half of what an idle process costs. */
export const EVENT_LOOP_LOOK_MS = 250;

const NS_PER_MS = 1e6;

/**
 * How late timers come. Node.js tells how long it is from one look to the next, the time between them included, so that an
 * idle process seems to be late by it.
 *
 * @returns what gives the 99th percentile since it was asked last, in milliseconds.
 */
export function watchEventLoop(): () => number {
  const histogram = monitorEventLoopDelay({ resolution: EVENT_LOOP_LOOK_MS });
  histogram.enable();
  return () => {
    const betweenLooksMs = histogram.percentile(99) / NS_PER_MS;
    histogram.reset();
    return Math.max(betweenLooksMs - EVENT_LOOP_LOOK_MS, 0);
  };
}
