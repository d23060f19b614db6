// @ts-check
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./scene.mjs').Scene} Scene */

// Of the portal's tables and placeholders.
const LOADING = '[aria-busy="true"], [aria-label="Loading"]';
// No page's: what the one before has open is closed with it, also where only what follows the path differs.
const NOWHERE = '/portal/nowhere';

/**
 * @typedef {object} Wish
 * @property {Scene} scene
 * @property {import('./pages.mjs').Pages} pages
 * @property {{ readonly width: number, readonly height: number }} size
 * @property {readonly ('light' | 'dark')[]} [themes]
 * @property {(() => Promise<string>) | undefined} [openAccount] Whose pages they are, one for each theme; else the operator's.
 * @property {boolean} [isWhole] All of the page, however long.
 * @property {((page: Page) => Promise<void>) | undefined} [prepare] Before it goes anywhere.
 */

/**
 * Pictures of pages, named for them and for the theme.
 * @param {import('playwright-core').Browser} browser
 * @param {Wish} wish
 * @returns {AsyncGenerator<{ name: string, png: Buffer, tooWide: number }>} `tooWide`: by how many pixels it scrolls sideways
 */
export async function* photograph(browser, wish) {
  const { scene, pages, size, themes = ['light', 'dark'], openAccount, isWhole = false, prepare } = wish;
  for (const theme of themes) {
    const context = await browser.newContext({
      viewport: size,
      colorScheme: theme,
      reducedMotion: 'reduce',
      // Headless Chromium takes the system's, which may be none that browsers have.
      locale: 'en-US',
    });
    const page = await context.newPage();
    await prepare?.(page);
    await page.goto(await scene.link(await openAccount?.()));
    await page.getByRole('navigation').first().waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    for (const [name, shown] of Object.entries(pages)) {
      await show(page, shown, name);
      // A dialog is where the screen is, not where the page is.
      const isCovered = (await page.locator('[role=dialog], [role=alertdialog]').count()) > 0;
      const png = await page.screenshot({ fullPage: isWhole && !isCovered });
      const tooWide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
      yield { name: `${name}-${theme}`, png, tooWide };
    }
    // What is on its way at the end is of no use.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  }
}

/**
 * @param {Page} page
 * @param {import('./pages.mjs').Shown} shown
 * @param {string} name
 */
async function show(page, shown, name) {
  const { path, act } = typeof shown === 'string' ? { path: shown, act: undefined } : shown;
  try {
    await page.evaluate(`history.pushState(null, '', '${NOWHERE}')`);
    await page.getByText('There is no such page').waitFor();
    await page.evaluate(`history.pushState(null, '', '/portal${path}')`);
    if (path !== '/nowhere') await page.getByText('There is no such page').waitFor({ state: 'detached' });
    await page.locator(LOADING).first().waitFor({ state: 'detached' });
    await act?.(page);
    await page.locator(LOADING).first().waitFor({ state: 'detached' });
  } catch (error) {
    throw new Error(`The page ${name} can't be shown.`, { cause: error });
  }
}
