import type { Page } from 'playwright-core';
import { until } from '../../support/until';

/** Goes by the tab key, as somebody does who has no mouse, to what has this name. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const focused = `document.activeElement?.labels?.[0]?.textContent ?? document.activeElement?.textContent`;
  await until(async () => {
    if ((await page.evaluate(focused)) === name) return true;
    await page.keyboard.press('Tab');
    return undefined;
  });
}
