/** What the pages of the portal cost their readers, in a real browser. */
import { createClosables } from '@hookferry/core/testing/closables';
import type { Browser, Page, Request } from 'playwright-core';
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
const HEADING_WITHIN_MS = 30_000;
const MOST_SHOWN = 200;

interface Scene {
  readonly account: string;
  readonly capabilities: readonly string[];
  readonly path: string;
  /** What a reader does there, after the page is at rest. */
  readonly use: (page: Page) => Promise<void>;
}

const CUSTOMER = ['read', 'webhooks', 'redeliver'];
const customer = { account: ACCOUNT, capabilities: CUSTOMER };

/** The pages that most people open first. @param delivery its id, which ends with its webhook's */
function scenesOf(delivery: string): ReadonlyMap<string, Scene> {
  const webhook = delivery.slice(delivery.indexOf('.') + 1);
  return new Map<string, Scene>([
    ['overview', { ...customer, path: '/overview', use: goTo('Deliveries', 'Overview') }],
    ['deliveries', { ...customer, path: '/deliveries', use: openFirst('Deliveries') }],
    ['delivery', { ...customer, path: `/deliveries/${delivery}`, use: goTo('Events', 'Deliveries') }],
    ['webhook', { ...customer, path: `/webhooks/${webhook}`, use: goTo('Events', 'Webhooks') }],
    ['events', { ...customer, path: '/events', use: openFirst('Events') }],
    [
      'operations',
      {
        account: 'default',
        capabilities: [...CUSTOMER, 'operate'],
        path: '/operations',
        use: goTo('Accounts', 'Dead letters', 'Operations'),
      },
    ],
  ]);
}

interface Figures {
  /** Until the largest part of the page is painted. Milliseconds. */
  readonly lcp: number;
  /** https://web.dev/articles/cls: how much moves by itself until the page is at rest. */
  readonly cls: number;
  /** What moved then, each with from where to where. */
  readonly moves: readonly string[];
  /** The slowest click or key, from its input to the next picture. Milliseconds. */
  readonly input: number;
  /** Bytes of files, compressed as a browser gets them over plain HTTP. */
  readonly firstLoad: number;
  readonly charts: number;
  readonly ahead: number;
}

const MOST_SHIFT = 0.05;

/** Sizes are also bounds of the build, which has them from its list of files: apps/portal/build/check-first-load.ts. */
const AIMS = [
  { name: 'first load, kB', atMost: 160, of: ({ firstLoad }: Figures) => firstLoad / 1_000 },
  { name: 'charts, kB', atMost: 60, of: ({ charts }: Figures) => charts / 1_000 },
  { name: 'loaded ahead, kB', atMost: 200, of: ({ ahead }: Figures) => ahead / 1_000 },
  { name: 'layout shift', atMost: MOST_SHIFT, of: ({ cls }: Figures) => cls },
  { name: 'largest part painted after, ms', atMost: 1_000, of: ({ lcp }: Figures) => lcp, isTime: true },
  { name: 'slowest input, ms', atMost: 100, of: ({ input }: Figures) => input, isTime: true },
];
const FIRM: ReadonlySet<string> = new Set(AIMS.filter(({ isTime }) => !isTime).map(({ name }) => name));

/**
 * Each of the pages, in a browser that has nothing in its cache. Sizes and shifts beyond their aims are a failure; times depend on
 * what else the machine does, and are shown.
 */
