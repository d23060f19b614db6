import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Browser, CDPSession, Frame, Page, Request } from 'playwright-core';
import { launchBrowser } from '../../tools/browser/launch-browser.mjs';
import { Product } from '../portal/support/product';
import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';
import type { ConsumerProject } from './consumer-project';
import { installPortal } from './install-client';
import { PROJECT } from './pack-package';

const PAGE = join(__dirname, 'portal-react/page.jsx');
/** The oldest that the package is for, beside the one that it is built with. */
const OLDEST = '18.3.1';
const PATIENCE_MS = 60_000;

let stack: Stack;
let browser: Browser;
let receiver: Receiver;
beforeAll(async () => {
  [stack, browser, receiver] = await Promise.all([Stack.start(), launchBrowser(), Receiver.start()]);
});
afterAll(async () => {
  await Promise.all([browser?.close(), stack?.stop(), receiver?.stop()]);
});

async function currentReact(): Promise<string> {
  const manifest = JSON.parse(await readFile(join(PROJECT, 'packages/portal/package.json'), 'utf8'));
  return manifest.devDependencies.react;
}

describe.each(['current', OLDEST])('React %s', (wanted) => {
  let version: string;
  let project: ConsumerProject;
  let product: Product;
  let api: ApiClient;
  beforeAll(async () => {
    version = wanted === 'current' ? await currentReact() : wanted;
    project = await installPortal({ react: version, 'react-dom': version });
    await project.write('page.jsx', await readFile(PAGE, 'utf8'));
    await build({
      absWorkingDir: project.folder,
      entryPoints: ['page.jsx'],
      outfile: 'app/page.js',
      bundle: true,
      format: 'esm',
      jsx: 'automatic',
      // With the warnings of React, which are faults of a test.
      define: { 'process.env.NODE_ENV': '"development"' },
      logLevel: 'error',
    });
    product = await Product.start({
      folders: { app: join(project.folder, 'app') },
      policy: `frame-src http:; connect-src 'self' http:`,
    });
    product.html = `<!doctype html><title>Product</title><div id="root"></div>
<script type="module" src="/app/page.js"></script>`;
    ({ client: api } = await stack.startApi({
      PORTAL_FRAME_ANCESTORS: product.origin,
      PORTAL_ALLOWED_ORIGINS: product.origin,
    }));
  });
  beforeEach(async () => {
    product.linksGiven = 0;
    product.link = () => linkWith({});
    const { body } = await api.expect<{ data: readonly { id: string }[] }>(200, 'GET', '/v1/webhooks');
    for (const { id } of body.data) await api.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  });
  afterAll(async () => {
    await Promise.all([product?.stop(), project?.remove()]);
  });

  /** The id of the last session. */
  let sessionId = '';
  async function linkWith(wish: object): Promise<string> {
    const { body } = await api.expect<{ id: string; url: string }>(201, 'POST', '/v1/portal-sessions', wish);
    sessionId = body.id;
    return body.url;
  }

  let page: Page;
  const faults: string[] = [];
  /** What the browser says when a test makes the service refuse something. */
  let expected = /$^/;
  beforeEach(async () => {
    expected = /$^/;
    page = await (
      await browser.newContext({ viewport: { width: 1280, height: 700 }, locale: 'en-US' })
    ).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const note = (text: string) => {
      if (!expected.test(text)) faults.push(text);
    };
    page.on('pageerror', ({ message }) => note(message));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') note(message.text());
    });
    await page.goto(product.origin);
    await until(async () => (await page.evaluate('typeof show')) === 'function' || undefined);
  });
  afterEach(async () => {
    await page.context().close();
    const seen = faults.splice(0);
    if (seen.length > 0) throw new Error(`The page has faults:\n${seen.join('\n')}`);
  });

  const show = (name: string, properties: object = {}) =>
    page.evaluate(`show('${name}', ${JSON.stringify({ baseUrl: api.baseUrl, ...properties })})`);

  interface Told {
    readonly name: string;
    readonly path?: string;
    readonly kind?: string;
    readonly id?: string;
    readonly code?: string;
  }

  const told = (name: string, but: Partial<Told> = {}): Promise<Told> =>
    until(async () => {
      const all = await page.evaluate<readonly Told[]>('told');
      return all.find(
        (one) =>
          one.name === name && Object.entries(but).every(([key, value]) => one[key as keyof Told] === value),
      );
    });

  const frameOf = (): Promise<Frame> => until(async () => page.mainFrame().childFrames()[0]);

  describe('the component', () => {
    it('shows the portal, and calls back with what happens, by the functions of the last rendering', async () => {
      await show('Portal', { page: '/webhooks', label: 'Our webhooks' });
      const frame = await frameOf();
      expect(await told('ready 1')).toEqual({ name: 'ready 1', path: '/webhooks' });
      expect(await page.evaluate('reactVersion')).toBe(version);
      expect(await page.locator('hookferry-portal').getAttribute('class')).toBe('frame');
      await page.frameLocator('iframe[title="Our webhooks"]').getByRole('main').waitFor();

      await show('Portal', { round: 2, page: '/webhooks/new', label: 'Our webhooks', mode: 'dark' });
      await told('navigated 2', { path: '/webhooks/new' });
      expect(await frame.evaluate(`document.documentElement.dataset.theme`)).toBe('dark');
      await frame.getByLabel('URL', { exact: true }).fill('https://example.com/by-component');
      await frame.getByRole('button', { name: 'Create webhook' }).click();
      const { kind, id } = await told('created 2');
      expect([kind, id]).toEqual(['webhook', expect.stringMatching(/^wh_/)]);
      expect(await page.evaluate(`told.filter(({ name }) => name.startsWith('failed'))`)).toEqual([]);
      // The strict mode mounts twice: no frame and no session is left of the first time.
      expect(page.mainFrame().childFrames()).toHaveLength(1);
      expect(product.linksGiven).toBe(1);
    });

    it('gets another session when its own has ended, and says when there is none', async () => {
      expected = /401|Unauthorized/;
      await show('Portal', { page: '/webhooks' });
      const frame = await frameOf();
      await told('ready 1');
      const first = sessionId;
      await api.expect(204, 'DELETE', `/v1/portal-sessions/${first}`);
      await frame.getByRole('link', { name: 'Deliveries' }).first().click();
      await until(async () => sessionId !== first || undefined);
      await frame.getByRole('heading', { name: 'Deliveries' }).waitFor();

      product.link = undefined;
      await api.expect(204, 'DELETE', `/v1/portal-sessions/${sessionId}`);
      await frame.getByRole('link', { name: 'Event types' }).first().click();
      expect(await told('failed 1')).toMatchObject({ code: 'session_unavailable' });
    });

    it('leaves nothing when it goes: no frame, no listener, no session', async () => {
      const cdp = await page.context().newCDPSession(page);
      const before = await listenersOf(cdp);
      await show('Portal', { page: '/webhooks' });
      await told('ready 1');
      expect(await listenersOf(cdp)).not.toEqual(before);
      await show('nothing');
      await page.locator('hookferry-portal').waitFor({ state: 'detached' });
      expect(page.mainFrame().childFrames()).toEqual([]);
      expect(await listenersOf(cdp)).toEqual(before);
      const heard = await page.evaluate<number>('told.length');
      // It comes again as if it had never been there.
      await show('Portal', { round: 3, page: '/event-types' });
      await told('ready 3', { path: '/event-types' });
      expect(await page.evaluate(`told.length - ${heard}`)).toBe(1);
      expect(product.linksGiven).toBe(2);
    });
  });

  describe('the hooks', () => {
    const part = (name: string) => page.getByRole('region', { name });
    const busy = (name: string, is: boolean) =>
      page.locator(`section[aria-label="${name}"][aria-busy="${is}"]`).waitFor();

    it('read a list page by page, and create, by one session', async () => {
      for (const path of ['a', 'b', 'c']) await api.register(`https://example.com/${path}`);
      let answer: (() => void) | undefined;
      const held = new Promise<void>((resolve) => {
        answer = resolve;
      });
      await page.route('**/v1/webhooks?*', async (route) => {
        await held;
        await route.continue();
      });
      await show('Webhooks', { query: { limit: 2 } });
      const list = part('Webhooks');
      await list.getByText('not read').waitFor();
      await busy('Webhooks', true);
      answer?.();
      await list.getByText('2 read').waitFor();
      await busy('Webhooks', false);
      await list.getByRole('button', { name: 'More' }).click();
      await list.getByText('3 read').waitFor();
      expect(await list.getByRole('button', { name: 'More' }).count()).toBe(0);
      expect(product.linksGiven).toBe(1);

      expected = /422/;
      await list.getByRole('button', { name: 'Create wrongly' }).click();
      await list.getByText('refused').waitFor();
      expect(await list.locator('.refusal').innerText()).toBe('/url');
      await list.getByRole('button', { name: 'Create', exact: true }).click();
      await list.getByText(/^created with whsec_/).waitFor();
      await list.getByText('https://example.com/by-hooks').waitFor();
      expect(await list.locator('.refusal').count()).toBe(0);

      // Another query is another list: nothing of the one before is shown.
      await show('Webhooks', { query: { limit: 50 } });
      await list.getByText('4 read').waitFor();
    });

    it('say why they have nothing, and keep what they had', async () => {
      expected = /401|403|404|422|Unauthorized|ERR_/;
      const { id } = await api.register('https://example.com/one');
      product.link = undefined;
      await show('Types');
      await part('Types')
        .getByText(/^unauthenticated: /)
        .waitFor();
      await part('Types').getByText('not read').waitFor();
      await busy('Types', false);

      product.link = () => linkWith({ capabilities: ['read'] });
      await show('OneWebhook', { id });
      await part('Webhook').getByText('1 read').waitFor();
      await show('OneWebhook', { id: 'wh_0000000000000000000000' });
      await part('Webhook')
        .getByText(/^not_found: /)
        .waitFor();
      await part('Webhook').getByText('not read').waitFor();

      await show('Webhooks', { query: {} });
      await part('Webhooks').getByText('1 read').waitFor();
      // The session may not.
      await part('Webhooks').getByRole('button', { name: 'Create', exact: true }).click();
      await part('Webhooks').getByText('refused').waitFor();
      await page.route('**/v1/webhooks**', (route) => route.abort());
      await part('Webhooks').getByRole('button', { name: 'Reload' }).click();
      await part('Webhooks').getByRole('alert').waitFor();
      await part('Webhooks').getByText('1 read').waitFor();
      await page.unroute('**/v1/webhooks**');
      await part('Webhooks').getByRole('button', { name: 'Reload' }).click();
      await part('Webhooks').getByRole('alert').waitFor({ state: 'detached' });

      // React says it in the console, too.
      expected = /./;
      await show('Outside');
      await page.getByRole('alert').getByText('Put a <PortalSession> around').waitFor();
      expect(product.linksGiven).toBeGreaterThan(2);
    });

    it('change, follow what happens, and end with their component', async () => {
      const { id } = await api.register(receiver.url);
      await show('OneWebhook', { id });
      await part('Webhook').getByRole('button', { name: 'Rename' }).click();
      await part('Webhook').getByText('Renamed').waitFor();

      const streams = new Set<Request>();
      const answered = page.waitForResponse('**/v1/stream*');
      page.on('request', (request) => {
        if (request.url().includes('/v1/stream')) streams.add(request);
      });
      for (const ending of ['requestfailed', 'requestfinished'] as const)
        page.on(ending as 'requestfailed', (request) => streams.delete(request));
      // Deliveries of webhooks that are gone are still listed.
      expected = /404/;
      await show('Deliveries');
      await part('Deliveries')
        .getByText(/^may .*redeliver/)
        .waitFor();
      await answered;
      expect(streams.size).toBeGreaterThan(0);
      const before = receiver.requests.length;
      await api.publish(QUICK_WIN.type, QUICK_WIN.data);
      // Nobody reloads the page: the stream tells it.
      await part('Deliveries').getByText(`${QUICK_WIN.type} was sent to ${id}`).waitFor();
      await part('Deliveries').getByRole('button', { name: 'Send again' }).click();
      await receiver.waitFor(before + 2);

      await show('nothing');
      await part('Deliveries').waitFor({ state: 'detached' });
      await until(async () => streams.size === 0 || undefined);
    });
  });
});

interface Listener {
  readonly type: string;
}

/** The types of what listens to the window and the document of a page. */
async function listenersOf(cdp: CDPSession): Promise<readonly string[]> {
  const types: string[] = [];
  for (const expression of ['window', 'document']) {
    const { result } = await cdp.send('Runtime.evaluate', { expression });
    const objectId = result.objectId ?? '';
    const { listeners } = await cdp.send('DOMDebugger.getEventListeners', { objectId });
    types.push(...(listeners as readonly Listener[]).map(({ type }) => `${expression}: ${type}`));
  }
  return types.toSorted();
}
