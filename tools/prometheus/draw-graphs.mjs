// @ts-check
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFolder } from '../project-folders.mjs';

const DASHBOARD = join(projectFolder, 'docker/grafana/dashboards/overview.json');
/** Panels of the dashboard; what is asked of each is its first expression. */
const PANELS = ['Events in, attempts out', 'First attempt after acceptance', 'Held by reason'];
/** Where Debian has what Prometheus' page asks for; of an unpacked Prometheus, what is installed was not fetched again. */
const INSTALLED_SCRIPTS = '/usr/share/javascript';
const STATIC = '/classic/static/';
const RATE_INTERVAL = '8s';
const SIZE = { width: 1_200, height: 800 };

/**
 * Has Prometheus' own page show the dashboard's graphs, and takes a picture of it.
 * @param {import('playwright-core').Page} page
 * @param {{ prometheusUrl: string, seconds: number, file: string }} options what is shown is the last so many seconds
 */
export async function drawGraphs(page, { prometheusUrl, seconds, file }) {
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
