import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Client, createClient } from '@hookferry/client';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../../tools/browser/launch-browser.mjs';
import { FrontProxy } from '../portal/support/front-proxy';
import { Receiver } from '../support/receiver';
import { Stack } from '../support/stack';
import { until } from '../support/until';
import type { ConsumerProject } from './consumer-project';
import { installPortal } from './install-client';
import { runWell } from './run-program';

// The commands are those of its README, but from a folder outside of this project.
const EXAMPLE = join(__dirname, '../../examples/saas');
const PUBLISHING = /^POST \/v1\/events /;

let stack: Stack;
let project: ConsumerProject;
let shop: ChildProcess;
let origin: string;
/** Between the shop and Hookferry. */
let way: FrontProxy;
let browser: Browser;
let backendKey: string;

beforeAll(async () => {
  const port = await findClosedPort();
  origin = `http://127.0.0.1:${port}`;
  const manifest = await readFile(join(EXAMPLE, 'package.json'), 'utf8');
  const { '@hookferry/client': _, '@hookferry/portal': __, ...others } = JSON.parse(manifest).dependencies;
  [stack, project, browser] = await Promise.all([Stack.start(), installPortal(others), launchBrowser()]);
  const { client } = await stack.startApi({
    PORTAL_FRAME_ANCESTORS: origin,
    PORTAL_ALLOWED_ORIGINS: origin,
  });
  way = await FrontProxy.start(client.baseUrl);
  await cp(EXAMPLE, project.folder, {
    recursive: true,
    filter: (path) =>
      !/node_modules|package-lock|shop\.sqlite|backend-key|webhooks-page\.js$/.test(
        path.slice(EXAMPLE.length),
      ),
  });
  await operate('setup');
  await runWell('npm', ['run', 'build'], project.folder);
  backendKey = (await readFile(join(project.folder, 'backend-key'), 'utf8')).trim();
  shop = await startShop();
});
afterAll(async () => {
  await end('SIGTERM');
  const receivers = [acme, globex].map((company) => company?.receiver.stop());
  await Promise.all([browser?.close(), way?.stop(), stack?.stop(), project?.remove(), ...receivers]);
});

/** A company: somebody with a browser, and a receiver that its account's webhook sends to. */
interface Company {
  readonly page: Page;
  readonly receiver: Receiver;
  readonly client: Client;
  readonly accountId: string;
}

let acme: Company;
let globex: Company;

it('is set up only where it is told to, and says in a line that the key is of another service', () => {
  const setUp = (environment: object) =>
    spawnSync('node', ['setup.mjs'], {
      cwd: project.folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], ...environment },
    });
  const nowhere = setUp({ OPERATOR_KEY: stack.bootstrapKey });
  expect([nowhere.status, nowhere.stderr]).toEqual([2, expect.stringMatching(/^Set HOOKFERRY_URL .*\n$/)]);
  const elsewhere = setUp({
    HOOKFERRY_URL: stack.client.baseUrl,
    OPERATOR_KEY: `whk_${'a'.repeat(16)}_${'b'.repeat(52)}`,
  });
  expect([elsewhere.status, elsewhere.stderr]).toEqual([1, expect.stringMatching(/^[^\n]*key[^\n]*\n$/)]);
});

it('keeps a type that is there when it is set up again', async () => {
  const path = '/v1/event-types/order.paid';
  const { body: own } = await stack.client.expect<object>(200, 'PUT', path, {
    description: 'Paid, in a program that was here before.',
    schema: { type: 'object' },
    example: {},
  });
  expect(await operate('setup')).toContain('order.paid is there already, and is kept');
  expect((await stack.client.expect<object>(200, 'GET', path)).body).toEqual(own);
});

it('gives each company webhooks of its own, for its own orders', async () => {
  acme = await signUp('Acme <b>Ltd');
  globex = await signUp("Globex '");
  await order(acme, 99.5);
  await order(globex, 1);
  await Promise.all([acme.receiver.waitFor(1), globex.receiver.waitFor(1)]);
  await acme.page.getByRole('button', { name: 'Mark as paid' }).click();
  await acme.receiver.waitFor(2);

  expect(bodiesAt(acme)).toEqual([
    { type: 'order.created', data: { id: expect.stringMatching(/^ord_/), total: 99.5 } },
    { type: 'order.paid', data: { id: bodiesAt(acme)[0]?.data.id, total: 99.5 } },
  ]);
  expect(bodiesAt(globex)).toMatchObject([{ type: 'order.created', data: { total: 1 } }]);
});

