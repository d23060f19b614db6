import type { Page } from 'playwright-core';
import { QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { usePortal } from './support/use-portal';

const portal = usePortal();

let sink: SwitchedReceiver;
let tokens: SwitchedReceiver;
beforeEach(async () => {
  const token = JSON.stringify({ access_token: 'issued', token_type: 'Bearer', expires_in: 3_600 });
  const headers = { 'content-type': 'application/json' };
  [sink, tokens] = await Promise.all([
    startSwitchedReceiver(),
    startSwitchedReceiver({ status: 200, body: token, headers }),
  ]);
});
afterEach(async () => {
  await Promise.all([sink, tokens].map(({ receiver }) => receiver.stop()));
});

interface Shown {
  readonly id: string;
  readonly url: string;
  readonly signing: string;
  readonly auth?: Readonly<Record<string, string>>;
}

/** Makes a webhook in the form; gives the page after it, the webhook, and what it was sent first. */
async function make(fill: (page: Page) => Promise<void>) {
  const { client } = portal();
  const page = await portal().signIn({ path: '/webhooks/new' });
  await page.getByLabel('URL', { exact: true }).fill(sink.receiver.url);
  await page.locator('summary', { hasText: 'Signing' }).click();
  await page.locator('summary', { hasText: 'Sign-in at the receiver' }).click();
  await fill(page);
  await checkAccessibility(page);
  await checkWidth(page);
  await page
    .getByRole('button', { name: /^(Create|Add|Save)/ })
    .last()
    .click();
  await page.getByRole('heading', { name: 'Webhook created' }).waitFor();
  const { body } = await client.expect<{ data: Shown[] }>(200, 'GET', '/v1/webhooks');
  const webhook = body.data.find(({ url }) => url === sink.receiver.url);
  await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const request = await until(async () => sink.receiver.requests.at(-1));
  return { page, webhook, headers: request.headers };
}

const choose = (page: Page, kind: string) => page.getByLabel('Requests carry').selectOption(kind);

it('makes requests carry a name and a password, and does not show the password again', async () => {
  const { page, webhook, headers } = await make(async (form) => {
    await choose(form, 'basic');
    await form.getByLabel('Name', { exact: true }).fill('me');
    await form.getByLabel('Password').fill('pass phrase');
  });
  expect(headers['authorization']).toBe(`Basic ${Buffer.from('me:pass phrase').toString('base64')}`);
  expect(webhook?.auth).toMatchObject({ type: 'basic', username: 'me' });
  await page.getByRole('link', { name: 'Go to the webhook' }).click();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.locator('summary', { hasText: 'Sign-in at the receiver' }).click();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('me');
  expect(await page.getByLabel('Password').inputValue()).toBe('');
  await page.getByText('Empty: no change.').waitFor();
});

it('makes requests carry a token, signed by a key pair', async () => {
  const { webhook, headers } = await make(async (form) => {
    await choose(form, 'bearer');
    await form.getByLabel('Token', { exact: true }).fill('of-my-own');
    await form.getByLabel('Signatures').selectOption('ed25519');
  });
  expect(headers['authorization']).toBe('Bearer of-my-own');
  expect(headers['webhook-signature']).toMatch(/^v1a,/);
  expect(webhook).toMatchObject({ signing: 'ed25519', auth: { type: 'bearer' } });
});

it('makes requests carry access tokens of an authorization server', async () => {
  const { webhook, headers } = await make(async (form) => {
    await choose(form, 'oauth2');
    await form.getByLabel('Token URL').fill(tokens.receiver.url);
    await form.getByLabel('Client id').fill('hookferry');
    await form.getByLabel('Client secret', { exact: true }).fill('of the client');
    await form.getByLabel('Scope').fill('hooks');
  });
  expect(headers['authorization']).toBe('Bearer issued');
  expect(String(tokens.receiver.requests.at(-1)?.body)).toContain('scope=hooks');
  expect(webhook?.auth).toMatchObject({ type: 'oauth2', client_id: 'hookferry', scope: 'hooks' });
});

it('says what is missing', async () => {
  const page = await portal().signIn({ path: '/webhooks/new' });
  await page.getByLabel('URL', { exact: true }).fill(sink.receiver.url);
  await page.locator('summary', { hasText: 'Sign-in at the receiver' }).click();
  await choose(page, 'bearer');
  await page
    .getByRole('button', { name: /^(Create|Add|Save)/ })
    .last()
    .click();
  await page.getByLabel('Token', { exact: true }).and(page.locator('[aria-invalid="true"]')).waitFor();
  await checkAccessibility(page);
});
