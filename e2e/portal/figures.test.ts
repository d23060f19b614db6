import { Queue } from 'bullmq';
import type { Page } from 'playwright-core';
import { Receiver } from '../support/receiver';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { go, usePortal } from './support/use-portal';

// One retry, soon: all has ended before anything is counted.
const portal = usePortal({ environment: { RETRY_SCHEDULE: '1s' } });

const OTHER = 'other';
const receivers: Receiver[] = [];
const webhookIds: Record<string, string> = {};

beforeAll(async () => {
  const { client } = portal();
  await client.expect(201, 'POST', '/v1/accounts', { id: OTHER });
  const refused = await Receiver.start();
  receivers.push(
    await Receiver.start(() => 204),
    // Each event fails once.
    await Receiver.start((_request, count) => (count % 2 === 1 ? 503 : 204)),
    await Receiver.start(() => 404),
    await Receiver.start(() => 500),
  );
  await refused.stop();
  const [good, flaky, missing, broken] = receivers.map(({ url }) => url);
  const register = async (name: string, url = '', headers?: Record<string, string>) => {
    const body = { url, events: [BRIEF.type], description: name, ordering: 'strict' };
    const { body: webhook } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', body, headers);
    webhookIds[name] = webhook.id;
  };
  await register('Good', good);
  await register('Flaky', flaky);
  await register('Missing', missing);
  await register('Refused', refused.url);
  await register('Broken', broken, { 'x-account-id': OTHER });
  const first = await client.publish(BRIEF.type, BRIEF.data);
  await client.publish(BRIEF.type, BRIEF.data);
  await client.expect(202, 'POST', '/v1/events', BRIEF, { 'x-account-id': OTHER });
  await untilAllHasEnded(2 * 4);
  await client.expect(202, 'POST', `/v1/deliveries/${first}.${webhookIds['Good']}/redeliver`);
  await client.expect(202, 'POST', `/v1/deliveries/${first}.${webhookIds['Missing']}/redeliver`);
  await client.expect(202, 'POST', `/v1/webhooks/${webhookIds['Good']}/test`);
  await untilAllHasEnded(2 * 4 + 1);
});

afterAll(async () => {
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});

interface Listed {
  readonly status: string;
  readonly attempt_count: number;
  readonly next_attempt_at: string | null;
}

/** And until the counts have all of it: they are some seconds old. */
async function untilAllHasEnded(deliveries: number): Promise<void> {
  const { client } = portal();
  await until(async () => {
    const { body } = await client.expect<{ data: readonly Listed[] }>(200, 'GET', '/v1/deliveries?limit=200');
    const isOver = body.data.every(({ status }) => status === 'delivered' || status === 'exhausted');
    if (!isOver || body.data.length < deliveries) return undefined;
    const attempts = body.data.reduce((sum, { attempt_count: count }) => sum + count, 0);
    const counted = await client.expect<{ data: readonly { attempts: number }[] }>(
      200,
      'GET',
      '/v1/metrics/deliveries?interval=total',
    );
    return counted.body.data[0]?.attempts === attempts || undefined;
  });
}

const numberIn = (text: string) => Number(/[\d,]+/.exec(text)?.[0]?.replaceAll(',', ''));

/** What the list says that a figure has led to. */
async function countOfList(page: Page): Promise<readonly [attempts: number, deliveries: number]> {
  await page.waitForURL(/\/deliveries\?.*attempted_since=/);
  const count = page.getByRole('region', { name: 'Attempts looked for' }).locator('output[aria-busy=false]');
  const text = await count.innerText();
  const [, attempts = '', deliveries = ''] = /^([\d,]+) attempts? of ([\d,]+) deliver/.exec(text) ?? [];
  return [numberIn(attempts), numberIn(deliveries)];
}

/** The rows of the list, in a line each. */
const rowsOfList = async (page: Page) =>
  Number(await page.getByRole('table', { name: 'Deliveries' }).getAttribute('aria-rowcount')) - 1;

