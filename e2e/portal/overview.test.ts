import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkSteadiness, checkSteadinessWithLateReads } from './support/check-steadiness';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { tabTo } from './support/tab-to';
import { usePortal } from './support/use-portal';

const portal = usePortal({ environment: { RETRY_SCHEDULE: '1h' } });
const MINUTE_MS = 60_000;

let good: SwitchedReceiver;
let bad: SwitchedReceiver;
let goodId: string;
let badId: string;

beforeAll(async () => {
  const { client } = portal();
  [good, bad] = await Promise.all([startSwitchedReceiver(204), startSwitchedReceiver(500)]);
  const named = (description: string) => ({ description });
  ({ id: goodId } = await client.register(good.receiver.url, [BRIEF.type], named('Always well')));
  ({ id: badId } = await client.register(
    bad.receiver.url,
    [BRIEF.type, QUICK_WIN.type],
    named('An old system'),
  ));
  for (let i = 0; i < 3; i += 1) {
    const eventId = await client.publish(BRIEF.type, BRIEF.data);
    await client.waitForStatus(goodId, eventId, 'delivered');
    await until(
      async () => (await client.readDelivery(`${eventId}.${badId}`)).attempt_count === 1 || undefined,
    );
  }
});

afterAll(async () => {
  await Promise.all([good, bad].map(({ receiver }) => receiver.stop()));
});

// Whether the chart of events has anything of the colour that its legend says.
const SEES_BARS = `(() => {
  const figure = [...document.querySelectorAll('figure')].find(({ textContent }) => textContent.startsWith('Events accepted'));
  const color = getComputedStyle(figure.querySelector('[class*=swatch]')).color.match(/\\d+/g).map(Number);
  const canvas = figure.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4) if (color.every((part, i) => data[at + i] === part)) return true;
  return false;
})()`;

const figure = (page: Page, title: string) => page.getByRole('figure', { name: title });
const card = (page: Page, name: string, value: string) =>
  page
    .locator('dl[aria-label="All of this time"] > div')
    .filter({ hasText: name })
    .getByText(value, { exact: true });

