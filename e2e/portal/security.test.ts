import { createClosables } from '@hookferry/core/testing/closables';
import type { Page } from 'playwright-core';
import { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { go, usePortal } from './support/use-portal';

const portal = usePortal();
const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const ended = (page: Page) => page.getByText('Your session has ended');

async function createLink(wish: object = {}) {
  const { client } = portal();
  const { body } = await client.expect<{ id: string; url: string }>(201, 'POST', '/v1/portal-sessions', wish);
  return { ...body, code: new URL(body.url).hash.slice('#code='.length) };
}

/** An account of its own, with a webhook and a delivery. */
async function createTenant(id: string) {
  const { client } = portal();
  await client.expect(201, 'POST', '/v1/accounts', { id });
  const scopes = ['webhooks:read', 'webhooks:write', 'events:write', 'deliveries:read', 'deliveries:write'];
  const { body } = await client.expect<{ key: string }>(
    201,
    'POST',
    '/v1/api-keys',
    { name: id, scopes },
    { 'x-account-id': id },
  );
  const own = new ApiClient(client.baseUrl, body.key);
  const receiver = await Receiver.start();
  willClose({ close: () => receiver.stop() });
  const webhook = await own.register(`${receiver.url}/${id}`);
  const eventId = await own.publish(QUICK_WIN.type, QUICK_WIN.data);
  const delivery = await own.waitForStatus(webhook.id, eventId, 'delivered');
  return { id, webhookId: webhook.id, eventId, deliveryId: delivery.id };
}

describe('a link', () => {
  it('works once: whoever opens it a second time is told so, and gets nothing', async () => {
    const { url } = await createLink();
    const first = await portal().openBlank();
    await first.goto(url);
    await first.getByRole('navigation').first().waitFor();

    const second = await portal().openBlank();
    await second.goto(url);
    await second.getByRole('alert').getByText('This link does not work any more').waitFor();
    await second.getByRole('alert').getByText('The link was used already').waitFor();
    await portal()
      .faultsOf(second)
      .waitFor(/responded with 401: POST .*\/exchange$/);
    expect(await second.getByRole('navigation').count()).toBe(0);
  });

  it('is told that it is no good when it is no link of ours', async () => {
    const page = await portal().open('/portal/#code=whc_made-up');
    await page.getByRole('alert').getByText('This link does not work any more').waitFor();
    await portal()
      .faultsOf(page)
      .waitFor(/responded with 4\d\d: POST .*\/exchange$/);
  });

  it('leaves its code nowhere: not in the address, the history, a request, a referrer or what is stored', async () => {
    const { url, code } = await createLink();
    const page = await portal().openBlank();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(`${request.url()} ${JSON.stringify(request.headers())}`));
    await page.goto(url);
    await page.getByRole('navigation').first().waitFor();
    await go(page, '/webhooks');
    await go(page, '/events');
    await until(async () => (requests.length > 5 ? true : undefined));

    expect(requests.filter((request) => request.includes(code))).toEqual([]);
    expect(requests.filter((request) => /"referer":"[^"]/.test(request))).toEqual([]);
    await page.goBack();
    await page.goBack();
    expect(page.url()).not.toContain(code);
    const kept = await page.evaluate(
      'JSON.stringify([localStorage, sessionStorage, document.cookie, history.state])',
    );
    expect(kept).not.toMatch(/whp_|whc_/);
    expect(await page.context().cookies()).toEqual([]);
  });
});

describe('a session', () => {
  it('is over at once for a page that is open when it is revoked', async () => {
    const { id, url } = await createLink();
    const page = await portal().openBlank();
    await page.goto(url);
    await page.getByRole('navigation').first().waitFor();
    await portal().client.expect(204, 'DELETE', `/v1/portal-sessions/${id}`);
    await go(page, '/webhooks');
    await ended(page).waitFor();
    portal()
      .faultsOf(page)
      .expect(/responded with 401/);
  });

  it('is over when its time is, without a request', async () => {
    const { url } = await createLink({ expires_in_seconds: 60 });
    const page = await portal().openBlank();
    await page.clock.install();
    await page.goto(url);
    await page.getByRole('navigation').first().waitFor();
    await page.clock.fastForward(61_000);
    await ended(page).waitFor();
  });

  it('does not outlive its page: one that is loaded anew has none, and offers what operators sign in by', async () => {
    const page = await portal().signIn();
    await page.reload();
    await page.getByLabel('API key').waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
  });

  it('is made by an API key for operators, whose key stays nowhere', async () => {
    const page = await portal().open('/portal/');
    const faults = portal().faultsOf(page);
    await page.getByLabel('API key').fill('whk_none');
    await page.keyboard.press('Enter');
    await faults.waitFor(/responded with 401/);
    await page.getByRole('alert').getByText('No valid API key').waitFor();
    expect(await page.getByLabel('API key').inputValue()).toBe('');
    await page.getByLabel('API key').fill(portal().stack.bootstrapKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Operations' }).waitFor();
    const authorization = page.waitForRequest('**/v1/webhooks*').then((request) => request.headers());
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    expect(await authorization).toMatchObject({ authorization: expect.stringMatching(/^Bearer whp_/) });
  });

  it("sees nothing of another account, whichever of its pages it is told to open, or of the operator's", async () => {
    const [own, other] = [await createTenant('tenant-a'), await createTenant('tenant-b')];
    const page = await portal().signIn({ account_id: own.id });
    const faults = portal().faultsOf(page);
    for (const path of [
      `/deliveries/${other.deliveryId}`,
      `/webhooks/${other.webhookId}`,
      `/events/${other.eventId}`,
    ]) {
      await go(page, path);
      await page.getByRole('alert').first().waitFor();
      await faults.waitFor(/responded with 404/);
      expect(await page.locator('main').innerText()).not.toContain('/tenant-b');
    }
    faults.expect(/responded with 404/);
    for (const path of ['/operations', '/accounts', '/accounts/tenant-b', '/dead-letters']) {
      await go(page, path);
      await page.getByText('There is no such page').waitFor();
    }
    await go(page, `/webhooks/${own.webhookId}`);
    await page.getByText('/tenant-a').first().waitFor();
  });

  it('may not name another account, nor make keys or sessions, unless it may operate', async () => {
    const { body } = await portal().client.expect<{ token: string }>(
      200,
      'POST',
      '/v1/portal-sessions/exchange',
      {
        code: (await createLink({ capabilities: ['read', 'webhooks', 'redeliver', 'secrets'] })).code,
      },
    );
    const unknownEndpoint = new ApiClient(portal().client.baseUrl, body.token);
    const headers = { 'x-account-id': 'somebody' };
    expect((await unknownEndpoint.request('GET', '/v1/webhooks', undefined, headers)).status).toBe(403);
    expect((await unknownEndpoint.request('GET', '/v1/api-keys')).status).toBe(403);
    expect((await unknownEndpoint.request('POST', '/v1/portal-sessions', {})).status).toBe(403);
  });
});
