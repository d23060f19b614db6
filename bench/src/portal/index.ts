/** What the pages of the portal cost their readers, in a real browser. */
import { createClosables } from '@hookferry/core/testing/closables';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../../../tools/browser/launch-browser.mjs';
import { choose, type SuiteOptions } from '../options';
import { BuiltService } from '../processes/built-service';
import { RedisProcess } from '../processes/measured-process';
import { median, printTable, writeJson } from '../report';
import { dataOf, EVENT_TYPE } from '../traffic/events';
import { ReceiverProcess } from '../traffic/receiver';

const ROUNDS = 5;
const EVENTS = 200;
const EVENTS_SHORT = 20;
const WEBHOOKS = 4;
const ACCOUNT = 'bench';
const AT_REST_MS = 3_000;
const AIMS = { lcp: 1_000, cls: 0.05, input: 100 };

interface Scene {
  readonly account: string;
  readonly capabilities: readonly string[];
  readonly path: string;
  /** Where the reader goes then: names of entries of the navigation. */
  readonly clicks: readonly string[];
}

const CUSTOMER = ['read', 'webhooks', 'redeliver'];

const scenes: ReadonlyMap<string, Scene> = new Map([
  [
    'customer',
    {
      account: ACCOUNT,
      capabilities: CUSTOMER,
      path: '/overview',
      clicks: ['Deliveries', 'Webhooks', 'Events', 'Overview'],
    },
  ],
  [
    'operator',
    {
      account: 'default',
      capabilities: [...CUSTOMER, 'operate'],
      path: '/operations',
      clicks: ['Accounts', 'Dead letters', 'Deliveries', 'Operations'],
    },
  ],
]);

interface Figures {
  /** Until the largest part of the page is painted. Milliseconds. */
  readonly lcp: number;
  /** https://web.dev/articles/cls: how much moves by itself until the page is at rest. */
  readonly cls: number;
  /** The slowest click, from its input to the next picture. Milliseconds. */
  readonly input: number;
}

/** The first page of a customer and of an operator, in a browser that has nothing in its cache. */
export async function runPortalSuite({ build, short, rounds, scene, json }: SuiteOptions): Promise<void> {
  const { willClose, closeAll } = createClosables();
  try {
    const redis = willClose(await RedisProcess.start());
    const service = willClose(await BuiltService.start({ build, redisUrl: redis.url }));
    if (!(await fetch(`${service.url}/portal/`)).ok)
      throw new Error('The portal is not built: npm run build -w apps/portal');
    const receiver = willClose(await ReceiverProcess.start());
    await fill(service, receiver, short ? EVENTS_SHORT : EVENTS);
    const browser = willClose(await launchBrowser());
    const rows = [];
    for (const [name, wished] of choose('scene', scenes, scene)) {
      const measured: Figures[] = [];
      for (let round = 0; round < (rounds ?? (short ? 1 : ROUNDS)); round += 1) {
        measured.push(await measure(browser, service, wished));
      }
      rows.push(...rowsOf(name, measured));
    }
    printTable('The portal in Chromium', [
      ['', 'aim', 'measured', 'met'],
      ...rows.map(({ name, aim, value, met }) => [name, aim, String(value), met ? 'yes' : 'no']),
    ]);
    const ratios = rows.map((row) => ({ ...row, plain: 0, service: row.value }));
    await writeJson(json, { ratios });
  } finally {
    await closeAll();
  }
}

async function fill(service: BuiltService, receiver: ReceiverProcess, events: number): Promise<void> {
  await service.createAccount(ACCOUNT);
  for (let i = 0; i < WEBHOOKS; i += 1) await service.register(ACCOUNT, receiver.urlOf('ok', `portal-${i}`));
  for (let i = 0; i < events; i += 1) {
    await service.ask(ACCOUNT, 'POST', '/v1/events', { type: EVENT_TYPE, data: dataOf(i) });
  }
}

async function measure(browser: Browser, service: BuiltService, scene: Scene): Promise<Figures> {
  const { account, capabilities, path, clicks } = scene;
  const { url } = await service.ask(account, 'POST', '/v1/portal-sessions', { capabilities });
  const [, code = ''] = String(url).split('#');
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  try {
    const page = await context.newPage();
    await page.addInitScript(OBSERVE);
    await page.goto(`${service.url}/portal${path}#${code}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForTimeout(AT_REST_MS);
    const { lcp, cls } = await read(page);
    for (const name of clicks) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }
    // The observer is told of an input after the picture that follows it.
    await page.waitForTimeout(AT_REST_MS);
    return { lcp, cls, input: (await read(page)).input };
  } finally {
    await context.close();
  }
}

/** Runs in the page, before its own code. */
const OBSERVE = `window.benchFigures = { lcp: 0, cls: 0, input: 0 };
const observe = (type, take, more) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
observe('largest-contentful-paint', ({ startTime }) => { window.benchFigures.lcp = startTime; });
observe('layout-shift', ({ value, hadRecentInput }) => { if (!hadRecentInput) window.benchFigures.cls += value; });
observe('event', ({ duration, interactionId }) => {
  if (interactionId) window.benchFigures.input = Math.max(window.benchFigures.input, duration);
}, { durationThreshold: 16 });`;

const read = async (page: Page) => await page.evaluate<Figures>('window.benchFigures');

function rowsOf(scene: string, measured: readonly Figures[]) {
  const row = (name: string, value: number, bound: number) => ({
    name: `${scene}: ${name}`,
    value,
    aim: `≤ ${bound}`,
    met: value <= bound,
  });
  const lcp = Math.round(median(measured.map((figures) => figures.lcp)));
  const cls = Number(Math.max(...measured.map((figures) => figures.cls)).toFixed(3));
  const input = Math.round(median(measured.map((figures) => figures.input)));
  return [
    row('largest part painted after, ms', lcp, AIMS.lcp),
    row('layout shift', cls, AIMS.cls),
    row('slowest click, ms', input, AIMS.input),
  ];
}
