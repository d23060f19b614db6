// @ts-check
/**
 * `npm run graphs` draws what a Prometheus shows of the service while a receiver fails and recovers, by the expressions of
 * the Grafana dashboard: docs/images/prometheus.png. It takes two minutes.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { launchBrowser } from './browser/launch-browser.mjs';
import { createApiClient, demoEvents, demoSurroundings } from './demo/demo-service.mjs';
import { startWebhookReceiver } from './demo/webhook-receiver.mjs';
import { describeError, Problem } from './problem.mjs';
import { findFreePort } from './processes/free-port.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { projectFolder } from './project-folders.mjs';
import { findPrometheus } from './prometheus/find-prometheus.mjs';
import { say } from './say.mjs';
import { startStack, waitUntilReady } from './start/start-stack.mjs';

const PICTURE = join(projectFolder, 'docs/images/prometheus.png');
const PUBLISH_EVERY_MS = 50;
/** How long it goes well, then fails, then goes well again. Seconds. */
const PARTS = [35, 25, 45];

const DASHBOARD = join(projectFolder, 'docker/grafana/dashboards/overview.json');
/** Panels of the dashboard; what is asked of each is its first expression. */
const PANELS = ['Events in, attempts out', 'First attempt after acceptance', 'Held by reason'];
/** Where Debian has what Prometheus' page asks for; of an unpacked Prometheus, what is installed was not fetched again. */
const INSTALLED_SCRIPTS = '/usr/share/javascript';
const STATIC = '/classic/static/';
const RATE_INTERVAL = '8s';
const SIZE = { width: 1_200, height: 800 };

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  await run();
} catch (error) {
  if (!stop.requested.aborted) {
    say('graphs', describeError(group.failure.aborted ? group.failure.reason : error));
    process.exitCode = 1;
  }
} finally {
  await group.stop(stop.insisted);
}

async function run() {
  const { environment, dataFolder } = await demoSurroundings(group);
  const stack = await startStack({ environment, dataFolder, group, signal });
  const prometheusUrl = await startPrometheus(stack, dataFolder);
  const seconds = await makeTraffic(stack);
  await mkdir(join(PICTURE, '..'), { recursive: true });
  const browser = await launchBrowser();
  try {
    await drawGraphs(await browser.newPage(), { prometheusUrl, seconds, file: PICTURE });
  } finally {
    await browser.close();
  }
  say('graphs', `wrote ${PICTURE}`);
}

/**
 * Publishes to a receiver that is well, one that fails for a while, and one that is slow.
 * @param {import('./start/start-stack.mjs').Stack} stack
 * @returns {Promise<number>} how long that took, in seconds
 */
async function makeTraffic(stack) {
  // A signal of its own: each request leaves a listener behind.
  const api = createApiClient({ ...stack, signal: new AbortController().signal });
  let isFailing = false;
  const answers = [async () => 204, async () => (isFailing ? 500 : 204), async () => await wait(200, 204)];
  const receivers = await Promise.all(answers.map((answer) => startWebhookReceiver({ port: 0, answer })));
  for (const { url } of receivers) await api.registerEndpoint(url);
  for (const [i, seconds] of PARTS.entries()) {
    isFailing = i === 1;
    say('graphs', `${seconds} s of traffic, ${isFailing ? 'one receiver fails' : 'all is well'}`);
    const until = Date.now() + seconds * 1_000;
    for (let n = 0; Date.now() < until; n += 1) {
      const event = demoEvents[n % demoEvents.length];
      if (event) await api.publishEvent(event);
      await wait(PUBLISH_EVERY_MS, undefined, { signal });
    }
  }
  for (const receiver of receivers) receiver.close();
  return PARTS.reduce((sum, seconds) => sum + seconds, 0);
}

/**
 * Starts a Prometheus that scrapes the API and the worker each second, with the rules that come with this project.
 * @param {import('./start/start-stack.mjs').Stack} stack
 * @param {string} dataFolder
 * @returns {Promise<string>} its URL
 */
async function startPrometheus(stack, dataFolder) {
  const found = await findPrometheus();
  if ('refusal' in found) throw new Problem(`Prometheus cannot be found or fetched: ${found.refusal}`);
  const { prometheus } = found.program;
  const folder = join(dataFolder, 'prometheus');
  await mkdir(folder);
  const config = join(folder, 'prometheus.json');
  await writeFile(config, JSON.stringify(configOf(stack)));
  const port = await findFreePort('127.0.0.1', []);
  group.start({
    name: 'prometheus',
    command: [
      prometheus,
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      // Of the same package as the program, wherever that was unpacked.
      `--web.local-assets=${join(dirname(prometheus), '../share/prometheus/web')}`,
      '--log.level=error',
    ],
    env: process.env,
    cwd: folder,
    graceMs: 5_000,
  });
  const url = `http://127.0.0.1:${port}`;
  await waitUntilReady({ name: 'Prometheus', url, path: '/-/ready', signal });
  return url;
}

/** @param {import('./start/start-stack.mjs').Stack} stack */
function configOf({ apiUrl, workerUrl }) {
  const jobs = { 'hookferry-api': apiUrl, 'hookferry-worker': workerUrl };
  return {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(projectFolder, 'docker/prometheus/alerts.yml')],
    scrape_configs: Object.entries(jobs).map(([job_name, url]) => ({
      job_name,
      static_configs: [{ targets: [new URL(url).host] }],
    })),
  };
}

/**
 * Has Prometheus' own page show the dashboard's graphs, and takes a picture of it.
 * @param {import('playwright-core').Page} page
 * @param {{ prometheusUrl: string, seconds: number, file: string }} options what is shown is the last so many seconds
 */
async function drawGraphs(page, { prometheusUrl, seconds, file }) {
  await page.setViewportSize(SIZE);
  await page.route(`**${STATIC}**`, async (route) => {
    const path = join(INSTALLED_SCRIPTS, new URL(route.request().url()).pathname.replace(STATIC, ''));
    if (existsSync(path)) await route.fulfill({ path });
    else await route.continue();
  });
  const query = new URLSearchParams();
  for (const [i, expr] of (await readExpressions()).entries()) {
    query.set(`g${i}.expr`, expr);
    query.set(`g${i}.tab`, '0');
    query.set(`g${i}.range_input`, `${seconds}s`);
  }
  await page.goto(`${prometheusUrl}/classic/graph?${query.toString()}`);
  await page
    .locator('.rickshaw_graph svg')
    .nth(PANELS.length - 1)
    .waitFor();
  // It stays at the top of the window, in the middle of a picture of the whole page.
  await page.addStyleTag({ content: 'nav { display: none !important }' });
  await page.screenshot({ path: file, fullPage: true });
}

async function readExpressions() {
  const { panels } = JSON.parse(await readFile(DASHBOARD, 'utf8'));
  return PANELS.map((title) => {
    const panel = panels.find((/** @type {{ title: string }} */ one) => one.title === title);
    const expr = String(panel.targets[0].expr);
    return expr.replaceAll(/\$(?:release|instance)/g, '.*').replaceAll('$__rate_interval', RATE_INTERVAL);
  });
}
