import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { runInNewContext } from 'node:vm';
import express, { type RequestHandler } from 'express';
import type { Frame, Page } from 'playwright-core';
import { blocksOf, readPage } from '../docs/read-page';
import type { ApiClient } from '../support/api-client';
import { until } from '../support/until';
import { HostSite } from './support/host-site';
import { usePortal } from './support/use-portal';

const portal = usePortal({ workers: 0 });

let host: HostSite;
let unknownEndpoint: HostSite;
let framable: ApiClient;
beforeAll(async () => {
  [host, unknownEndpoint] = await Promise.all([HostSite.start(), HostSite.start()]);
  ({ client: framable } = await portal().stack.startApi({ PORTAL_FRAME_ANCESTORS: host.origin }));
});
afterAll(() => Promise.all([host, unknownEndpoint].map((site) => site.stop())));

async function open(site: HostSite, ...urls: readonly string[]): Promise<Page> {
  site.frames(...urls);
  const context = await portal().browser.newContext();
  const page = await context.newPage();
  await page.goto(site.origin);
  return page;
}

async function frameOf(page: Page, index = 0): Promise<Frame> {
  return await until(async () => page.mainFrame().childFrames()[index]);
}

async function createLink(client: ApiClient): Promise<string> {
  return (await client.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', {})).body.url;
}

/** What the browser said when it kept the portal out of a frame. */
async function expectRefused(site: HostSite, client: ApiClient): Promise<void> {
  site.frames(await createLink(client));
  const page = await (await portal().browser.newContext()).newPage();
  const refusal = page.waitForEvent('console', (message) => /frame-ancestors/.test(message.text()));
  await page.goto(site.origin);
  await refusal;
  expect(await (await frameOf(page)).locator('#root').count()).toBe(0);
  await page.context().close();
}

it('lets nobody frame it unless somebody is named', async () => {
  await expectRefused(host, portal().client);
});

it('lets nobody frame it but those who are named', async () => {
  await expectRefused(unknownEndpoint, framable);
});

it('works in the frame of a site that is named', async () => {
  const page = await open(host, await createLink(framable));
  await (await frameOf(page)).getByRole('navigation').first().waitFor();
  await page.context().close();
});

it('asks the site around it for a session, and takes one from there', async () => {
  const page = await open(host, `${framable.baseUrl}/portal/`);
  const needed = await until(async () => (await page.evaluate('heard[0]')) ?? undefined);
  expect(needed).toEqual({
    data: { type: 'hookferry:session-needed' },
    origin: framable.baseUrl,
  });
  const given = { type: 'hookferry:session', url: await createLink(framable) };
  await page.evaluate(`frames[0].postMessage(${JSON.stringify(given)}, '${framable.baseUrl}')`);
  await (await frameOf(page)).getByRole('navigation').first().waitFor();
  await page.context().close();
});

it('works in a page as docs/portal.md shows it', async () => {
  const site = express();
  const listening = site.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const origin = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const { client } = await portal().stack.startApi({ PORTAL_FRAME_ANCESTORS: origin });
  const page = await readPage('portal.md');
  const server = blocksOf(page, 'js').filter((block) => block.includes("app.post('/webhook-portal'"));
  const [script = '', html = ''] = [
    ...server,
    ...blocksOf(page, 'html').filter((block) => block.includes('<iframe')),
  ].map((block) => block.replaceAll('https://hooks.example.com', client.baseUrl));
  let links = 0;
  const requireLogin: RequestHandler = (request, _response, next) => {
    links += 1;
    Object.assign(request, { user: { webhookAccount: 'default' } });
    next();
  };
  const env = { HOOKFERRY_API_KEY: portal().stack.bootstrapKey };
  runInNewContext(script, { app: site, requireLogin, process: { env }, fetch });
  site.get('/', (_request, response) => void response.type('html').send(`<!doctype html>${html}`));

  const around = await (await portal().browser.newContext()).newPage();
  await around.goto(origin);
  await (await frameOf(around)).getByRole('navigation').first().waitFor();
  await (await frameOf(around)).evaluate('location.reload()');
  await until(async () => links === 2 || undefined);
  await (await frameOf(around)).getByRole('navigation').first().waitFor();
  await around.context().close();
  listening.close();
});

it('takes no session from anybody else who can reach it', async () => {
  unknownEndpoint.frames();
  const page = await open(host, `${framable.baseUrl}/portal/`, unknownEndpoint.origin);
  await until(async () => (await page.evaluate('heard[0]')) ?? undefined);
  const given = { type: 'hookferry:session', url: await createLink(framable) };
  const [frame, beside] = [await frameOf(page), await frameOf(page, 1)];
  // Not even with a link that is good: whose session it is would be the stranger's choice.
  await beside.evaluate(`parent.frames[0].postMessage(${JSON.stringify(given)}, '*')`);
  await beside.evaluate(`parent.frames[0].postMessage(${JSON.stringify(given)}, '${framable.baseUrl}')`);
  // It was not tried: from the site around, the same link is good still.
  await frame.getByRole('heading').first().waitFor();
  expect(await frame.getByRole('navigation').count()).toBe(0);
  await page.evaluate(`frames[0].postMessage(${JSON.stringify(given)}, '${framable.baseUrl}')`);
  await frame.getByRole('navigation').first().waitFor();
  await page.context().close();
});