export async function runPortalSuite({ build, short, rounds, scene, json }: SuiteOptions): Promise<void> {
  const { willClose, closeAll } = createClosables();
  try {
    const redis = willClose(await RedisProcess.start());
    const service = willClose(await BuiltService.start({ build, redisUrl: redis.url }));
    if (!(await fetch(`${service.url}/portal/`)).ok)
      throw new Error(`The portal of ${build} is not built: npm run build -w apps/portal`);
    const receiver = willClose(await ReceiverProcess.start());
    const scenes = scenesOf(await fill(service, receiver, short ? EVENTS_SHORT : EVENTS));
    const browser = willClose(await launchBrowser());
    const rows: Row[] = [];
    for (const [name, wished] of choose('scene', scenes, scene)) {
      const measured: Figures[] = [];
      for (let round = 0; round < (rounds ?? (short ? 1 : ROUNDS)); round += 1) {
        measured.push(await measure(browser, service, wished));
      }
      rows.push(...rowsOf(name, measured));
      for (const { cls, moves } of measured)
        if (cls > MOST_SHIFT)
          console.info([`${name}: layout shift ${cls.toFixed(3)}`, ...moves].join('\n  '));
    }
    print(rows);
    await writeJson(json, { ratios: rows.map((row) => ({ ...row, plain: 0, service: row.value })) });
    const over = rows.filter(({ name, met }) => !met && FIRM.has(name));
    if (over.length > 0) {
      const list = over.map(({ scene: page, name, value, aim }) => `${page}: ${name} ${value}, aim ${aim}`);
      throw new Error(`Beyond the aim, which no load of the machine excuses:\n${list.join('\n')}`);
    }
  } finally {
    await closeAll();
  }
}

/** @returns the id of a delivery */
async function fill(service: BuiltService, receiver: ReceiverProcess, events: number): Promise<string> {
  await service.createAccount(ACCOUNT);
  let webhook = '';
  for (let i = 0; i < WEBHOOKS; i += 1)
    webhook = await service.register(ACCOUNT, receiver.urlOf('ok', `portal-${i}`));
  let event: unknown;
  for (let i = 0; i < events; i += 1) {
    const { id } = await service.ask(ACCOUNT, 'POST', '/v1/events', { type: EVENT_TYPE, data: dataOf(i) });
    event = id;
  }
  return `${String(event)}.${webhook}`;
}

async function measure(browser: Browser, service: BuiltService, scene: Scene): Promise<Figures> {
  const { account, capabilities, path, use } = scene;
  const { url } = await service.ask(account, 'POST', '/v1/portal-sessions', { capabilities });
  const [, code = ''] = String(url).split('#');
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    // Headless Chromium takes the system's, which may be none that browsers have.
    locale: 'en-US',
    // As over plain HTTP, and as the build counts: on the same machine the browser would take Brotli, which is smaller.
    extraHTTPHeaders: { 'accept-encoding': 'gzip' },
  });
  try {
    const page = await context.newPage();
    const troubles = troublesOf(page);
    const files = filesOf(page);
    await page.addInitScript(OBSERVE);
    await page.goto(`${service.url}/portal${path}#${code}`);
    await page
      .getByRole('heading', { level: 1 })
      .waitFor({ timeout: HEADING_WITHIN_MS })
      .catch(async (error: unknown) => {
        throw new Error(await tellWhatIsThere(page, troubles), { cause: error });
      });
    await untilAtRest(page, files);
    const { lcp, cls, moves } = await read(page);
    const sizes = await sizesOf(files);
    await use(page);
    await typeInFind(page);
    // The observer is told of an input after the picture that follows it.
    await page.waitForTimeout(AT_REST_MS);
    return { lcp, cls, moves, input: (await read(page)).input, ...sizes };
  } finally {
    await context.close();
  }
}

/** Resolves when no file has come for a while. What is loaded ahead begins two seconds after the page. */
async function untilAtRest(page: Page, files: readonly Request[]): Promise<void> {
  let before: number;
  do {
    before = files.length;
    await page.waitForTimeout(AT_REST_MS);
  } while (files.length > before);
}

/** All that the page loads of the portal itself, in their order. What it reads of the API is not among them. */
function filesOf(page: Page): readonly Request[] {
  const files: Request[] = [];
  page.on('requestfinished', (request) => {
    if (new URL(request.url()).pathname.startsWith('/portal/')) files.push(request);
  });
  return files;
}

// What is loaded ahead begins with it, and charts are in a file of this name.
const FIRST_AHEAD = /\/modal-window-/;
const CHARTS = /\/plot-/;

async function sizesOf(files: readonly Request[]): Promise<Pick<Figures, 'firstLoad' | 'charts' | 'ahead'>> {
  const begin = files.find((file) => FIRST_AHEAD.test(file.url()))?.timing().startTime;
  if (begin === undefined)
    throw new Error(
      'Nothing was loaded ahead under the name that it had: change FIRST_AHEAD in bench/src/portal.',
    );
  const sizes = { firstLoad: 0, charts: 0, ahead: 0 };
  for (const file of files) {
    const { responseBodySize: bytes } = await file.sizes();
    if (CHARTS.test(file.url())) sizes.charts += bytes;
    else if (file.timing().startTime < begin) sizes.firstLoad += bytes;
    else sizes.ahead += bytes;
  }
  return sizes;
}

