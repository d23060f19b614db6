import type { Page } from 'playwright-core';

const PHONE = { width: 360, height: 740 };

/** Fails if somebody with a phone would have to scroll sideways. Leaves the page as it was. */
export async function checkWidth(page: Page): Promise<void> {
  const before = page.viewportSize();
  await page.setViewportSize(PHONE);
  const overflowing = (await page.evaluate(findOverflowing, PHONE.width)) as string[];
  if (before) await page.setViewportSize(before);
  if (overflowing.length > 0) throw new Error(`Wider than ${PHONE.width} px:\n${overflowing.join('\n')}`);
}

/** Runs in the page: what reaches beyond its right edge, if the page as a whole scrolls because of it. */
const findOverflowing = `(width) => {
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.body.querySelectorAll('*')]
    .filter((element) => element.getBoundingClientRect().right > width)
    .map((element) => element.tagName + '.' + element.className + ': ' + element.textContent.slice(0, 60));
}`;
