import type { Page, Request } from 'playwright-core';
import { until } from '../../support/until';
import type { Portal, SessionWish } from './use-portal';

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

// Longer than all other reads take.
const LATE_MS = 1_000;
const READS = /\/v1\/(?!stream|portal-sessions)/;
const LOADING = '[aria-busy="true"], [aria-label="Loading"]';

/** Opens a page again for each response that it reads, which is late then: nothing may move, whichever comes last. */
export async function checkSteadinessWithLateReads(portal: Portal, wish: SessionWish): Promise<number> {
  const reads = new Set<string>();
  await openWith(portal, wish, async (read) => void reads.add(read));
  for (const late of reads) {
    const page = await openWith(portal, wish, async (read) => {
      if (read === late) await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    });
    await checkSteadiness(page).catch((error: unknown) => {
      throw new Error(`Something moves when ${late} is late.`, { cause: error });
    });
  }
  return reads.size;
}

/** @param before what happens before a read of the API, told by its path and what it asks for. */
async function openWith(portal: Portal, wish: SessionWish, before: (read: string) => Promise<void>) {
  const reading = new Set<Request>();
  const prepare = async (page: Page) => {
    page.on('request', (request) => READS.test(request.url()) && reading.add(request));
    for (const end of ['requestfinished', 'requestfailed'] as const)
      page.on(end as 'requestfinished', (request) => reading.delete(request));
    await page.route(READS, async (route) => {
      await before(nameOf(route.request().url()));
      await route.continue();
    });
  };
  const page = await portal.signIn({ ...wish, prepare });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await until(async () => {
    await page.locator(LOADING).first().waitFor({ state: 'detached' });
    return reading.size === 0 || undefined;
  });
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  return page;
}

/** Without the times, which are others each time. */
function nameOf(url: string): string {
  const { pathname, searchParams } = new URL(url);
  const rest = [...searchParams].filter(([name]) => name !== 'since' && name !== 'until');
  return `${pathname}?${new URLSearchParams(rest).toString()}`;
}
