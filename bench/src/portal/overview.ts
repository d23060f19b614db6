import { setTimeout as wait } from 'node:timers/promises';
import { hasPostgres, NO_POSTGRES } from '@hookferry/core/testing/postgres-server';
import type { Page } from 'playwright-core';
import { loadHistory } from '../history/load-history';
import { fillDays } from '../history/moved-history';
import { ACCOUNT, inHistory, inPostgres, say, type WithHistory } from '../history/moved-stage';
import { percentile, printTable } from '../report';
import type { SuiteOptions } from '../suite';
import { inBrowser, linkFor } from './browser';

const MANY = 100_000;
const FEW = 5_000;
const HOUR_MS = 3_600_000;
// What was accepted within the last hour, so that each of the times has something.
const RECENT_SHARE = 100;
const LOOK_EVERY_MS = 50;
const SPANS = [
  ['1 h', '1h'],
  ['24 h', '24h'],
  ['7 d', '7d'],
  ['30 d', '30d'],
] as const;

/** How long the overview of an account with so many deliveries in its history takes to be drawn, and to answer. */
export async function measureOverview({ build, short, deliveries, rounds }: SuiteOptions): Promise<void> {
  if (!hasPostgres) {
    process.stderr.write(`SKIPPED: the overview, because ${NO_POSTGRES}.\n`);
    return;
  }
  const many = deliveries ?? (short ? FEW : MANY);
  const times = rounds ?? (short ? 2 : 20);
  await inPostgres(async (postgres) => {
    await inHistory(build, postgres, async (stage) => {
      const count = await fillDays(stage, many);
      await loadRecent(stage, Math.ceil(many / RECENT_SHARE));
      await inBrowser(async (open) => {
        printTable(`The overview of an account with ${count} deliveries, ${times} times each, ms`, [
          [
            '',
            'opened: p50',
            'longest',
            'largest part painted: p50',
            'longest',
            'switched to: p50',
            'longest',
          ],
          ...(await timeSpans(stage, open, times)),
        ]);
        printTable(`From an input until the page is painted, the longest of ${times}, ms`, [
          ['', 'longest'],
          ...(await timeInputs(stage, open, times)),
        ]);
      });
    });
  });
}

/** Of the last hour, as the others by way of Redis and the mover. */
async function loadRecent({ redis, endpointIds, endedList }: WithHistory, deliveries: number): Promise<void> {
  const until = Date.now();
  await loadHistory({
    redis,
    accountId: ACCOUNT,
    deliveries,
    endpointIds,
    since: until - HOUR_MS,
    until,
    endedList,
  });
  while ((await endedList.count()) > 0) await wait(LOOK_EVERY_MS);
  say('the last hour is there');
}

type Open = () => Promise<Page>;

// All is there: the figures, the tables, and each of the four charts, none of them one that was there before. One may say
// that there is nothing.
const DRAWN = `(async () => {
  const picture = () => new Promise(requestAnimationFrame);
  const isDrawn = () => {
    const figures = [...document.querySelectorAll('figure')];
    return figures.length === 4 && !document.querySelector('figure canvas[data-old], [aria-busy="true"]')
      && figures.every((figure) => figure.querySelector('canvas, p'));
  };
  while (!isDrawn()) await picture();
  await picture();
  return performance.now();
})()`;
const MARK_OLD = `document.querySelectorAll('figure canvas').forEach((canvas) => { canvas.dataset.old = ''; }); performance.now()`;
const LARGEST = `new Promise((resolve) => new PerformanceObserver((list) =>
  resolve(list.getEntries().at(-1).startTime)).observe({ type: 'largest-contentful-paint', buffered: true }))`;

/** Each opened by a link, and each chosen on the page. */
async function timeSpans({ service }: WithHistory, open: Open, times: number): Promise<string[][]> {
  const { url, headers } = service.targetOf(ACCOUNT);
  const rows: string[][] = [];
  for (const [label, range] of SPANS) {
    const opened: number[] = [];
    const painted: number[] = [];
    const switched: number[] = [];
    for (let i = 0; i < times; i += 1) {
      const page = await open();
      await page.goto(await linkFor(url, `/overview?range=${range}`, headers), { waitUntil: 'commit' });
      opened.push(Number(await page.evaluate(DRAWN)));
      painted.push(Number(await page.evaluate(LARGEST)));
      const [, other] = SPANS.find(([, each]) => each !== range) ?? SPANS[0];
      await page.evaluate(MARK_OLD);
      await page.evaluate(`history.pushState(null, '', '/portal/overview?range=${other}')`);
      await page.evaluate(DRAWN);
      const from = Number(await page.evaluate(MARK_OLD));
      await page.getByRole('button', { name: label, exact: true }).click();
      switched.push(Number(await page.evaluate(DRAWN)) - from);
      await page.context().close();
    }
    rows.push([label, ...[opened, painted, switched].flatMap(bothOf)]);
    say(`the overview of ${label}`);
  }
  return rows;
}

// What people do most, on the page that it is done on.
const INPUTS: readonly (readonly [name: string, path: string, act: (page: Page) => Promise<unknown>])[] = [
  ['another time', '/overview?range=1h', (page) => page.getByRole('button', { name: '24 h' }).click()],
  [
    'a chart as a table',
    '/overview?range=24h',
    (page) => page.getByRole('button', { name: 'Table' }).first().click(),
  ],
  [
    'another page',
    '/overview?range=24h',
    (page) => page.getByRole('link', { name: 'Deliveries' }).first().click(),
  ],
  ['a letter in the search', '/overview?range=24h', (page) => page.getByLabel('Find').pressSequentially('o')],
  ['a delivery of the list', '/deliveries', (page) => page.locator('tbody tr[data-index]').first().click()],
  ['a dialog', '/contacts', (page) => page.getByRole('button', { name: 'Add a contact' }).click()],
];
const SHOWN = `(async () => {
  const isShown = () => document.querySelector('h1') && !document.querySelector('[aria-busy="true"]');
  while (!isShown()) await new Promise(requestAnimationFrame);
})()`;
const OBSERVE = `window.inputs = []; new PerformanceObserver((list) => window.inputs.push(...list.getEntries().map((entry) => entry.duration)))
  .observe({ type: 'event', durationThreshold: 16 })`;
// The entries of an input come with a picture after that which shows what came of it.
const LONGEST = `(async () => {
  for (let i = 0; i < 30; i += 1) await new Promise(requestAnimationFrame);
  return Math.max(16, ...window.inputs);
})()`;

/** Browsers give this in steps of 8 ms, and nothing below 16. */
async function timeInputs({ service }: WithHistory, open: Open, times: number): Promise<string[][]> {
  const { url, headers } = service.targetOf(ACCOUNT);
  const rows: string[][] = [];
  for (const [name, path, act] of INPUTS) {
    const longest: number[] = [];
    for (let i = 0; i < times; i += 1) {
      const page = await open();
      await page.goto(await linkFor(url, path, headers));
      await page.evaluate(SHOWN);
      await page.evaluate(OBSERVE);
      await act(page);
      longest.push(Number(await page.evaluate(LONGEST)));
      await page.context().close();
    }
    rows.push([name, Math.max(...longest).toFixed(0)]);
    say(name);
  }
  return rows;
}

function bothOf(durations: readonly number[]): readonly [p50: string, longest: string] {
  return [percentile(durations, 0.5).toFixed(0), Math.max(...durations).toFixed(0)];
}