/** What went wrong on a page since it was opened. */
function troublesOf(page: Page): readonly string[] {
  const troubles: string[] = [];
  page.on('pageerror', ({ message }) => troubles.push(`its code threw: ${message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') troubles.push(`its console says: ${message.text()}`);
  });
  page.on('requestfailed', (request) =>
    troubles.push(`${request.url()}: ${request.failure()?.errorText ?? ''}`),
  );
  return troubles;
}

async function tellWhatIsThere(page: Page, troubles: readonly string[]): Promise<string> {
  const text = await page.locator('body').innerText();
  const shown = text.trim() === '' ? 'It shows nothing.' : `It shows: ${text.slice(0, MOST_SHOWN)}`;
  return [`${page.url()} has no heading after ${HEADING_WITHIN_MS / 1_000} s. ${shown}`, ...troubles].join(
    '\n  ',
  );
}

function goTo(...names: readonly string[]): Scene['use'] {
  return async (page) => {
    for (const name of names) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }
  };
}

/** The first row of its list. */
function openFirst(list: string): Scene['use'] {
  return async (page) => {
    await page.getByRole('table', { name: list }).getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: EVENT_TYPE }).waitFor();
  };
}

async function typeInFind(page: Page): Promise<void> {
  await page.keyboard.press('/');
  await page.getByRole('searchbox', { name: 'Find' }).pressSequentially('event 4711', { delay: 50 });
  await page.keyboard.press('Escape');
}

/** Runs in the page, before its own code. */
const OBSERVE = `window.benchFigures = { lcp: 0, cls: 0, input: 0, moves: [] };
const tell = ({ value, startTime, sources }) => value.toFixed(3) + ' after ' + Math.round(startTime) + ' ms: ' +
  sources.map(({ node, previousRect, currentRect }) => [
    node?.className || node?.nodeName, 'from', previousRect.top, 'to', currentRect.top, 'px,', previousRect.height, 'to', currentRect.height, 'px high',
  ].join(' ')).join('; ');
const observe = (type, take, more) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
observe('largest-contentful-paint', ({ startTime }) => { window.benchFigures.lcp = startTime; });
observe('layout-shift', (entry) => { 
  if (entry.hadRecentInput) return;
  window.benchFigures.cls += entry.value;
  window.benchFigures.moves.push(tell(entry));
});
observe('event', ({ duration, interactionId }) => {
  if (interactionId) window.benchFigures.input = Math.max(window.benchFigures.input, duration);
}, { durationThreshold: 16 });`;

const read = async (page: Page) =>
  await page.evaluate<Pick<Figures, 'lcp' | 'cls' | 'moves' | 'input'>>('window.benchFigures');

interface Row {
  readonly scene: string;
  readonly name: string;
  readonly value: number;
  readonly aim: string;
  readonly met: boolean;
}

/** Of times the middle one, of what ought to be the same in each round the largest. */
function rowsOf(scene: string, measured: readonly Figures[]): readonly Row[] {
  return AIMS.map(({ name, of, atMost, isTime }) => {
    const values = measured.map(of);
    const value = isTime ? Math.round(median(values)) : Number(Math.max(...values).toFixed(3));
    return { scene, name, value, aim: `≤ ${atMost}`, met: value <= atMost };
  });
}

function print(rows: readonly Row[]): void {
  const scenes = [...new Set(rows.map(({ scene }) => scene))];
  const cellOf = ({ value, met }: Row) => (met ? String(value) : `${value} (beyond)`);
  printTable('The portal in Chromium', [
    ['', ...AIMS.map(({ name }) => name)],
    ['aim', ...AIMS.map(({ atMost }) => `≤ ${atMost}`)],
    ...scenes.map((scene) => [scene, ...rows.filter((row) => row.scene === scene).map(cellOf)]),
  ]);
}