it('shows the portal in a frame, to each company its own, also after its session is over', async () => {
  for (const { page, receiver, client } of [acme, globex]) {
    await page.getByRole('link', { name: 'Settings' }).click();
    await portalOf(page).getByText(receiver.url.replace('http://', '')).first().waitFor();
    expect(await portalOf(page).getByText('/hook').count()).toBe(1);
    // The backend's key made the session, and ends it.
    const { data } = await client.GET('/v1/portal-sessions');
    for (const { id } of data) await client.DELETE('/v1/portal-sessions/{id}', { params: { path: { id } } });
    const [frame] = page.mainFrame().childFrames();
    await frame?.evaluate('location.reload()');
    await portalOf(page).getByRole('link', { name: 'Webhooks' }).first().waitFor();
  }
});

it('tells the page around what was created in the portal, and is as high as its content', async () => {
  const { page } = acme;
  await portalOf(page).getByRole('link', { name: 'New webhook' }).first().click();
  await portalOf(page).getByLabel('URL', { exact: true }).fill('https://example.com/by-portal');
  await portalOf(page).getByRole('button', { name: 'Create webhook' }).click();
  await page.getByText(/Created: webhook wh_/).waitFor();
  const frame = page.locator('hookferry-portal iframe');
  const height = await until(async () => {
    const content = (await portalOf(page).locator('#root').boundingBox())?.height ?? 0;
    const shown = (await frame.boundingBox())?.height ?? 0;
    return Math.abs(shown - Math.max(320, content)) <= 1 ? shown : undefined;
  });
  // Not that of a frame nobody has told anything.
  expect(height).not.toBe(150);
});

it('has the same on a page of its own: list, pages, a new webhook, what happens, after the session is over too', async () => {
  const { page, receiver, client } = acme;
  await page.goto(`${origin}/webhooks`);
  const webhooks = page.getByRole('region', { name: 'Webhooks' });
  await webhooks.getByText(receiver.url).waitFor();

  await webhooks.getByLabel('Send orders to').fill('http://nowhere.example.com:1');
  await webhooks.getByRole('button', { name: 'Add' }).click();
  await webhooks.getByRole('alert').waitFor();
  // The backend's key made the session, and ends it: the next call asks the shop for another one.
  const { data } = await client.GET('/v1/portal-sessions');
  for (const { id } of data) await client.DELETE('/v1/portal-sessions/{id}', { params: { path: { id } } });
  await webhooks.getByLabel('Send orders to').fill('https://example.com/by-hooks');
  await webhooks.getByRole('button', { name: 'Add' }).click();
  await webhooks.getByText(/whsec_/).waitFor();
  await webhooks.getByText('https://example.com/by-hooks').waitFor();
  // Two on a page, the newest first.
  expect(await webhooks.getByRole('listitem').count()).toBe(2);
  await webhooks.getByRole('button', { name: 'More webhooks' }).click();
  await webhooks.getByText(receiver.url).waitFor();
  expect(await webhooks.getByRole('listitem').count()).toBe(3);

  // Beside them, the portal as a React component, for what the shop has no page of its own for.
  const types = page.frameLocator('iframe[title="Event types"]');
  await types.getByText('order.created').first().waitFor();
  expect(await types.getByRole('navigation', { name: 'Pages' }).count()).toBe(0);

  const deliveries = page.getByRole('region', { name: 'Deliveries' });
  const paid = deliveries.getByRole('row', { name: /order\.paid delivered/ });
  await paid.first().waitFor();
  const before = receiver.requests.length;
  await paid.first().getByRole('button', { name: 'Send again' }).click();
  await receiver.waitFor(before + 1);
  // Nobody reloads the page: the stream tells it.
  const rows = await deliveries.getByRole('row').count();
  const { id: eventId } = await client.POST('/v1/events', {
    body: { type: 'order.created', data: { id: 'ord_live', total: 7 } },
  });
  await until(async () => ((await deliveries.getByRole('row').count()) > rows ? true : undefined));
  expect(eventId).toMatch(/^evt_/);
  const { data: all } = await client.GET('/v1/webhooks');
  for (const { id, url } of all)
    if (url.startsWith('https://example.com/'))
      await client.DELETE('/v1/webhooks/{id}', { params: { path: { id } } });
});

