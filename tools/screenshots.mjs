// @ts-check
/**
 * `npm run screenshots` writes pictures of the portal's main pages, light and dark, into docs/images/portal: of the real service on a
 * Redis and a PostgreSQL of its own, with a week of deliveries that are made for it. Needs a browser (see browser/launch-browser.mjs) and
 * openssl.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { launchBrowser } from './browser/launch-browser.mjs';
import { createApiClient, demoSurroundings } from './demo/demo-service.mjs';
import { eventOf, fillWeek, registerShops, SHOPS, startShops } from './demo/shops.mjs';
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
const EVENTS_NOW = 40;
const BETWEEN_EVENTS_MS = 400;
const LOOK_EVERY_MS = 200;
// Of the portal's tables and placeholders.
const LOADING = '[aria-busy="true"], [aria-label="Loading"]';

/** What is done with a page before its picture is taken. @type {Readonly<Record<string, (page: import('playwright-core').Page) => Promise<unknown>>>} */
const ready = {
  // What is below the settings comes last.
  webhook: (page) => page.getByRole('table', { name: 'Deliveries' }).waitFor(),
};

const stop = listenForStopSignals();
const group = new ProcessGroup();
const startedAt = Date.now();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  await buildPrograms({ signal });
  await buildPortal({ signal });
  const { environment, dataFolder } = await demoSurroundings(group);
  const shops = await startShopsWithNames();
  const { apiUrl, apiKey, redisUrl } = await startStack({
    environment: { ...environment, ...shops },
    dataFolder,
    group,
    signal,
    hasHistory: true,
  });
  if (redisUrl === undefined) throw new Problem('The pictures need a Redis of their own.');
  const api = createApiClient({ apiUrl, apiKey, signal });
  const pages = await preparePages(api, redisUrl);
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

/** @returns {Promise<Record<string, string>>} the settings by which the service finds the shops, under names as they are in life */
async function startShopsWithNames() {
  // Not at the top of the file: it exists only once the project has been built.
  const { CertificateAuthority } = await import('@hookferry/core/testing/certificate-authority');
  const authority = new CertificateAuthority();
  const { proxyUrl, close } = await startShops((subject) => authority.issue({ subject }));
  group.onStopped(async () => close());
  return { DELIVERY_PROXY_URL: proxyUrl, NODE_EXTRA_CA_CERTS: authority.certFile };
}

/**
 * The webhooks of the shops, a week of what they were sent, and what they are sent now.
 * @param {Api} api
 * @param {string} redisUrl
 * @returns the path of each page
 */
async function preparePages(api, redisUrl) {
  const ids = await registerShops(
    api,
    SHOPS.map(({ host, path }) => `https://${host}${path}`),
  );
  const past = await fillWeek({ redisUrl, webhookIds: ids, hasHistory: true, signal });
  for (let each = 1; each <= EVENTS_NOW; each += 1) {
    await api.publishEvent(eventOf(past + each));
    await wait(BETWEEN_EVENTS_MS, undefined, { signal });
  }
  const [, books = ''] = ids;
  const delivery = await until(() => findRetried(api, books));
  return {
    deliveries: '/deliveries',
    delivery: `/deliveries/${delivery.id}`,
    webhook: `/webhooks/${books}`,
    'event-type': '/event-types/order.created',
    operations: '/operations',
    // Not the first one: the portal begins there, with another range, and keeps that until the week has come.
    overview: '/overview?range=7d',
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
    `/v1/webhooks/${webhookId}/deliveries?status=delivered&limit=50`,
    200,
  );
  // Of today, by the service itself: those of the week have no headers.
  return data.find(
    (
      /** @type {{ attempt_count: number, created_at: string }} */ {
        attempt_count: attempts,
        created_at: at,
      },
    ) => attempts > 1 && Date.parse(at) > startedAt,
  );
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
    await ready[name]?.(page);
    const png = await page.screenshot();
    if (png.length > MOST_BYTES) throw new Problem(`${name}.png has ${png.length} bytes: show less on it.`);
    await writeFile(join(FOLDER, `${name}-${theme}.png`), png);
    say('screenshots', `${name}-${theme}.png, ${png.length} bytes`);
  }
  await context.close();
}
