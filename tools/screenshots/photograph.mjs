// @ts-check

const VIEWPORT = { width: 1280, height: 800 };
const THEMES = /** @type {const} */ (['light', 'dark']);
// Of the portal's tables and placeholders.
const LOADING = '[aria-busy="true"], [aria-label="Loading"]';

/** @param {import('./prepare-scene.mjs').Scene} scene */
const pagesOf = ({ webhookId, deliveryId }) => ({
  deliveries: '/deliveries',
  delivery: `/deliveries/${deliveryId}`,
  webhooks: '/webhooks',
  webhook: `/webhooks/${webhookId}`,
  'new-webhook': '/webhooks/new',
  'event-type': '/event-types/keyword.quick_win',
  operations: '/operations',
});

/**
 * Pictures of the portal's main pages, each in light and dark, named for them.
 * @param {import('playwright-core').Browser} browser
 * @param {import('./prepare-scene.mjs').Scene} scene
 * @returns {AsyncGenerator<{ name: string, png: Buffer }>}
 */
export async function* photograph(browser, scene) {
  for (const theme of THEMES) {
    const context = await browser.newContext({
      viewport: VIEWPORT,
      colorScheme: theme,
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    await page.goto(await scene.link());
    await page.getByRole('navigation').first().waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    for (const [name, path] of Object.entries(pagesOf(scene))) {
      await page.evaluate(`history.pushState(null, '', '/portal${path}')`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      if (name === 'new-webhook') await page.getByLabel('Chosen events').check();
      await page.locator(LOADING).first().waitFor({ state: 'detached' });
      yield { name: `${name}-${theme}`, png: await page.screenshot() };
    }
    await context.close();
  }
}
