// @ts-check
/**
 * `npm run screenshots` writes pictures of the portal's main pages, light and dark, into docs/images/portal: of the real service on a
 * Redis of its own, with data that is made for it. Needs a browser: see browser/launch-browser.mjs.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { launchBrowser } from './browser/launch-browser.mjs';
import { createApiClient, demoEvents, demoSurroundings } from './demo/demo-service.mjs';
import { startWebhookReceiver } from './demo/webhook-receiver.mjs';
import { describeError, Problem } from './problem.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';
import { buildPortal, buildPrograms } from './setup/build.mjs';
import { CAPABILITIES } from './start/print-welcome.mjs';
import { startStack } from './start/start-stack.mjs';

/** @typedef {ReturnType<typeof createApiClient>} Api */

const FOLDER = join(projectFolder, 'docs', 'images', 'portal');
const SIZE = { width: 1280, height: 800 };
// Everybody who clones the repository gets them.
const MOST_BYTES = 150_000;
const ROUNDS = 12;
const LOOK_EVERY_MS = 200;
// Of the portal's tables and placeholders.
const LOADING = '[aria-busy="true"], [aria-label="Loading"]';

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  await buildPrograms({ signal });
  await buildPortal({ signal });
  const { environment, dataFolder } = await demoSurroundings(group);
  const { apiUrl, apiKey } = await startStack({ environment, dataFolder, group, signal });
  const api = createApiClient({ apiUrl, apiKey, signal });
  const pages = await preparePages(api);
  await mkdir(FOLDER, { recursive: true });
  const browser = await launchBrowser();
  try {
    for (const theme of /** @type {const} */ (['light', 'dark'])) {
      const session = await api.call('POST', '/v1/portal-sessions', 201, {
        account_id: 'default',
        capabilities: CAPABILITIES,
      });
      const { pathname, hash } = new URL(session.url);
      await photograph(browser, { link: apiUrl + pathname + hash, pages, theme });
    }
  } finally {
    await browser.close();
  }
} catch (error) {
  say('screenshots', describeError(group.failure.aborted ? group.failure.reason : error));
  process.exitCode = 1;
} finally {
  await group.stop(stop.insisted);
}

/**
 * Webhooks of which one is well, one fails now and then, and one always; with what they were sent.
 * @param {Api} api
 * @returns the path of each page
 */
async function preparePages(api) {
  let count = 0;
  /** @type {readonly [name: string, respond: () => Promise<number>][]} */
  const receivers = [
    ['Production', async () => 204],
    ['Reporting, which is slow at times', async () => ((count += 1) % 3 === 0 ? 503 : 200)],
    ['An old system', async () => 500],
  ];
  /** @type {string[]} */
  const ids = [];
  for (const [description, respond] of receivers) {
    const { url, close } = await startWebhookReceiver({ port: 0, respond });
    group.onStopped(async () => close());
    ids.push((await api.call('POST', '/v1/webhooks', 201, { url, events: ['*'], description })).id);
  }
  for (let round = 0; round < ROUNDS; round += 1)
    for (const event of demoEvents) await api.publishEvent(event);
  // What accounts use is written every ten seconds.
  await until(
    async () => (await api.call('GET', '/v1/operations/accounts', 200)).data.length > 0 || undefined,
  );
  const delivery = await until(() => findRetried(api, ids[1] ?? ''));
  return {
    overview: '/overview?range=1h',
    deliveries: '/deliveries',
    delivery: `/deliveries/${delivery.id}`,
    webhooks: '/webhooks',
    webhook: `/webhooks/${ids[1]}`,
    'new-webhook': '/webhooks/new',
    'event-type': '/event-types/keyword.quick_win',
    operations: '/operations',
  };
}

/**
 * A delivery that failed first and was delivered then; by then most others are done too.
 * @param {Api} api
 * @param {string} webhookId
 */
async function findRetried(api, webhookId) {
  const { data } = await api.call(
    'GET',
    `/v1/webhooks/${webhookId}/deliveries?status=delivered&limit=200`,
    200,
  );
  return data.find((/** @type {{ attempt_count: number }} */ delivery) => delivery.attempt_count > 1);
}

/**
 * @template Found
 * @param {() => Promise<Found | undefined>} look
 * @returns {Promise<Found>}
 */
async function until(look) {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await wait(LOOK_EVERY_MS, undefined, { signal });
  }
}

/**
 * @param {import('playwright-core').Browser} browser
 * @param {{ link: string, pages: Readonly<Record<string, string>>, theme: 'light' | 'dark' }} wish
 */
async function photograph(browser, { link, pages, theme }) {
  const context = await browser.newContext({
    viewport: SIZE,
    colorScheme: theme,
    reducedMotion: 'reduce',
    // Headless Chromium takes the system's, which may be none that browsers have.
    locale: 'en-US',
  });
  const page = await context.newPage();
  await page.goto(link);
  await page.getByText('Live', { exact: true }).waitFor();
  for (const [name, path] of Object.entries(pages)) {
    await page.evaluate(`history.pushState(null, '', '/portal${path}')`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator(LOADING).first().waitFor({ state: 'detached' });
    if (name === 'new-webhook') await page.getByLabel('Chosen events').check();
    const png = await page.screenshot();
    if (png.length > MOST_BYTES) throw new Problem(`${name}.png has ${png.length} bytes: show less on it.`);
    await writeFile(join(FOLDER, `${name}-${theme}.png`), png);
    say('screenshots', `${name}-${theme}.png, ${png.length} bytes`);
  }
  await context.close();
}
