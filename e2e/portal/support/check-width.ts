import type { Page } from 'playwright-core';

const PHONE = { width: 360, height: 740 };
const WALL = { width: 3840, height: 2160 };

/** Runs in the page: what reaches beyond its right edge, if the page as a whole scrolls because of it. */
const FIND_OVERFLOWING = `
  document.documentElement.scrollWidth <= innerWidth ? [] : [...document.body.querySelectorAll('*')]
    .filter((element) => element.getBoundingClientRect().right > innerWidth)
    .map((element) => element.tagName + '.' + element.className + ': ' + element.textContent.slice(0, 60))`;

/** Fails if somebody with a phone, or with a 4K screen, would have to scroll sideways. Leaves the page as it was. */
export async function checkWidth(page: Page): Promise<void> {
  const before = page.viewportSize();
  const faults: string[] = [];
  for (const size of [PHONE, WALL]) {
    await page.setViewportSize(size);
    const overflowing = (await page.evaluate(FIND_OVERFLOWING)) as string[];
    if (overflowing.length > 0) faults.push(`Wider than ${size.width} px:`, ...overflowing);
  }
  if (before) await page.setViewportSize(before);
  if (faults.length > 0) throw new Error(faults.join('\n'));
}
