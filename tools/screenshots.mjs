// @ts-check
/**
 * `npm run screenshots` writes pictures of the portal's main pages, light and dark, into docs/images/portal: of the real
 * service on a Redis of its own, with data that is made for it. Needs a browser: see browser/launch-browser.mjs.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { launchBrowser } from './browser/launch-browser.mjs';
import { demoEvents, demoSurroundings } from './demo/demo-service.mjs';
import { startWebhookReceiver } from './demo/webhook-receiver.mjs';
import { describeError, Problem } from './problem.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';
import { buildPortal, buildPrograms } from './setup/build.mjs';
import { startStack } from './start/start-stack.mjs';

const FOLDER = join(projectFolder, 'docs', 'images', 'portal');
// Everybody who clones the repository gets them.
const MOST_BYTES = 150_000;

const ROUNDS = 12;
const LOOK_EVERY_MS = 200;
const CAPABILITIES = ['read', 'webhooks', 'resend', 'schedule', 'secrets', 'audit', 'operate'];

const VIEWPORT = { width: 1280, height: 800 };
const THEMES = /** @type {const} */ (['light', 'dark']);
// Of the portal's tables and placeholders.
const LOADING = '[aria-busy="true"], [aria-label="Loading"]';

/** @param {Scene} scene */
const pagesOf = ({ webhookId, deliveryId }) => ({
  overview: '/overview?range=1h',
  deliveries: '/deliveries',
  delivery: `/deliveries/${deliveryId}`,
  webhooks: '/webhooks',
  webhook: `/webhooks/${webhookId}`,
  'new-webhook': '/webhooks/new',
  'event-type': '/event-types/keyword.quick_win',
  operations: '/operations',
});

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  await buildPrograms({ signal });
  await buildPortal({ signal });
  const { environment, dataFolder } = await demoSurroundings(group);
  const stack = await startStack({ environment, dataFolder, group, signal });
  const scene = await prepareScene(stack);
  const browser = await launchBrowser();
  try {
    await mkdir(FOLDER, { recursive: true });
    for await (const { name, png } of photograph(browser, scene)) {
      if (png.length > MOST_BYTES) throw new Problem(`${name}.png has ${png.length} bytes: show less on it.`);
      await writeFile(join(FOLDER, `${name}.png`), png);
      say('screenshots', `${name}.png, ${png.length} bytes`);
    }
  } finally {
    await browser.close();
    scene.close();
  }
} catch (error) {
  say('screenshots', describeError(group.failure.aborted ? group.failure.reason : error));
  process.exitCode = 1;
} finally {
  await group.stop(stop.insisted);
}

/** @typedef {{ link: () => Promise<string>, webhookId: string, deliveryId: string, close: () => void }} Scene `link` signs in once */

/**
 * Webhooks of which one is well, one fails now and then, and one always; with what they were sent.
 * @param {import('./start/start-stack.mjs').Stack} stack
 * @returns {Promise<Scene>}
 */
async function prepareScene({ apiUrl, apiKey }) {
  const call = createCall(apiUrl, apiKey);
  let count = 0;
  const receivers = await Promise.all([
    startWebhookReceiver({ port: 0, answer: async () => 204 }),
    startWebhookReceiver({ port: 0, answer: async () => ((count += 1) % 3 === 0 ? 503 : 200) }),
    startWebhookReceiver({ port: 0, answer: async () => 500 }),
  ]);
  const names = ['Production', 'Reporting, which is slow at times', 'An old system'];
  const webhooks = [];
  for (const [index, { url }] of receivers.entries()) {
    webhooks.push(await call('POST', '/v1/webhooks', { url, events: ['*'], description: names[index] }));
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const event of demoEvents) await call('POST', '/v1/events', event);
  }
  const webhookId = webhooks[1]?.id;
  const deliveryId = await waitForRetried(call, webhookId);
  return {
    link: async () => (await call('POST', '/v1/portal-sessions', { capabilities: CAPABILITIES })).url,
    webhookId,
    deliveryId,
    close: () => receivers.forEach((receiver) => receiver.close()),
  };
}

/**
 * A delivery that failed first and was delivered then; by then most others are done too.
 * @param {ReturnType<typeof createCall>} call
 * @param {string} webhookId
 * @returns {Promise<string>}
 */
async function waitForRetried(call, webhookId) {
  for (;;) {
    const { data } = await call('GET', `/v1/webhooks/${webhookId}/deliveries?status=delivered&limit=200`);
    const found = data.find(
      (/** @type {{ attempt_count: number }} */ delivery) => delivery.attempt_count > 1,
    );
    if (found) return found.id;
    await wait(LOOK_EVERY_MS);
  }
}

/**
 * @param {string} apiUrl
 * @param {string} apiKey
 */
function createCall(apiUrl, apiKey) {
  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  return async (method, path, body) => {
    const response = await fetch(apiUrl + path, {
      method,
      signal,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Problem(`${method} ${path} gave ${response.status}: ${text}`);
    return JSON.parse(text);
  };
}

/**
 * Pictures of the portal's main pages, each in light and dark, named for them.
 * @param {import('playwright-core').Browser} browser
 * @param {Scene} scene
 * @returns {AsyncGenerator<{ name: string, png: Buffer }>}
 */
async function* photograph(browser, scene) {
  for (const theme of THEMES) {
    const context = await browser.newContext({
      viewport: VIEWPORT,
      colorScheme: theme,
      reducedMotion: 'reduce',
      // Headless Chromium takes the system's, which may be none that browsers have.
      locale: 'en-US',
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
