// @ts-check
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./scene.mjs').Scene} Scene */

// Of the portal's tables and placeholders.
const LOADING = '[aria-busy="true"], [aria-label="Loading"]';

/** @param {Scene} scene */
export const mainPagesOf = ({ webhookId, deliveryId }) => ({
  overview: '/overview?range=1h',
  deliveries: '/deliveries',
  delivery: `/deliveries/${deliveryId}`,
  webhooks: '/webhooks',
  webhook: `/webhooks/${webhookId}`,
  'new-webhook': '/webhooks/new',
  'event-type': '/event-types/keyword.quick_win',
  operations: '/operations',
});

/**
 * What is wrong, with which webhook, with which delivery, and how it is mended.
 * @param {Scene} scene
 */
export const tourOf = ({ webhookId, deliveryId }) => ({
  overview: '/overview?range=1h',
  webhook: `/webhooks/${webhookId}`,
  deliveries: `/deliveries?webhook=${webhookId}`,
  delivery: `/deliveries/${deliveryId}`,
  transformation: `/webhooks/${webhookId}/transformation`,
  operations: '/operations',
});

/** @param {Scene} scene */
export const allPagesOf = (scene) => {
  const { webhookId, eventId } = scene;
  const large = { overview: '/overview?range=1h', webhooks: '/webhooks', webhook: `/webhooks/${webhookId}` };
  return {
    usual: {
      ...mainPagesOf(scene),
      'overview-webhook': `/overview?range=1h&webhook=${webhookId}`,
      'overview-type': '/overview?range=1h&type=keyword.quick_win',
      'edit-webhook': `/webhooks/${webhookId}/edit`,
      replay: `/webhooks/${webhookId}/replay`,
      transformation: `/webhooks/${webhookId}/transformation`,
      events: '/events',
      event: `/events/${eventId}`,
      'event-types': '/event-types',
      outcome: '/outcomes/http_5xx',
      'audit-log': '/audit-log',
      accounts: '/accounts',
      account: '/accounts/default',
      'dead-letters': '/dead-letters',
    },
    empty: {
      overview: '/overview',
      deliveries: '/deliveries',
      webhooks: '/webhooks',
      events: '/events',
      'audit-log': '/audit-log',
    },
    large: { ...large, operations: '/operations', accounts: '/accounts', account: '/accounts/default' },
  };
};

/**
 * @typedef {object} Wish
 * @property {Scene} scene
 * @property {Readonly<Record<string, string>>} pages Their paths, by name.
 * @property {{ readonly width: number, readonly height: number }} size
 * @property {readonly ('light' | 'dark')[]} [themes]
 * @property {string | undefined} [account]
 * @property {boolean} [isWhole] All of the page, however long.
 * @property {boolean} [isLarge] As if each count was ten million times as high.
 */

/**
 * Pictures of pages, named for them and for the theme.
 * @param {import('playwright-core').Browser} browser
 * @param {Wish} wish
 * @returns {AsyncGenerator<{ name: string, png: Buffer }>}
 */
export async function* photograph(browser, wish) {
  const { scene, pages, size, themes = ['light', 'dark'], account, isWhole = false, isLarge = false } = wish;
  for (const theme of themes) {
    const context = await browser.newContext({
      viewport: size,
      colorScheme: theme,
      reducedMotion: 'reduce',
      // Headless Chromium takes the system's, which may be none that browsers have.
      locale: 'en-US',
    });
    const page = await context.newPage();
    if (isLarge) await enlarge(page);
    await page.goto(await scene.link(account));
    await page.getByRole('navigation').first().waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    for (const [name, path] of Object.entries(pages)) {
      await page.evaluate(`history.pushState(null, '', '/portal${path}')`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      if (name === 'new-webhook') await page.getByLabel('Chosen events').check();
      await page.locator(LOADING).first().waitFor({ state: 'detached' });
      yield { name: `${name}-${theme}`, png: await page.screenshot({ fullPage: isWhole }) };
    }
    await context.close();
  }
}

const TIMES = 10_000_000;
const COUNTS =
  /"(attempts(?:_24h)?|delivered|failed|retried|exhausted|events|bytes|transform_ms|waiting|delayed|active|held|used_bytes|webhooks|attempts_per_second|slots_in_use|slots_allowed|oldest_waiting_seconds|dead_letters|(?:disabled|busy|breaker_open|rate_limited))":(\d+(?:\.\d+)?)/g;

/**
 * What the API says has higher numbers, and longer names, on their way to the page.
 * @param {Page} page
 */
async function enlarge(page) {
  await page.route(/\/v1\/(?!stream|portal)/, async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    const body = text
      .replaceAll(COUNTS, (_all, name, count) => `"${name}":${Math.ceil(Number(count) * TIMES)}`)
      .replaceAll(/"(description|name)":"([^"]+)"/g, (_all, name, value) => `"${name}":"${value.repeat(8)}"`);
    await route.fulfill({ response, body });
  });
}
