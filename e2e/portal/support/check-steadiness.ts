import type { Page } from 'playwright-core';

// Of all that is in view, times how far of the whole way; https://web.dev/cls calls 0.1 good.
const SEEN = 0.001;

/** Runs in the page: what moved although nobody did anything, since it was loaded. */
const FIND_MOVES = `new Promise((resolve) => {
  const placeOf = ({ left, top, width, height }) => [left, top, width, height].map(Math.round).join(' ');
  const nameOf = (node) => (node?.outerHTML ?? node?.textContent ?? 'what is gone').slice(0, 120);
  const describe = ({ value, sources }) => value.toFixed(3) + sources.map(({ node, previousRect, currentRect }) =>
    '\\n  from ' + placeOf(previousRect) + ' to ' + placeOf(currentRect) + ': ' + nameOf(node)).join('');
  const tell = (list) => resolve(list.getEntries().filter(({ value }) => value >= ${SEEN}).map(describe));
  new PerformanceObserver(tell).observe({ type: 'layout-shift', buffered: true });
  // Nothing is told of a page that never moved.
  setTimeout(() => resolve([]), 500);
})`;

/** Fails if something that was in view has moved since the page was loaded, other than because of what somebody did to it. */
export async function checkSteadiness(page: Page): Promise<void> {
  const moves = (await page.evaluate(FIND_MOVES)) as string[];
  if (moves.length > 0) throw new Error(`What was in view has moved:\n${moves.join('\n')}`);
}