describe('the overview', () => {
  it('comes first, and says how many events there were, how attempts ended, and which webhook fails', async () => {
    const page = await portal().signIn({ path: '/' });
    await page.waitForURL('**/portal/overview');
    await card(page, 'Events accepted', '3').waitFor();
    await card(page, 'Attempts', '6').waitFor();
    await card(page, 'Success rate', '50%').waitFor();
    await figure(page, 'Attempts by response').locator('canvas').waitFor();
    await page.getByRole('table', { name: 'Webhooks that fail most' }).getByText('An old system').waitFor();
    await page.getByRole('table', { name: 'About to be disabled' }).getByText('An old system').waitFor();
    await page
      .getByRole('region', { name: 'Most frequent responses' })
      .getByRole('link', { name: 'HTTP 5xx' })
      .click();
    await page.waitForURL(/deliveries\?.*attempt=http_5xx/);
    await page.getByRole('table', { name: 'Deliveries' }).getByText('HTTP 500').first().waitFor();
  });

  it('begins with what is wrong, each with a link', async () => {
    const page = await portal().signIn({ path: '/overview' });
    const headline = page.locator('p', { hasText: 'An old system will be disabled on' });
    await headline.waitFor();
    expect(await headline.innerText()).toMatch(/^An old system fails · An old system will be disabled on /);
    await headline.getByRole('link', { name: 'An old system fails' }).click();
    await page.waitForURL(`**/webhooks/${badId}`);
  });

  it('says the values of a time to the keyboard, and leads on from there', async () => {
    const page = await portal().signIn({ path: '/overview?range=1h' });
    const chart = figure(page, 'Attempts by response');
    const walk = chart.getByRole('slider');
    await chart.locator('canvas').waitFor();
    await chart.getByText('All of this time').waitFor();
    await walk.focus();
    await page.keyboard.press('End');
    await until(async () => {
      await page.keyboard.press('ArrowLeft');
      return /Delivered [1-9]/.test((await walk.getAttribute('aria-valuetext')) ?? '') || undefined;
    });
    const delivered = chart.locator('li', { hasText: 'Delivered' }).getByRole('link');
    expect(Number(await delivered.innerText())).toBeGreaterThan(0);
    await delivered.click();
    await page.waitForURL(/deliveries\?.*attempt=delivered/);
  });

  it('says how far it reaches, and does not move while it loads', async () => {
    const page = await portal().signIn({ path: '/overview' });
    await card(page, 'Attempts', '6').waitFor();
    await figure(page, 'Success rate').locator('canvas').waitFor();
    const isShort = (await page.getByText('With a history in PostgreSQL').count()) === 1;
    expect(isShort).toBe(process.env['TEST_HISTORY'] !== '1');
    await checkSteadiness(page);
    for (const span of ['30 d', '7 d', '1 h']) {
      await page.getByRole('button', { name: span }).click();
      await card(page, 'Attempts', '6').waitFor();
    }
    expect(new URL(page.url()).searchParams.get('range')).toBe('1h');
  });

  it('draws its charts where the browser has a language that is none', async () => {
    const page = await portal().openBlank();
    // As Chromium has it on a system whose locale is POSIX.
    await page.addInitScript(
      "Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' })",
    );
    const { body } = await portal().client.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', {});
    await page.goto(`${portal().client.baseUrl}/portal/overview?range=1h#${body.url.split('#')[1]}`);
    await figure(page, 'Attempts by response').locator('canvas').waitFor();
  });

  it('does not move, whichever response comes last', async () => {
    const wish = { path: '/overview', capabilities: ['read', 'webhooks'] } as const;
    expect(await checkSteadinessWithLateReads(portal(), wish)).toBeGreaterThan(5);
  });

  it('shows new attempts by itself', async () => {
    const { client } = portal();
    const page = await portal().signIn({ path: '/overview?range=1h' });
    const region = page.getByRole('region', { name: 'Most frequent responses' });
    await region.getByText('Delivered').waitFor();
    const before = Number(await region.locator('li', { hasText: 'Delivered' }).locator('span').innerText());
    await client.publish(BRIEF.type, BRIEF.data);
    await until(async () => {
      const now = Number(await region.locator('li', { hasText: 'Delivered' }).locator('span').innerText());
      return now > before || undefined;
    });
  });

  it('leads from a bar to its deliveries, and from a drawn range to that time', async () => {
    const page = await portal().signIn({ path: '/overview?range=1h' });
    const chart = figure(page, 'Attempts by response');
    const over = chart.locator('.u-over');
    await over.waitFor();
    const box = await over.boundingBox();
    if (!box) throw new Error('The chart has no place.');
    // The last bar but some: 12 of 13 five minutes are empty, and the newest is at the right end.
    const picked = await lastFilledBar(page, box);
    await page.mouse.click(picked.x, picked.y);
    await page.waitForURL(/deliveries\?.*attempt=delivered/);
    const { searchParams } = new URL(page.url());
    expect(
      Date.parse(searchParams.get('attempted_until') ?? '') -
        Date.parse(searchParams.get('attempted_since') ?? ''),
    ).toBe(MINUTE_MS);
    await page.getByRole('table', { name: 'Deliveries' }).getByText('Delivered').first().waitFor();

    await page.goBack();
    await over.waitFor();
    await page.mouse.move(box.x + box.width / 2, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.waitForURL(/overview\?.*since=/);
    await card(page, 'Attempts', '8').waitFor();
  });

  it('has its bars also where they are narrow: those of the hours of a week, on a telephone', async () => {
    const page = await portal().signIn({ path: '/overview?range=7d', width: 360 });
    await figure(page, 'Events accepted').locator('canvas').waitFor();
    await until(async () => (await page.evaluate(SEES_BARS)) || undefined);
  });

  it('is the same as tables, by the keyboard alone', async () => {
    const page = await portal().signIn({ path: '/overview?range=1h' });
    const chart = figure(page, 'Attempts by response');
    await chart.locator('canvas').waitFor();
    await chart.getByRole('button', { name: 'Table' }).focus();
    await page.keyboard.press('Enter');
    const table = chart.getByRole('table');
    await table.getByRole('columnheader', { name: 'HTTP 5xx' }).waitFor();
    const link = table.getByRole('row').nth(1).getByRole('link').nth(2);
    await link.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/deliveries\?.*attempt=http_5xx/);
    await page.getByRole('table', { name: 'Deliveries' }).getByText('HTTP 500').first().waitFor();
  });

  it('looks at a range that is typed, and leaves alone what is still being typed', async () => {
    const page = await portal().signIn({ path: '/overview?range=24h', timezone: 'UTC' });
    await figure(page, 'Attempts by response').locator('canvas').waitFor();
    const day = new Date(Date.now() - 3 * 24 * 60 * MINUTE_MS).toISOString().slice(0, 10);
    const [year, month, date] = day.split('-');
    // The range is none before its end has been typed as well: the beginning is after it by then.
    await tabTo(page, 'To');
    await page.keyboard.type(`${month}${date}${year}`);
    await page.getByText('This is no range').waitFor();
    await checkAccessibility(page);
    await page.keyboard.press('Tab');
    await page.keyboard.type('0630PM');
    await page.getByLabel('From').focus();
    await page.keyboard.type(`${month}${date}${year}`);
    await page.keyboard.press('Tab');
    await page.keyboard.type('0115PM');
    await page.getByText('This is no range').waitFor({ state: 'detached' });
    await card(page, 'Attempts', '0').waitFor();
    const range = () => ['since', 'until'].map((edge) => new URL(page.url()).searchParams.get(edge));
    expect(range()).toEqual([`${day}T13:15:00.000Z`, `${day}T18:30:00.000Z`]);
    await page.getByRole('button', { name: '24 h' }).focus();
    await page.keyboard.press('Enter');
    await figure(page, 'Attempts by response').locator('canvas').waitFor();
    expect(await page.getByLabel('From').inputValue()).not.toContain(day);
  });

  it('shows most of a year, also without a history', async () => {
    const dayAgo = (days: number) => new Date(Date.now() - days * 24 * 60 * MINUTE_MS).toISOString();
    const page = await portal().signIn({ path: `/overview?since=${dayAgo(300)}&until=${dayAgo(2)}` });
    await card(page, 'Attempts', '0').waitFor();
    await figure(page, 'Events accepted').getByText('Nothing in this period.').first().waitFor();
  });

  it('can be taken along as CSV and as PNG', async () => {
    const page = await portal().signIn({ path: '/overview?range=1h' });
    const chart = figure(page, 'Attempts by response');
    await chart.locator('canvas').waitFor();
    const save = async (kind: 'CSV' | 'PNG') => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        chart.getByRole('button', { name: kind }).click(),
      ]);
      return { name: download.suggestedFilename(), content: await readFile(await download.path()) };
    };
    const csv = await save('CSV');
    expect(csv.name).toBe('attempts-by-response.csv');
    const [head, ...rows] = csv.content.toString('utf8').trim().split('\r\n');
    expect(head).toBe('start,"Delivered","HTTP 5xx"');
    expect(rows.reduce((sum, row) => sum + Number(row.split(',')[1]), 0)).toBeGreaterThan(2);
    const png = await save('PNG');
    expect(png.content.subarray(1, 4).toString('latin1')).toBe('PNG');
  });

  it('is there for one webhook and for one event type', async () => {
    const page = await portal().signIn({ path: `/webhooks/${badId}` });
    await page.getByRole('link', { name: 'Charts' }).click();
    await page.getByRole('link', { name: 'An old system' }).waitFor();
    await card(page, 'Success rate', '0%').waitFor();
    await figure(page, 'Attempts by response').getByText('Failed').waitFor();
    await page.getByRole('link', { name: 'all', exact: true }).click();
    await card(page, 'Success rate', '50%').waitFor();

    await tabTo(page, 'Event types');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: BRIEF.type }).first().click();
    await page.getByRole('link', { name: 'Charts' }).click();
    await page.getByRole('link', { name: BRIEF.type }).waitFor();
    await card(page, 'Success rate', '50%').waitFor();
  });

  it.each([360, 1280])('is accessible in both themes, as charts and as tables, %d px wide', async (width) => {
    const page = await portal().signIn({ path: '/overview?range=1h', width });
    await figure(page, 'Time to the response, and to delivery').locator('canvas').waitFor();
    await page.getByRole('table', { name: 'Webhooks that fail most' }).getByText('An old system').waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
    const buttons = page.getByRole('button', { name: 'Table', exact: true });
    for (let left = await buttons.count(); left > 0; left -= 1) await buttons.first().click();
    await figure(page, 'Success rate').getByRole('table').waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
  });

  it('says that there is nothing where there is nothing', async () => {
    const { client } = portal();
    await client.expect(201, 'POST', '/v1/accounts', { id: 'empty' });
    const page = await portal().signIn({ path: '/overview', account_id: 'empty' });
    await page.getByRole('region', { name: 'First steps' }).getByRole('button', { name: 'Hide' }).click();
    await card(page, 'Attempts', '0').waitFor();
    await page.getByText('Nothing in this period.').first().waitFor();
    await page.getByText('Nothing is held.').waitFor();
    await checkAccessibility(page);
  });
});

