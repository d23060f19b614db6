import type { Page } from 'playwright-core';
import { ApiClient } from '../support/api-client';
import { QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkSteadiness } from './support/check-steadiness';
import { checkWidth } from './support/check-width';
import { tabTo } from './support/tab-to';
import { go, type SessionWish, usePortal } from './support/use-portal';

const portal = usePortal();

const HOUR_MS = 3_600_000;
const CUSTOMER = ['read', 'webhooks', 'audit'] as const;
const OPERATOR = ['read', 'audit', 'operate'] as const;
const NARROW = 360;
const URL_OF_WEBHOOK = 'https://receiver.example.com/hooks';
const SECRET_VALUE = 'token-that-nobody-sees';

const signIn = (wish: SessionWish = {}): Promise<Page> =>
  portal().signIn({ capabilities: CUSTOMER, path: '/audit-log', label: 'ada@example.com', ...wish });

const rows = (page: Page) => page.getByRole('table', { name: 'Audit log' }).getByRole('row');
const rowOf = (page: Page, text: string) => rows(page).filter({ hasText: text });

/** A webhook that was made, changed, and refused a change. */
async function changedWebhook(): Promise<string> {
  const { client } = portal();
  const { id } = await client.register(URL_OF_WEBHOOK);
  const change = { rate_limit: 50, headers: { 'x-token': SECRET_VALUE } };
  await client.expect(200, 'PATCH', `/v1/webhooks/${id}`, change);
  await client.expect(422, 'PATCH', `/v1/webhooks/${id}`, { rate_limit: -1 });
  // What was refused is written behind the response.
  await until(async () => {
    const { body } = await client.expect<{ data: object[] }>(200, 'GET', `/v1/audit-log?target=${id}`);
    return body.data.length === 3 ? true : undefined;
  });
  return id;
}

it('shows who did what, on which, when, from where, and which fields it changed, by keyboard alone', async () => {
  const id = await changedWebhook();
  const page = await signIn({ path: `/audit-log?target=${id}` });
  await rowOf(page, 'Refused').waitFor();
  await checkSteadiness(page);
  const changed = rowOf(page, 'headers.x-token');
  expect(await changed.innerText()).toMatch(
    /bootstrap\s+Webhook changed\s+\S+\s+●\s*Done\s+.*headers\.x-token/,
  );
  await checkAccessibility(page);
  await checkWidth(page);

  await rows(page).nth(1).getByRole('link').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Webhook changed' });
  await dialog.getByText('not set → 50').waitFor();
  await dialog.getByText('127.0.0.1').waitFor();
  await dialog.getByText('headers.x-token', { exact: true }).waitFor();
  expect(await page.content()).not.toContain(SECRET_VALUE);
  await checkAccessibility(page);
  await checkWidth(page);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.locator('tr[data-index="1"] a:focus').waitFor();
});

it('is narrowed by actor, action, target and time, which stand in the address', async () => {
  const id = await changedWebhook();
  const other = await changedWebhook();
  const page = await signIn();
  await rowOf(page, 'ada@example.com').first().waitFor();

  await tabTo(page, 'Target');
  await page.keyboard.type(id);
  await page.keyboard.press('Enter');
  await rowOf(page, other.slice(-6)).first().waitFor({ state: 'detached' });
  await rowOf(page, 'Webhook created').waitFor();
  expect(await rows(page).count()).toBe(4);
  await page.getByLabel('Action').selectOption('Webhook created');
  await rowOf(page, 'Webhook changed').first().waitFor({ state: 'detached' });
  await rowOf(page, 'Webhook created').waitFor();
  expect(await rows(page).count()).toBe(2);
  expect(new URL(page.url()).search).toBe(`?action=webhook.create&target=${id}`);

  await page.getByLabel('From').fill('2099-01-01T00:00');
  await page.getByText('No entries').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await rowOf(page, other.slice(-6)).first().click();
  await page.getByRole('link', { name: 'All by this actor' }).click();
  await rowOf(page, 'ada@example.com').first().waitFor({ state: 'detached' });
  await rowOf(page, id.slice(-6)).first().waitFor();
});

it('reads on where it is looked at further down', async () => {
  const { client } = portal();
  const { id } = await client.register(URL_OF_WEBHOOK);
  for (let limit = 1; limit <= 60; limit += 1) {
    await client.expect(200, 'PATCH', `/v1/webhooks/${id}`, { rate_limit: limit });
  }
  const page = await signIn({ path: `/audit-log?target=${id}` });
  await rowOf(page, 'rate_limit').first().waitFor();
  await rows(page).nth(1).getByRole('link').focus();
  // Each time to the end of what has been read so far.
  await until(async () => {
    await page.keyboard.press('End');
    return (await rowOf(page, 'Webhook created').count()) > 0 || undefined;
  });
});