/** Follow each figure that is a link, and give what it says beside what its list has. */
async function followAll(page: Page, selector: string): Promise<readonly (readonly [number, number])[]> {
  const links = page.locator(selector);
  await links.first().waitFor();
  const texts = await links.allTextContents();
  const pairs: (readonly [number, number])[] = [];
  for (const [i, text] of texts.entries()) {
    // Not by its address: the time that it names moves on with each minute.
    await links.nth(i).click();
    const [attempts, deliveries] = await countOfList(page);
    expect(await rowsOfList(page)).toBe(deliveries);
    pairs.push([numberIn(text), attempts]);
    await page.goBack();
    await links.first().waitFor();
  }
  return pairs;
}

const TILES = 'dl[aria-label="All of this time"] a[href*="attempted_since"]';
const figure = (page: Page, title: string) => page.getByRole('figure', { name: title });

function expectEqual(pairs: readonly (readonly [number, number])[], least: number): void {
  expect(pairs.length).toBeGreaterThanOrEqual(least);
  expect(pairs.map(([, list]) => list)).toEqual(pairs.map(([shown]) => shown));
  for (const [shown] of pairs) expect(shown).toBeGreaterThan(0);
}

describe('the figures of charts lead to as many attempts', () => {
  it('from the tiles and the tables of the overview', async () => {
    const page = await portal().signIn({ path: '/overview?range=1h' });
    const tiles = await followAll(page, TILES);
    // Attempts and failed ones; of exhausted deliveries the figure is the number of rows.
    const [all, failed, exhausted] = tiles;
    expectEqual(
      [all, failed].flatMap((pair) => (pair ? [pair] : [])),
      2,
    );
    expect(exhausted?.[0]).toBe(4);
    const responses = 'section:has(h2:text("Most frequent responses")) li';
    const figures = await page.locator(`${responses} span`).allInnerTexts();
    const lists = await followAll(page, `${responses} a`);
    expectEqual(
      lists.map(([, list], i) => [numberIn(figures[i] ?? ''), list]),
      4,
    );
    expectEqual(
      await followAll(page, 'table[aria-label="Webhooks that fail most"] a[href*="attempted_since"]'),
      6,
    );
  });

  it('from each figure of a chart as a table', async () => {
    const page = await portal().signIn({ path: '/overview?range=1h' });
    const chart = figure(page, 'Attempts by response');
    await chart.getByRole('button', { name: 'Table', exact: true }).click();
    const hrefs = await chart
      .locator('td a')
      .evaluateAll((all) =>
        all.map((link) => ({ text: link.textContent ?? '', href: link.getAttribute('href') ?? '' })),
      );
    const pairs: (readonly [number, number])[] = [];
    for (const [i, { text }] of hrefs.entries()) {
      await chart.locator('td a').nth(i).click();
      pairs.push([numberIn(text), (await countOfList(page))[0]]);
      await page.goBack();
      await chart.getByRole('button', { name: 'Table', exact: true }).click();
    }
    expectEqual(pairs, 4);
    expect(new Set(hrefs.map(({ href }) => new URLSearchParams(href.split('?')[1]).get('attempt')))).toEqual(
      new Set(['delivered', 'http_5xx', 'http_4xx', 'connect_refused']),
    );
  });

  it('from each bar, which is as high as it says', async () => {
    const page = await portal().signIn({ path: '/overview?range=1h' });
    expectEqual(await followBars(page), 4);
  });

  it('of one webhook, also from what has failed', async () => {
    const page = await portal().signIn({ path: `/webhooks/${webhookIds['Flaky']}` });
    await page.getByRole('link', { name: 'Charts' }).click();
    expectEqual(await followAll(page, TILES), 2);
    const bars = await followBars(page);
    expectEqual(bars, 2);
    expect(bars.reduce((sum, [shown]) => sum + shown, 0)).toBe(4);
  });

  it('of an account that an operator looks at', async () => {
    const page = await portal().signIn({ path: '/overview?range=1h', capabilities: ['read', 'operate'] });
    await page.getByLabel('Account in view').selectOption(OTHER);
    await page
      .locator('dl[aria-label="All of this time"] > div')
      .getByText('2', { exact: true })
      .first()
      .waitFor();
    const pairs = await followAll(page, TILES);
    expect(pairs.slice(0, 2)).toEqual([
      [2, 2],
      [2, 2],
    ]);
  });

  it('and each part of what is looked for can be cleared', async () => {
    const page = await portal().signIn({ path: '/overview?range=1h' });
    await page.locator(TILES).nth(1).click();
    const [failed] = await countOfList(page);
    await page.goBack();
    await page.goForward();
    expect((await countOfList(page))[0]).toBe(failed);
    await page.getByRole('button', { name: 'Clear: Attempt: Failed' }).click();
    await until(async () => (await countOfList(page))[0] > failed || undefined);
    await page.getByRole('button', { name: /^Clear: Attempted/ }).click();
    await page.getByRole('region', { name: 'Attempts looked for' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('');
  });
});

it('a finger that taps on a bar keeps its values, until it taps there again', async () => {
  const page = await portal().signIn({ path: '/overview?range=1h', width: 390, hasTouch: true });
  const chart = figure(page, 'Attempts by response');
  const over = chart.locator('.u-over');
  await over.waitFor();
  await chart.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  if (!box) throw new Error('The chart has no place.');
  const moment = chart.locator('[class*=moment]');
  const link = chart.locator('[class*=legend] > li', { hasText: 'Delivered' }).getByRole('link');
  const line = chart.locator('.u-cursor-x:not(.u-off)');
  const tap = async (left: number) => await page.touchscreen.tap(box.x + left, box.y + box.height / 2);
  let left = box.width + 4;
  do {
    left -= 8;
    if (left < 0) throw new Error('No bar has anything.');
    await tap(left);
    await page.evaluate(PAINTED);
  } while ((await link.count()) === 0);
  const time = await moment.innerText();
  expect(time).toMatch(/\d.–.*\d/);
  await line.waitFor();

  await page.getByRole('heading', { name: 'Overview' }).tap();
  await page.evaluate(PAINTED);
  expect(await moment.innerText()).toBe(time);
  await chart.scrollIntoViewIfNeeded();
  // In the middle of its bar.
  const mark = await line.boundingBox();
  if (!mark) throw new Error('Nothing is marked.');
  const tapOnMark = async () => await page.touchscreen.tap(mark.x + 1, mark.y + mark.height / 2);
  await tapOnMark();
  await moment.getByText('All of this time').waitFor();
  await line.waitFor({ state: 'hidden' });
  await tapOnMark();
  await moment.getByText(time).waitFor();
  await chart.getByRole('slider').press('ArrowLeft');
  expect(await moment.innerText()).not.toBe(time);
  await chart.getByRole('slider').press('ArrowRight');
  await link.tap();
  await countOfList(page);
});

/** Click on each bar of the attempts, and give what the legend says of it beside what its list has. */
async function followBars(page: Page): Promise<readonly (readonly [number, number])[]> {
  const followed = new Map<string, readonly [number, number]>();
  for (;;) {
    const bars = await findBars(page);
    const next = bars.find(({ name }) => !followed.has(name));
    if (!next) return [...followed.values()];
    await page.mouse.click(next.x, next.y);
    const [count] = await countOfList(page);
    const clear = page.getByRole('button', { name: /^Clear: Attempt: / });
    // Otherwise the chart has moved on between the look and the click.
    if ((await clear.getAttribute('aria-label')) === `Clear: Attempt: ${next.label}`)
      followed.set(next.name, [next.value, count]);
    await page.goBack();
  }
}

// The legend says the values of the pointer's place by then.
const PAINTED = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

/** Where the bars are just now: a chart moves on with each minute. */
async function findBars(page: Page) {
  const chart = figure(page, 'Attempts by response');
  const over = chart.locator('.u-over');
  await over.waitFor();
  await chart.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  if (!box) throw new Error('The chart has no place.');
  const times = new Map<string, { readonly x: number; readonly values: readonly LegendValue[] }>();
  for (let x = box.x + 3; x < box.x + box.width; x += 16) {
    await page.mouse.move(x, box.y + box.height - 2);
    const { moment, values } = await legendOf(page);
    if (sumOf(values) > 0 && !times.has(moment)) times.set(moment, { x, values });
  }
  // As the chart draws them: one upon the other, and 5 % above the highest.
  const highest = 1.05 * Math.max(...[...times.values()].map(({ values }) => sumOf(values)));
  return [...times].flatMap(([moment, { x, values }]) =>
    values.flatMap(({ label, value }, i) => {
      const middle = (sumOf(values.slice(0, i)) + value / 2) / highest;
      const y = box.y + box.height * (1 - middle);
      return value === 0 ? [] : [{ name: `${moment} ${label}`, label, value, x, y }];
    }),
  );
}

interface LegendValue {
  readonly label: string;
  readonly value: number;
}

const sumOf = (values: readonly LegendValue[]) => values.reduce((sum, { value }) => sum + value, 0);

/** Runs in the page, in one turn for each of some hundred places: what the legend says once it is painted. */
const READ_LEGEND = `${PAINTED}.then(() => {
  const chart = [...document.querySelectorAll('figure')].find((each) => each.textContent.includes('Attempts by response'));
  const items = [...chart.querySelectorAll('[class*=legend] > li')];
  return {
    moment: chart.querySelector('[class*=moment]').innerText,
    texts: items.map((item) => [...item.children].map((part) => part.textContent)),
  };
})`;

/** The time that is pointed at, and its values from the bottom to the top of the bar. */
async function legendOf(page: Page) {
  const { moment, texts } = await page.evaluate<{ moment: string; texts: readonly string[][] }>(READ_LEGEND);
  return { moment, values: texts.map(([, label = '', value = '']) => ({ label, value: numberIn(value) })) };
}

describe('the page of an account, for an operator', () => {
  const BUSY = 'busy';

  beforeAll(async () => {
    const { client } = portal();
    const ofBusy = { 'x-account-id': BUSY };
    await client.expect(201, 'POST', '/v1/accounts', { id: BUSY });
    const [good, , missing, broken] = receivers.map(({ url }) => url);
    const register = async (description: string, url = '') => {
      const body = { url: `${url}/busy`, events: [BRIEF.type, QUICK_WIN.type], description };
      const { body: webhook } = await client.expect<{ id: string }>(
        201,
        'POST',
        '/v1/webhooks',
        body,
        ofBusy,
      );
      return webhook.id;
    };
    await register('Good of busy', good);
    await register('Missing of busy', missing);
    await register('Broken of busy', broken);
    const stopped = await register('Stopped of busy', good);
    await client.expect(200, 'POST', `/v1/webhooks/${stopped}/disable`, undefined, ofBusy);
    for (const event of [BRIEF, BRIEF, QUICK_WIN])
      await client.expect(202, 'POST', '/v1/events', event, ofBusy);
    await until(async () => {
      const path = '/v1/metrics/deliveries?interval=total';
      const counted = await client.expect<{ data: readonly { exhausted: number }[] }>(
        200,
        'GET',
        path,
        undefined,
        ofBusy,
      );
      return counted.body.data[0]?.exhausted === 6 || undefined;
    });
    const { body: usage } = await client.expect<{ used_bytes: number }>(
      200,
      'GET',
      '/v1/account/usage',
      undefined,
      ofBusy,
    );
    const quota = { quota_bytes: Math.ceil(usage.used_bytes / 0.91) };
    await client.expect(200, 'PATCH', `/v1/accounts/${BUSY}`, quota);
  });

  const open = async (path = `/accounts/${BUSY}?range=1h`) =>
    await portal().signIn({ path, capabilities: ['read', 'operate'] });

  it('begins with what is wrong, and each part leads to as many', async () => {
    const page = await open();
    const headline = page.locator('p[class*=headline]');
    await headline.getByText('2 webhooks fail').waitFor();
    expect(await headline.innerText()).toMatch(
      /^9\d% of the quota used · 2 webhooks fail · 3 deliveries held · .* of busy will be disabled on /,
    );
    await headline.getByRole('link', { name: '2 webhooks fail' }).click();
    await page.getByRole('row', { name: /Broken of busy/ }).waitFor();
    expect(await rowsOf('Webhooks')(page)).toBe(2);
    expect(await page.getByLabel('Account in view').inputValue()).toBe(BUSY);
    await page.goBack();
    await headline.getByRole('link', { name: '3 deliveries held' }).click();
    await page.getByRole('table', { name: 'Deliveries' }).getByText('Held').first().waitFor();
    expect(await rowsOf('Deliveries')(page)).toBe(3);
    await page.goBack();
    await headline.getByRole('link', { name: 'of the quota used' }).click();
    expect(new URL(page.url()).hash).toBe('#usage');
    await page
      .getByRole('region', { name: 'Usage' })
      .getByText(/stored \(9\d%\)/)
      .waitFor();
    await page.getByRole('region', { name: 'Usage' }).getByRole('link', { name: '4', exact: true }).click();
    await page.getByRole('row', { name: /Stopped of busy/ }).waitFor();
    expect(await rowsOf('Webhooks')(page)).toBe(4);
    await page.goBack();
    await page.getByRole('region', { name: 'Usage' }).getByRole('link', { name: '3', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor();
    expect(await rowsOf('Events')(page)).toBe(3);
  });

  it('counts as many attempts as its lists have: in tiles, chart and tables', async () => {
    const page = await open();
    const tiles = await followAll(page, TILES);
    const [all, failed] = tiles;
    expectEqual(
      [all, failed].flatMap((pair) => (pair ? [pair] : [])),
      2,
    );
    expect(tiles.at(-1)?.[0]).toBe(6);
    expectEqual(await followAll(page, 'table[aria-label="Busiest webhooks"] a[href*="attempted_since"]'), 5);
    expectEqual(
      await followAll(page, 'table[aria-label="Busiest event types"] a[href*="attempted_since"]'),
      4,
    );
    const bars = await followBars(page);
    expectEqual(bars, 3);
    expect(bars.reduce((sum, [shown]) => sum + shown, 0)).toBe(all?.[0]);
    await page
      .getByRole('table', { name: 'Busiest webhooks' })
      .getByRole('link', { name: 'Good of busy' })
      .click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await page.getByLabel('Account in view').inputValue()).toBe(BUSY);
  });

  it('says by whom it is paused, and since when', async () => {
    const { client } = portal();
    const page = await open();
    await page.getByRole('button', { name: 'Pause deliveries…' }).click();
    await page.getByLabel('Reason').fill('too loud');
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.locator('p[class*=headline]').getByText('Its deliveries are paused').click();
    await page.getByText(/^Paused since .* by .*: too loud$/).waitFor();
    await page.getByRole('button', { name: 'Resume deliveries' }).click();
    await page.getByText('Its deliveries are paused').waitFor({ state: 'detached' });
    const { body } = await client.expect<{ pause: unknown }>(200, 'GET', `/v1/accounts/${BUSY}`);
    expect(body.pause).toBeNull();
  });

  it('reads another account anew', async () => {
    await portal().client.expect(201, 'POST', '/v1/accounts', { id: 'quiet' });
    const page = await open();
    await page.getByText('3 deliveries held').waitFor();
    await go(page, '/accounts/quiet');
    await page.getByText('There is no webhook yet.').waitFor();
    await page.getByText('3 deliveries held').waitFor({ state: 'detached' });
  });
});

interface State {
  readonly held: number;
  readonly dead_letters: number;
  readonly breakers_open: number;
  readonly webhooks_disabled: number;
  readonly queues: readonly { readonly waiting: number }[];
}

/** Something to count for each figure: jobs that wait, deliveries that are held, webhooks that are stopped, and dead letters. */
async function fillOperations(events: Queue): Promise<void> {
  const { client } = portal();
  const ofOther = { 'x-account-id': OTHER };
  const broken = await Receiver.start(() => 500);
  receivers.push(broken);
  const register = async (url: string) =>
    await client.expect<{ id: string }>(
      201,
      'POST',
      '/v1/webhooks',
      { url, events: [QUICK_WIN.type] },
      ofOther,
    );
  for (const path of ['one', 'two']) {
    const { body } = await register(`${broken.url}/${path}`);
    await client.expect(200, 'POST', `/v1/webhooks/${body.id}/disable`, undefined, ofOther);
  }
  await register(broken.url);
  for (let i = 0; i < 20; i += 1) await client.expect(202, 'POST', '/v1/events', QUICK_WIN, ofOther);
  for (const id of ['one', 'two', 'three']) {
    await events.add('no.such_type', { account_id: 'default', id, data: {} });
  }
  const untilState = async (isThere: (state: State) => boolean) =>
    await until(async () => {
      const { body } = await client.expect<State>(200, 'GET', '/v1/operations');
      return isThere(body) || undefined;
    });
  await untilState((state) => state.dead_letters === 3 && state.breakers_open > 0 && state.held >= 40);
  await events.pause();
  await events.addBulk(
    [1, 2].map((id) => ({ name: BRIEF.type, data: { account_id: 'default', id: `${id}`, data: {} } })),
  );
  await untilState(({ queues }) => queues.some(({ waiting }) => waiting === 2));
}

const sum = (texts: readonly string[]) => texts.reduce((all, text) => all + numberIn(text), 0);

/** How many there are where the figures of operations lead to. */
const COUNTS: Readonly<Record<string, (page: Page) => Promise<number>>> = {
  'Jobs waiting': async (page) => {
    const queues = page.getByRole('table', { name: 'Queues' });
    const header = await queues.getByRole('columnheader').allInnerTexts();
    const column = header.indexOf('Waiting') + 1;
    return sum(await queues.locator(`tbody td:nth-child(${column})`).allInnerTexts());
  },
  'Deliveries held': async (page) =>
    sum(
      await page
        .getByRole('region', { name: 'Held deliveries' })
        .locator('li span:nth-child(2)')
        .allInnerTexts(),
    ),
  'Webhooks paused after failures': rowsOf('Stopped webhooks', 'they keep failing'),
  'Webhooks disabled': rowsOf('Stopped webhooks', 'they are disabled'),
  'Dead letters': rowsOf('Dead letters'),
};

function rowsOf(name: string, chosen?: string) {
  return async (page: Page) => {
    if (chosen !== undefined) {
      const why = page.getByRole('region', { name }).getByRole('combobox');
      await why.locator('option:checked', { hasText: chosen }).waitFor({ state: 'attached' });
    }
    const table = page.locator(`table[aria-label="${name}"][aria-busy="false"]`);
    return Number(await table.getAttribute('aria-rowcount')) - 1;
  };
}

it('leads from each figure of operations to as many', async () => {
  const events = new Queue('events', { connection: portal().stack.redis.client });
  try {
    await fillOperations(events);
    const page = await portal().signIn({ path: '/operations', capabilities: ['read', 'operate'] });
    const figures = page
      .getByRole('region', { name: 'Now' })
      .locator('> div')
      .filter({ has: page.getByRole('link') });
    await figures.first().waitFor();
    const names = await figures.locator('p:first-child').allInnerTexts();
    expect(names.toSorted()).toEqual(Object.keys(COUNTS).toSorted());
    for (const name of names) {
      const link = figures.filter({ hasText: name }).getByRole('link');
      const shown = numberIn(await link.innerText());
      expect(shown).toBeGreaterThan(0);
      await link.click();
      expect([name, await COUNTS[name]?.(page)]).toEqual([name, shown]);
      await page.goBack();
      await figures.first().waitFor();
    }
  } finally {
    await events.resume();
    await events.close();
  }
});