it.each([
  ['/', /\/assets\/overview-page-.*\.js$/],
  ['/webhooks/new', /\/assets\/new-webhook-page-.*\.js$/],
  ['/dead-letters', /\/assets\/dead-letters-page-.*\.js$/],
])('asks for the code of the page at %s while somebody signs in', async (path, code) => {
  const { client } = portal();
  const { body } = await client.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', {});
  const page = await portal().openBlank();
  const isLoaded = page.waitForResponse(code);
  await page.route('**/v1/portal-sessions/exchange', async (route) => {
    await isLoaded;
    await route.continue();
  });
  await page.goto(`${client.baseUrl}/portal${path}#${body.url.split('#')[1]}`);
  // Nobody would be signed in, did it wait for that.
  await page.getByRole('navigation').first().waitFor();
  expect((await isLoaded).ok()).toBe(true);
});

describe('the first steps of a new account', () => {
  it('lead in the page from an added type to an event that has arrived', async () => {
    const { client } = portal();
    await client.expect(201, 'POST', '/v1/accounts', { id: 'new' });
    const capabilities = ['read', 'webhooks', 'redeliver', 'publish', 'secrets', 'operate'] as const;
    const page = await portal().signIn({ path: '/overview', capabilities });
    await page.getByLabel('Account in view').selectOption('new');
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByText('Add a type from an example').click();
    await steps.getByLabel('Name').fill('parcel.sent');
    await steps.getByLabel('Example of its data').fill('{"parcel":"p1","weight":3}');
    await steps.getByText('"integer"').waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
    await steps.getByRole('button', { name: 'Add the type' }).click();
    await steps.getByText('parcel.sent was added.').waitFor();

    await steps.getByLabel('URL').fill(good.receiver.url);
    await steps.getByRole('button', { name: 'Add', exact: true }).click();
    await steps.getByText('gets every type').waitFor();
    await steps.getByRole('heading', { name: 'Publish an event' }).waitFor();
    await steps.getByLabel('Event type').selectOption('parcel.sent');
    const data = steps.getByLabel('Its data', { exact: true });
    expect(JSON.parse(await data.inputValue())).toEqual({ parcel: 'p1', weight: 3 });
    await data.fill('{');
    await steps.getByText('This is not JSON.').waitFor();
    await data.fill('{"parcel":"p1","weight":12345678901234567890}');
    await checkAccessibility(page);
    await checkWidth(page);
    await steps.getByRole('button', { name: 'Publish' }).click();
    await steps.getByText('HTTP 204').waitFor();
    await steps.getByText('Delivered').waitFor();
    await checkAccessibility(page);
    const request = good.receiver.requests.find(({ body }) => body.includes('parcel.sent'));
    expect(String(request?.body)).toBe(
      '{"type":"parcel.sent","data":{"parcel":"p1","weight":12345678901234567890}}',
    );
    // It is an event like any other, which a test event is not.
    const ofIt = { 'x-account-id': 'new' };
    const { body } = await client.expect<{ data: unknown[] }>(200, 'GET', '/v1/events', undefined, ofIt);
    expect(body.data).toHaveLength(1);
    await steps.getByRole('button', { name: 'Hide' }).click();
    await steps.waitFor({ state: 'detached' });
  });

  it('receive in the page itself, where there is no receiver yet', async () => {
    const { client } = portal();
    await client.expect(201, 'POST', '/v1/accounts', { id: 'receiving' });
    const capabilities = ['read', 'webhooks', 'secrets'] as const;
    const page = await portal().signIn({ path: '/overview', account_id: 'receiving', capabilities });
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByRole('button', { name: 'Receive in this page' }).click();
    await steps.getByText('This page receives').waitFor();
    await steps.getByText('You cannot publish events').waitFor();
    // Before there is anything to count, nothing but the steps is there.
    expect(await page.getByText('Attempts by response').count()).toBe(0);
    await steps.getByRole('button', { name: 'Send test event' }).click();
    const received = page.getByRole('list', { name: 'Received requests' });
    await received.getByRole('group', { name: 'Received body' }).getByText('"type"').first().waitFor();
    await received.getByText(/webhook-signature: v1,/).waitFor();
    await steps.getByText('HTTP 204').waitFor();
    await steps.getByRole('heading', { name: 'See it arrive ✓ done' }).waitFor();
    await page.getByText('Attempts by response').waitFor();
    await checkAccessibility(page);
    await checkWidth(page);

    const ofIt = { 'x-account-id': 'receiving' };
    const list = async () =>
      (await client.expect<{ data: unknown[] }>(200, 'GET', '/v1/webhooks', undefined, ofIt)).body.data;
    expect(await list()).toHaveLength(1);
    await steps.getByRole('button', { name: 'Stop receiving' }).click();
    await until(async () => ((await list()).length === 0 ? true : undefined));
  });

  it.each([
    [['read', 'webhooks'], 'Send it a test event'],
    [['read', 'publish'], 'Publish an event'],
  ] as const)('end with what a session with %j may do: %s', async (capabilities, heading) => {
    const account = `steps-${capabilities[1]}`;
    await portal().client.expect(201, 'POST', '/v1/accounts', { id: account });
    const page = await portal().signIn({ path: '/overview', account_id: account, capabilities });
    await page.getByRole('region', { name: 'First steps' }).getByRole('heading', { name: heading }).waitFor();
    expect(await page.getByRole('button', { name: /^(Publish|Send test event)$/ }).count()).toBe(0);
  });

  it('do not move what is there, whichever response comes last', async () => {
    await portal().client.expect(201, 'POST', '/v1/accounts', { id: 'late' });
    const capabilities = ['read', 'webhooks'] as const;
    const wish = { path: '/overview', account_id: 'late', capabilities, width: 390 };
    expect(await checkSteadinessWithLateReads(portal(), wish)).toBeGreaterThan(5);
  });

  it('are there as a whole before charts come below them', async () => {
    const { client } = portal();
    const ofIt = { 'x-account-id': 'lively' };
    await client.expect(201, 'POST', '/v1/accounts', { id: 'lively' });
    const webhook = { url: good.receiver.url, events: ['*'] };
    await client.expect(201, 'POST', '/v1/webhooks', webhook, ofIt);
    let isAnswered = false;
    let onCounted = () => {};
    const counted = new Promise<void>((resolve) => {
      onCounted = resolve;
    });
    const page = await portal().signIn({
      path: '/overview',
      account_id: 'lively',
      capabilities: ['read', 'webhooks'],
      prepare: (blank) =>
        blank.route('**/v1/event-types', async (route) => {
          await counted;
          await route.fulfill({ response: await route.fetch() });
          isAnswered = true;
        }),
    });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await client.expect(202, 'POST', '/v1/events', QUICK_WIN, ofIt);
    await card(page, 'Attempts', '1').waitFor();
    onCounted();
    await figure(page, 'Success rate').locator('canvas').waitFor();
    await until(async () => isAnswered || undefined);
    await checkSteadiness(page);
  });

  it('are not shown where there was something', async () => {
    const page = await portal().signIn({ path: '/overview' });
    await page.getByRole('table', { name: 'About to be disabled' }).getByText('An old system').waitFor();
    expect(await page.getByRole('region', { name: 'First steps' }).count()).toBe(0);
  });
});

/** In the bar at the right end that is highest, near its foot. */
async function lastFilledBar(
  page: Page,
  box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
): Promise<{ readonly x: number; readonly y: number }> {
  const y = box.y + box.height - 3;
  for (let left = box.width - 2; left > 0; left -= 2) {
    const x = box.x + left;
    await page.mouse.move(x, y);
    const legend = page.getByRole('figure', { name: 'Attempts by response' }).locator('[class*=legend] > li');
    const delivered = await legend.filter({ hasText: 'Delivered' }).innerText();
    if (/[1-9]/.test(delivered)) return { x, y };
  }
  throw new Error('All bars are empty.');
}