it('is there for sessions that may see it alone', async () => {
  const id = await changedWebhook();
  const page = await signIn({ capabilities: ['read', 'webhooks'], path: `/webhooks/${id}` });
  await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
  expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0);
  expect(await page.getByRole('heading', { name: 'Changes' }).count()).toBe(0);
  await go(page, '/audit-log');
  await page.getByText('Your link does not allow this').waitFor();
});

it('leads from the last changes of a webhook to all of them, and has what was just done', async () => {
  const id = await changedWebhook();
  const page = await signIn({ path: `/webhooks/${id}` });
  const changes = page.getByRole('region', { name: 'Changes' });
  await changes.getByText('Webhook created').waitFor();
  await checkSteadiness(page);
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
  await changes.getByText('Webhook disabled').waitFor();
  await changes.getByText('ada@example.com').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
  await changes.getByRole('link', { name: 'All in the audit log' }).click();
  await rowOf(page, 'Webhook disabled').waitFor();
  expect(new URL(page.url()).search).toBe(`?target=${id}`);
});

it('shows on the page of an event what was done with it, and nothing where nothing was', async () => {
  const { client } = portal();
  const publish = async (id: string) => {
    const event = { ...QUICK_WIN, id, deliver_at: new Date(Date.now() + HOUR_MS).toISOString() };
    return (await client.expect<{ id: string }>(202, 'POST', '/v1/events', event)).body.id;
  };
  const [cancelled, left] = [await publish('cancelled-1'), await publish('left-1')];
  await client.expect(204, 'DELETE', `/v1/events/${cancelled}`);
  const page = await signIn({ path: `/events/${cancelled}` });
  const changes = page.getByRole('region', { name: 'Changes' });
  await changes.getByText('Event cancelled').waitFor();
  await checkAccessibility(page);
  await go(page, `/events/${left}`);
  await page.getByText('left-1').first().waitFor();
  await page.getByText('It is sent to the webhooks').waitFor();
  expect(await changes.count()).toBe(0);
});

it('shows operators those of all accounts, whichever is in view', async () => {
  const { client } = portal();
  await client.expect(201, 'POST', '/v1/accounts', { id: 'acme', name: 'Acme' });
  const ofAcme = { 'x-account-id': 'acme' };
  await client.expect(201, 'POST', '/v1/webhooks', { url: URL_OF_WEBHOOK, events: ['*'] }, ofAcme);
  const page = await signIn({ capabilities: OPERATOR, width: NARROW });
  await checkWidth(page);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByLabel('Account in view').selectOption('acme');
  await rowOf(page, 'Webhook created').waitFor();
  await rowOf(page, 'ada@example.com').first().waitFor({ state: 'detached' });
  await page.getByLabel('Accounts').selectOption('All');
  await rowOf(page, 'ada@example.com').first().waitFor();
  await rowOf(page, 'Webhook created').filter({ hasText: 'acme' }).waitFor();
  await checkAccessibility(page);
});

it('names an API key wherever it acted, and when it was issued and revoked, and has its id to copy', async () => {
  const { client } = portal();
  const input = { name: 'Nightly import', scopes: ['webhooks:read', 'webhooks:write'] };
  const { body: key } = await client.expect<{ id: string; key: string }>(201, 'POST', '/v1/api-keys', input);
  const { id } = await new ApiClient(client.baseUrl, key.key).register(URL_OF_WEBHOOK);
  await client.expect(204, 'DELETE', `/v1/api-keys/${key.id}`);
  const page = await signIn({ path: `/audit-log?target=${key.id}` });
  await rowOf(page, 'API key revoked').getByText('Nightly import').waitFor();
  await rowOf(page, 'API key issued').getByText('Nightly import').waitFor();
  await go(page, `/audit-log?target=${id}`);
  const created = rowOf(page, 'Webhook created');
  await created.getByText('Nightly import').waitFor();
  await created.getByRole('link').click();
  const dialog = page.getByRole('dialog', { name: 'Webhook created' });
  await dialog.getByText('Nightly import').waitFor();
  await dialog.getByRole('button', { name: `Copy ${key.id}` }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key.id);
  await checkAccessibility(page);
  await checkWidth(page);
});
