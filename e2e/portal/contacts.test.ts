import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { linkTokenOf } from '@hookferry/core/domain/contact';
import { ContactStore } from '@hookferry/core/notifications/redis-contact-store';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import type { Page } from 'playwright-core';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { go, type SessionWish, usePortal } from './support/use-portal';

const portal = usePortal({
  environment: {
    PUBLIC_URL: 'https://hooks.example.com',
    MAIL_FROM: 'hooks@example.com',
    SMTP_URL: 'smtp://127.0.0.1:9',
  },
});

const CUSTOMER = ['read', 'webhooks'] as const;
const NARROW = 360;
const URL_OF_WEBHOOK = 'https://receiver.example.com/hooks';

const signIn = (wish: SessionWish = {}): Promise<Page> =>
  portal().signIn({ capabilities: CUSTOMER, path: '/contacts', ...wish });

const rowOf = (page: Page, table: string, text: string) =>
  page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });

it('adds a contact, shows whether it has confirmed, asks it again, changes what it is told, and removes it', async () => {
  const page = await signIn();
  await page.getByText('No contacts').waitFor();
  await checkAccessibility(page);
  await page.getByRole('button', { name: 'Add a contact' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a contact' });
  await dialog.getByLabel('Address').fill('ops@example.com');
  await dialog.getByLabel('The storage quota is used up').uncheck();
  await dialog.getByLabel('When', { exact: true }).selectOption('Together, every day');
  await checkAccessibility(page);
  await checkWidth(page);
  await dialog.getByRole('button', { name: 'Add' }).click();
  const row = rowOf(page, 'Contacts', 'ops@example.com');
  await row.getByText('Not confirmed yet').waitFor();
  expect(await row.innerText()).toMatch(/12 of 13\s+Together, every day/);
  await checkAccessibility(page);
  await checkWidth(page);
  const wide = page.viewportSize() ?? { width: 1_280, height: 900 };
  await page.setViewportSize({ ...wide, width: NARROW });
  await row.getByRole('button', { name: 'Remove ops@example.com' }).click({ trial: true });
  await checkWidth(page);
  await page.setViewportSize(wide);

  await row.getByRole('button', { name: 'Send again the link to ops@example.com' }).click();
  await page.getByText('ops@example.com gets another link to confirm.').waitFor();
  // Once it has confirmed, nobody asks it any more.
  await until(async () => {
    const path = '/v1/notifications?topic=confirmation';
    const { body } = await portal().client.expect<{ data: object[] }>(200, 'GET', path);
    return body.data.length > 0 ? true : undefined;
  });
  const store = new ContactStore(portal().stack.redis.client, testSealer);
  const [contact] = await store.list(DEFAULT_ACCOUNT);
  if (!contact) throw new Error('There is no contact.');
  // The page sees by itself that somebody has confirmed elsewhere.
  const link = `/contacts/${linkTokenOf(contact, 'confirm')}/confirm`;
  const confirming = await portal().open(link);
  await confirming.getByText('ops@example.com').waitFor();
  await checkAccessibility(confirming);
  await checkWidth(confirming);
  await confirming.getByRole('button', { name: 'Confirm' }).click();
  await confirming.getByRole('heading', { name: 'Messages are confirmed' }).waitFor();
  await row.getByText(/Confirmed$/).waitFor();
  await go(page, '/contacts/notifications');
  await rowOf(page, 'Messages', 'Asked to confirm').first().waitFor();
  await page.getByRole('link', { name: 'Contacts' }).last().click();
  await row.getByText('Confirmed').waitFor();
  await row.getByRole('button', { name: 'Send a test message to ops@example.com' }).click();
  await page.getByText('ops@example.com gets a test message.').waitFor();
  expect(await row.getByRole('button', { name: /again/ }).count()).toBe(0);

  await row.click();
  const edit = page.getByRole('dialog', { name: 'ops@example.com' });
  await edit.getByLabel('When', { exact: true }).selectOption('At once');
  await edit.getByLabel('The storage quota is used up').check();
  await edit.getByRole('button', { name: 'Save' }).click();
  await row.getByText('At once').waitFor();
  expect(await row.innerText()).toMatch(/All\s+At once/);

  await row.getByRole('button', { name: 'Remove ops@example.com' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No contacts').waitFor();
});

it('says what is wrong with an address, and keeps what was filled in', async () => {
  const page = await signIn({ width: NARROW });
  await page.getByRole('button', { name: 'Add a contact' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a contact' });
  await dialog.getByLabel('By').selectOption('Slack');
  await dialog.getByLabel('URL').fill('https://example.com/services');
  portal()
    .faultsOf(page)
    .expect(/responded with 422/);
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByText('must be an incoming webhook of slack').waitFor();
  expect(await dialog.getByLabel('URL').inputValue()).toBe('https://example.com/services');
  await checkAccessibility(page);
  await checkWidth(page);
});

it('shows on the page of a webhook who is told of it, and adds others for it alone', async () => {
  const { client } = portal();
  const { id } = await client.register(URL_OF_WEBHOOK);
  const { id: other } = await client.register('https://other.example.com/hooks');
  const add = (body: object) => client.expect(201, 'POST', '/v1/contacts', { type: 'email', ...body });
  await add({ address: 'all@example.com' });
  await add({ address: 'other@example.com', webhook_id: other });
  const page = await signIn({ path: `/webhooks/${id}` });
  const section = page.getByRole('region', { name: 'Contacts' });
  await section.getByText('all@example.com').waitFor();
  expect(await section.getByText('other@example.com').count()).toBe(0);
  await section.getByRole('button', { name: 'Add a contact' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a contact' });
  expect(await dialog.getByLabel('Webhook', { exact: true }).inputValue()).toBe(id);
  await dialog.getByLabel('Address').fill('mine@example.com');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await section.getByText('mine@example.com').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
});

it('lists the messages, by contact, topic and state, and shows what came of each', async () => {
  const { client } = portal();
  await client.expect(201, 'POST', '/v1/contacts', { type: 'email', address: 'messages@example.com' });
  await until(async () => {
    const path = '/v1/notifications?topic=confirmation&status=pending';
    const { body } = await client.expect<{ data: { error: string | null }[] }>(200, 'GET', path);
    return body.data.some(({ error }) => error !== null) ? true : undefined;
  });
  const page = await signIn({ path: '/contacts/notifications' });
  const row = rowOf(page, 'Messages', 'messages@example.com');
  await row.getByText('To be sent').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
  await page.getByLabel('Contact', { exact: true }).selectOption('messages@example.com');
  await page.getByLabel('State').selectOption('Sent');
  await page.getByText('No messages').waitFor();
  expect(new URL(page.url()).search).toMatch(/^\?contact=ct_\w+&status=sent$/);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await row.click();
  const dialog = page.getByRole('dialog', { name: 'Asked to confirm' });
  await dialog.getByText(/^smtp E/).waitFor();
  await checkAccessibility(page);
  await page.keyboard.press('Escape');
  await page.setViewportSize({ width: NARROW, height: 900 });
  await checkWidth(page);
});

it('lets sessions that may only look see contacts, and change nothing', async () => {
  const { client } = portal();
  await client.expect(201, 'POST', '/v1/contacts', { type: 'email', address: 'seen@example.com' });
  const page = await signIn({ capabilities: ['read'] });
  const row = rowOf(page, 'Contacts', 'seen@example.com');
  await row.waitFor();
  expect(await page.getByRole('button', { name: /Add a contact|Remove|again/ }).count()).toBe(0);
  await row.click();
  expect(await page.getByRole('dialog').count()).toBe(0);
});
