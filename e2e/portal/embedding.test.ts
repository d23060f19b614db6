import { join } from 'node:path';
import type { Frame, Page } from 'playwright-core';
import type { ApiClient } from '../support/api-client';
import { until } from '../support/until';
import { Product } from './support/product';
import { usePortal } from './support/use-portal';

const portal = usePortal({ workers: 0 });
const PACKAGE = join(__dirname, '../../packages/portal/dist');

/** Before jest's own limit, which says less. */
const PATIENCE_MS = 60_000;

let product: Product;
let api: ApiClient;
beforeAll(async () => {
  // As strict as a page can be: the component needs no exception.
  product = await Product.start({
    folders: { package: PACKAGE },
    policy: `frame-src http:; style-src 'self'`,
  });
  ({ client: api } = await portal().stack.startApi({
    PORTAL_FRAME_ANCESTORS: `https://app.example.com,${product.origin}`,
  }));
});
beforeEach(() => {
  product.linksGiven = 0;
  product.link = () => linkWith({});
});
afterAll(() => product.stop());

async function linkWith(wish: object): Promise<string> {
  return (await api.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', wish)).body.url;
}

interface Noted {
  readonly name: string;
  readonly path?: string;
  readonly kind?: string;
  readonly id?: string;
  readonly code?: string;
  readonly detail?: string;
}

const faults: string[] = [];
let opened: Page;
afterEach(async () => {
  await opened.context().close();
  const seen = faults.splice(0);
  if (seen.length > 0) throw new Error(`The page has faults:\n${seen.join('\n')}`);
});

async function open(attributes = '', baseUrl = api.baseUrl): Promise<Page> {
  product.html = `<!doctype html><title>Product</title><h1>Settings</h1><script src="/note.js"></script>
<script type="module" src="/package/index.js"></script>
<hookferry-portal base-url="${baseUrl}" session-url="/portal-link" ${attributes}></hookferry-portal><p>The end</p>`;
  const context = await portal().browser.newContext({
    viewport: { width: 1280, height: 700 },
    locale: 'en-US',
  });
  opened = await context.newPage();
  opened.setDefaultTimeout(PATIENCE_MS);
  opened.on('pageerror', (error) => faults.push(error.message));
  opened.on('console', (message) => {
    if (message.type() === 'error' && !/401 \(Unauthorized\)|frame-ancestors/.test(message.text()))
      faults.push(message.text());
  });
  await opened.goto(product.origin);
  return opened;
}

async function frameOf(page: Page): Promise<Frame> {
  return await until(async () => page.mainFrame().childFrames()[0]);
}

const notedIn = (page: Page) => page.evaluate<readonly Noted[]>('noted');

/** The first event of a name that the page has heard from the component. */
async function heard(page: Page, name: string, but: Partial<Noted> = {}): Promise<Noted> {
  return await until(async () => {
    return (await notedIn(page)).find(
      (one) =>
        one.name === name && Object.entries(but).every(([key, value]) => one[key as keyof Noted] === value),
    );
  });
}

const setProperty = (page: Page, name: string, value: unknown) =>
  page.evaluate(`document.querySelector('hookferry-portal').${name} = ${JSON.stringify(value)}`);

it('shows the portal at the start page, and tells what happens in it', async () => {
  const page = await open('page="/webhooks"');
  const frame = await frameOf(page);
  expect(await heard(page, 'ready')).toEqual({ name: 'ready', path: '/webhooks' });
  await frame.getByRole('link', { name: 'Event types' }).first().click();
  await heard(page, 'navigated', { path: '/event-types' });

  await setProperty(page, 'page', '/webhooks/new');
  await frame.getByLabel('URL', { exact: true }).fill('https://example.com/hook');
  await frame.getByRole('button', { name: 'Create webhook' }).click();
  const { kind, id } = await heard(page, 'created');
  expect({ kind, id }).toEqual({ kind: 'webhook', id: expect.stringMatching(/^wh_/) });
  expect(product.linksGiven).toBe(1);
});

it('is as high as its content, up to a bound, and no higher', async () => {
  const page = await open('page="/event-types" max-height="2000"');
  const frame = await frameOf(page);
  await heard(page, 'ready');
  const heights = async () => ({
    frame: (await page.locator('hookferry-portal iframe').boundingBox())?.height ?? 0,
    content: Math.ceil(
      await frame.evaluate(`document.getElementById('root').getBoundingClientRect().height`),
    ),
  });
  await frame.getByRole('table').first().waitFor();
  await until(async () => {
    const { frame: own, content } = await heights();
    return own === Math.max(320, content) || undefined;
  });
  await frame.evaluate(
    `document.getElementById('root').append(Object.assign(document.createElement('div'), { id: 'tall' }))`,
  );
  const grow = (height: number) =>
    frame.evaluate(`document.getElementById('tall').style.height = '${height}px'`);
  await grow(900);
  await until(async () => (await heights()).frame > 900 || undefined);
  expect((await heights()).frame).toBe((await heights()).content);
  await grow(9_000);
  await until(async () => (await heights()).frame === 2_000 || undefined);
  await grow(0);
  await until(async () => (await heights()).frame < 900 || undefined);
});

it('does not grow by what grows with it', async () => {
  const page = await open('max-height="3000"');
  const frame = await frameOf(page);
  await heard(page, 'ready');
  // Each answer of the page around makes it higher: that would go on to the bound and stop there.
  await frame.evaluate(`document.getElementById('root').style.minHeight = '50vh'`);
  await until(async () => {
    const box = await page.locator('hookferry-portal iframe').boundingBox();
    const content = Math.ceil(
      await frame.evaluate(`document.getElementById('root').getBoundingClientRect().height`),
    );
    return box?.height === content || undefined;
  });
  expect((await page.locator('hookferry-portal iframe').boundingBox())?.height).toBeLessThan(3_000);
});

it('shows dialogs in the part of the frame that is in view', async () => {
  const made = { url: 'https://example.com/dialog', events: ['*'], description: 'For a dialog' };
  const { body } = await api.expect<{ id: string }>(201, 'POST', '/v1/webhooks', made);
  const page = await open(`page="/webhooks/${body.id}"`);
  const frame = await frameOf(page);
  await heard(page, 'ready');
  const button = frame.getByRole('button', { name: 'Delete' }).first();
  await button.waitFor();
  await frame.evaluate(`document.getElementById('root').style.paddingTop = '1800px'`);
  await until(
    async () =>
      ((await page.locator('hookferry-portal iframe').boundingBox())?.height ?? 0) > 1_900 || undefined,
  );
  await button.scrollIntoViewIfNeeded();
  // Not by a click, which could miss it while the frame still grows.
  const dialog = frame.getByRole('alertdialog');
  await until(async () => {
    // The key goes to the page around while the frame is not focused yet.
    if ((await dialog.count()) === 0) await button.press('Enter');
    const box = await dialog.boundingBox({ timeout: 2_000 }).catch(() => null);
    return (box && box.y >= 0 && box.y + box.height <= 700) || undefined;
  });
});

it('hides the navigation and takes light or dark from the page around, also after it was loaded again', async () => {
  const page = await open('hide-navigation mode="dark" page="/webhooks"');
  const frame = await frameOf(page);
  const look = async () => ({
    mode: await frame.evaluate(`document.documentElement.dataset.theme`),
    navigations: await frame.getByRole('navigation', { name: 'Pages' }).count(),
  });
  await heard(page, 'ready');
  expect(await look()).toEqual({ mode: 'dark', navigations: 0 });
  await setProperty(page, 'mode', 'light');
  await until(async () => (await look()).mode === 'light' || undefined);
  await frame.evaluate('location.reload()');
  await until(async () => product.linksGiven === 2 || undefined);
  await frame.getByRole('link', { name: 'New webhook' }).first().waitFor();
  expect(await look()).toEqual({ mode: 'light', navigations: 0 });
  await setProperty(page, 'hideNavigation', false);
  await frame.getByRole('navigation', { name: 'Pages' }).waitFor();
});

it('gives the portal another session when its own has ended', async () => {
  let id = '';
  product.link = async () => {
    const { body } = await api.expect<{ id: string; url: string }>(201, 'POST', '/v1/portal-sessions', {});
    id = body.id;
    return body.url;
  };
  const page = await open('page="/webhooks"');
  const frame = await frameOf(page);
  await heard(page, 'ready');
  await api.expect(204, 'DELETE', `/v1/portal-sessions/${id}`);
  await frame.getByRole('link', { name: 'Deliveries' }).first().click();
  await until(async () => product.linksGiven === 2 || undefined);
  await frame.getByRole('heading', { name: 'Deliveries' }).waitFor();
  expect((await notedIn(page)).filter(({ name }) => name === 'failed')).toEqual([]);
});

it('says why there is no portal', async () => {
  product.link = undefined;
  let page = await open();
  expect(await heard(page, 'failed')).toMatchObject({
    code: 'session_unavailable',
    detail: expect.stringContaining('401'),
  });
  await page.context().close();

  // A link to another service, whoever made it, is not given on.
  product.link = async () => 'https://evil.example/portal/#code=whc_x';
  page = await open();
  expect(await heard(page, 'failed')).toMatchObject({ code: 'wrong_origin' });
  await page.context().close();

  // Used up by somebody else.
  const used = await linkWith({});
  await api.expect(200, 'POST', '/v1/portal-sessions/exchange', { code: used.split('#code=')[1] });
  product.link = async () => used;
  page = await open();
  expect(await heard(page, 'failed')).toMatchObject({
    code: 'unauthenticated',
    detail: expect.stringContaining('used already'),
  });
});

it('stops asking when sessions end as soon as they begin', async () => {
  product.link = async () => await linkWith({});
  const page = await open();
  const frame = await frameOf(page);
  await heard(page, 'ready');
  for (let loaded = 2; loaded <= 5; loaded += 1) {
    await frame.evaluate('location.reload()');
    await until(async () => product.linksGiven === loaded || undefined);
    await frame.getByRole('main').waitFor();
  }
  await frame.evaluate('location.reload()');
  expect(await heard(page, 'failed')).toMatchObject({ code: 'too_many_sessions' });
  expect(product.linksGiven).toBe(5);
});

it('hears no other page, and lets no other page decide anything', async () => {
  const page = await open('page="/webhooks"');
  const frame = await frameOf(page);
  await heard(page, 'ready');
  // Of the right form, but from the page itself, and from a frame that is not the component's.
  const forged = { type: 'hookferry:failed', code: 'forged', detail: 'forged' };
  await page.evaluate(`postMessage(${JSON.stringify(forged)}, '*')`);
  // A message of no known form from the portal's own window.
  await frame.evaluate(`parent.postMessage({ type: 'hookferry:height', height: '1e9px' }, '*')`);
  await frame.evaluate(`parent.postMessage({ type: 'constructor' }, '*')`);
  // Values that are none of those to choose from change nothing in the portal.
  const view = {
    type: 'hookferry:view',
    mode: 'x;}',
    navigation: 1,
    path: '//evil.example',
    visible: { top: '0', height: -1 },
  };
  await page.evaluate(
    `document.querySelector('hookferry-portal').shadowRoot.querySelector('iframe').contentWindow.postMessage(${JSON.stringify(view)}, '${api.baseUrl}')`,
  );
  await setProperty(page, 'page', '/deliveries');
  await heard(page, 'navigated', { path: '/deliveries' });
  expect((await notedIn(page)).filter(({ name }) => name === 'failed')).toEqual([]);
  expect(frame.url()).toBe(`${api.baseUrl}/portal/deliveries`);
  expect(await frame.evaluate(`document.documentElement.style.getPropertyValue('--visible-height')`)).toMatch(
    /^\d+px$/,
  );
});

it('has the colours, the font and the corners that the theme of the session names', async () => {
  product.link = () =>
    linkWith({
      theme: {
        surface: '#fdf6e3',
        surface_dark: '#002b36',
        color_dark: '#ffcc00',
        font: 'Courier New, monospace',
        radius: 0,
      },
    });
  const page = await open('page="/webhooks" mode="light"');
  const frame = await frameOf(page);
  await heard(page, 'ready');
  const styleOf = (property: string) => frame.evaluate(`getComputedStyle(document.body).${property}`);
  expect(await styleOf('backgroundColor')).toBe('rgb(253, 246, 227)');
  expect(await styleOf('fontFamily')).toBe('"Courier New", monospace');
  await setProperty(page, 'mode', 'dark');
  await until(async () => (await styleOf('backgroundColor')) === 'rgb(0, 43, 54)' || undefined);
  expect(
    await frame.evaluate(`getComputedStyle(document.documentElement).getPropertyValue('--radius')`),
  ).toBe('0px');
});

it('is in the language of the page around it, also when that changes, and stays where it is', async () => {
  const page = await open('page="/deliveries?status=held" language="de"');
  const frame = await frameOf(page);
  await heard(page, 'ready');
  const languageIn = () => frame.evaluate<string>('document.documentElement.lang');
  expect(await languageIn()).toBe('de');
  // The page around has the choice.
  expect(await frame.locator('header select').count()).toBe(1);
  await setProperty(page, 'language', 'en');
  await frame.getByRole('heading', { level: 1, name: 'Deliveries' }).waitFor();
  expect(await languageIn()).toBe('en');
  expect(await frame.evaluate<string>('location.pathname + location.search')).toBe(
    '/portal/deliveries?status=held',
  );
  expect(product.linksGiven).toBe(2);
});