it('publishes after a crash between the commit and publishing', async () => {
  const before = idsAt(globex).length;
  way.refuse(PUBLISHING);
  await order(globex, 2);
  await end('SIGKILL');
  const account = { 'X-Account-Id': globex.accountId };
  const known = await stack.client.request<{ data: unknown[] }>('GET', '/v1/events', undefined, account);
  expect(known.body.data).toHaveLength(before);

  way.heal();
  shop = await startShop();
  await globex.receiver.waitFor(before + 1);
  expect(bodiesAt(globex).at(-1)).toMatchObject({ data: { total: 2 } });
});

it('delivers once after a crash between publishing and the deletion of the row', async () => {
  const before = idsAt(globex).length;
  way.loseResponses(PUBLISHING);
  await order(globex, 3);
  await globex.receiver.waitFor(before + 1);
  await end('SIGKILL');

  way.heal();
  shop = await startShop();
  // Rows are published in order: when this one has come, the one before was published again.
  await order(globex, 4);
  await globex.receiver.waitFor(before + 2);
  expect(bodiesAt(globex).slice(-2)).toMatchObject([{ data: { total: 3 } }, { data: { total: 4 } }]);
  expect(new Set(idsAt(globex)).size).toBe(before + 2);
});

it('deletes a company that leaves, and no other', async () => {
  const path = { id: acme.accountId };
  await expect(acme.client.DELETE('/v1/accounts/{id}', { params: { path } })).rejects.toMatchObject({
    code: 'insufficient_scope',
  });
  await acme.page.goto(`${origin}/settings`);
  await acme.page.getByRole('button', { name: 'Delete all our data' }).click();
  await acme.page.getByRole('button', { name: 'Sign up' }).waitFor();
  expect(await operate('erase')).toContain('Acme <b>Ltd is erased.\n');
  expect(await operate('erase')).not.toContain('is erased.');
  await until(async () => {
    const { status } = await stack.client.request('GET', `/v1/accounts/${acme.accountId}`);
    return status === 404 || undefined;
  });

  const before = idsAt(globex).length;
  await order(globex, 5);
  await globex.receiver.waitFor(before + 1);
});

/** With a browser of its own; its webhook is registered as the portal would. */
async function signUp(name: string): Promise<Company> {
  const page = await (await browser.newContext({ locale: 'en-US' })).newPage();
  await page.goto(origin);
  await page.getByLabel('Company').fill(name);
  await page.getByLabel('Password').fill('correct horse');
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.getByText(name, { exact: true }).waitFor();
  // The page of settings makes the account.
  await page.goto(`${origin}/settings`);
  const { id: accountId } = await until(async () => {
    const { body } = await stack.client.request<{ data: { id: string; name?: string }[] }>(
      'GET',
      '/v1/accounts',
    );
    return body.data.find((account) => account.name === name);
  });
  const client = createClient({ baseUrl: stack.client.baseUrl, apiKey: backendKey, account: accountId });
  const receiver = await Receiver.start();
  await client.POST('/v1/webhooks', { body: { url: receiver.url, events: ['order.*'] } });
  return { page, receiver, client, accountId };
}

async function order({ page }: Company, total: number): Promise<void> {
  await page.goto(`${origin}/orders`);
  await page.getByLabel('Total').fill(String(total));
  await page.getByRole('button', { name: 'New order' }).click();
  await page.getByRole('cell', { name: total.toFixed(2), exact: true }).waitFor();
}

const portalOf = (page: Page) => page.frameLocator('hookferry-portal iframe');

const idsAt = ({ receiver }: Company) => receiver.requests.map(({ headers }) => headers['webhook-id']);

function bodiesAt({ receiver }: Company): { type: string; data: { id: string; total: number } }[] {
  return receiver.requests.map(({ body }) => JSON.parse(body.toString()));
}

/** A command that needs an operator's key. @returns what it printed. */
async function operate(script: string): Promise<string> {
  const environment = [`HOOKFERRY_URL=${way.origin}`, `OPERATOR_KEY=${stack.bootstrapKey}`];
  return await runWell('env', [...environment, 'npm', 'run', script], project.folder);
}

async function startShop(): Promise<ChildProcess> {
  const env = { ...process.env, HOOKFERRY_URL: way.origin, PORT: new URL(origin).port };
  // Without npm in between, so that a signal reaches it.
  const started = spawn(process.execPath, ['server.mjs'], {
    cwd: project.folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: started.stdout }), 'line');
  expect(line).toBe(`The shop is at ${origin}`);
  return started;
}

async function end(signal: NodeJS.Signals): Promise<void> {
  if (!shop || shop.exitCode !== null || shop.signalCode !== null) return;
  const exited = once(shop, 'exit');
  shop.kill(signal);
  await exited;
}
