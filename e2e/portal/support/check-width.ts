import type { Page } from 'playwright-core';

const PHONE = { width: 360, height: 740 };

/** Runs in the page: what reaches beyond its right edge, if the page as a whole scrolls because of it. */
const FIND_OVERFLOWING = `
  document.documentElement.scrollWidth <= innerWidth ? [] : [...document.body.querySelectorAll('*')]
    .filter((element) => element.getBoundingClientRect().right > innerWidth)
    .map((element) => element.tagName + '.' + element.className + ': ' + element.textContent.slice(0, 60))`;

/** Fails if somebody with a phone would have to scroll sideways. Leaves the page as it was. */
export async function checkWidth(page: Page): Promise<void> {
  const before = page.viewportSize();
  await page.setViewportSize(PHONE);
  const overflowing = (await page.evaluate(FIND_OVERFLOWING)) as string[];
  if (before) await page.setViewportSize(before);
  if (overflowing.length > 0) throw new Error(`Wider than ${PHONE.width} px:\n${overflowing.join('\n')}`);
}
