import type { Page } from 'playwright-core';
import { QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { go, usePortal } from './support/use-portal';

const portal = usePortal();

const CODE = 'export default () => ({ body: { mine: 1 } });\n';
const URL_OF_WEBHOOK = 'https://receiver.example.com/hooks';

const navigation = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
const notice = (page: Page) => page.getByText('Your draft from');

/** What the browser asks when somebody reloads the page, who stays then; undefined: nothing. */
async function askedOnReload(page: Page): Promise<string> {
  const asked = page.waitForEvent('dialog').then(async (dialog) => {
    await dialog.dismiss();
    return dialog.type();
  });
  const reloaded = page.reload().then(
    () => 'nothing',
    // Whoever stays ends the navigation.
    async () => await asked,
  );
  return await Promise.race([asked, reloaded]);
}

it('keeps a half-filled webhook while its reader looks elsewhere, in memory alone, until it is discarded', async () => {
  const page = await portal().signIn({ path: '/webhooks/new', capabilities: ['read', 'webhooks'] });
  await page.getByLabel('URL', { exact: true }).fill(URL_OF_WEBHOOK);
  await page.getByLabel('Description').fill('s3cret-of-a-draft');
  await navigation(page).getByRole('link', { name: 'Events', exact: true }).click();
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  await page.goBack();
  await notice(page).waitFor();
  expect(await page.getByLabel('URL', { exact: true }).inputValue()).toBe(URL_OF_WEBHOOK);
  await checkAccessibility(page);
  await checkWidth(page);
  const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
  expect(stored).not.toContain('s3cret-of-a-draft');
  expect(await askedOnReload(page)).toBe('beforeunload');
  await page.getByRole('button', { name: 'Discard' }).click();
  await notice(page).waitFor({ state: 'detached' });
  expect(await page.getByLabel('URL', { exact: true }).inputValue()).toBe('');
  expect(await askedOnReload(page)).toBe('nothing');
});

it('keeps nothing of a webhook that was saved, or whose form was cancelled', async () => {
  const { id } = await portal().client.register(URL_OF_WEBHOOK, [QUICK_WIN.type]);
  const page = await portal().signIn({ path: `/webhooks/${id}/edit`, capabilities: ['read', 'webhooks'] });
  await page.getByLabel('Description').fill('Shop');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Description').waitFor();
  expect([await notice(page).count(), await page.getByLabel('Description').inputValue()]).toEqual([
    0,
    'Shop',
  ]);
  await page.getByLabel('Description').fill('Shop front');
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Description').waitFor();
  expect([await notice(page).count(), await page.getByLabel('Description').inputValue()]).toEqual([
    0,
    'Shop',
  ]);
});

it('takes back nothing that somebody else has saved meanwhile', async () => {
  const { client } = portal();
  const { id } = await client.register(URL_OF_WEBHOOK, [QUICK_WIN.type]);
  const page = await portal().signIn({ path: `/webhooks/${id}/edit`, capabilities: ['read', 'webhooks'] });
  portal()
    .faultsOf(page)
    .expect(/responded with 412/);
  await page.getByLabel('Description').fill('Mine');
  await navigation(page).getByRole('link', { name: 'Events', exact: true }).click();
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  await client.expect(200, 'PATCH', `/v1/webhooks/${id}`, { rate_limit: 7 });
  await page.goBack();
  await notice(page).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Load it as it is now' }).click();
  await page.getByText('This is the webhook as it is now, with your changes.').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The webhook was changed.').waitFor();
  const { body } = await client.expect<object>(200, 'GET', `/v1/webhooks/${id}`);
  expect(body).toMatchObject({ description: 'Mine', rate_limit: 7 });
});

it('keeps the code of a transformation, for its own webhook alone', async () => {
  const { client } = portal();
  const { id } = await client.register(URL_OF_WEBHOOK, [QUICK_WIN.type]);
  const { id: other } = await client.register(URL_OF_WEBHOOK, [QUICK_WIN.type]);
  const page = await portal().signIn({
    path: `/webhooks/${id}/transformation`,
    capabilities: ['read', 'webhooks', 'transform'],
  });
  const editor = page.getByRole('textbox', { name: 'Code of the transformation' });
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(CODE)})`);
  await editor.click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Control+V');
  await until(async () => ((await editor.innerText()).includes('mine') ? true : undefined));
  await navigation(page).getByRole('link', { name: 'Webhooks' }).click();
  await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
  await go(page, `/webhooks/${other}/transformation`);
  await editor.waitFor();
  expect([await notice(page).count(), await editor.innerText()]).toEqual([
    0,
    expect.not.stringContaining('mine'),
  ]);
  await go(page, `/webhooks/${id}/transformation`);
  await notice(page).waitFor();
  await until(async () => ((await editor.innerText()).includes('mine') ? true : undefined));
  await page.getByRole('button', { name: 'Discard' }).click();
  await until(async () => ((await editor.innerText()).includes('mine') ? undefined : true));
});

it('keeps a dialog that Escape closed, and none that "Cancel" closed', async () => {
  const page = await portal().signIn({ path: '/accounts/default', capabilities: ['read', 'operate'] });
  const dialog = page.getByRole('dialog', { name: 'Issue an API key' });
  const open = () => page.getByRole('button', { name: 'Issue a key' }).click();
  await open();
  await dialog.getByLabel('Name').fill('publisher');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await open();
  await notice(page).waitFor();
  expect(await dialog.getByLabel('Name').inputValue()).toBe('publisher');
  await checkAccessibility(page);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await open();
  expect([await notice(page).count(), await dialog.getByLabel('Name').inputValue()]).toEqual([0, '']);
});

it('keeps the choice of a replay, until it is started', async () => {
  const { client } = portal();
  const { id } = await client.register(URL_OF_WEBHOOK, [QUICK_WIN.type]);
  const page = await portal().signIn({ path: `/webhooks/${id}/replay` });
  const rate = page.getByLabel('Events per second');
  await rate.fill('7');
  await navigation(page).getByRole('link', { name: 'Webhooks' }).click();
  await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
  await go(page, `/webhooks/${id}/replay`);
  await notice(page).waitFor();
  expect(await rate.inputValue()).toBe('7');
  await page.getByRole('button', { name: 'Start replay' }).click();
  await page.waitForURL('**/replays/*');
  await page.getByRole('heading', { name: 'Its deliveries' }).waitFor();
  await go(page, `/webhooks/${id}/replay`);
  await rate.waitFor();
  expect([await notice(page).count(), await rate.inputValue()]).toEqual([0, '50']);
});

it('keeps an event that is not published yet, and nothing of one that was', async () => {
  // Within the bound of scheduled events.
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 'YYYY-MM-DDTHH:mm'.length);
  const page = await portal().signIn({ path: '/events', capabilities: ['read', 'publish'] });
  const dialog = page.getByRole('dialog', { name: 'Publish an event' });
  const data = dialog.getByLabel('Its data');
  const open = () => page.getByRole('button', { name: 'Publish an event' }).click();
  await open();
  await dialog.getByLabel('Event type').selectOption(QUICK_WIN.type);
  await data.fill('{ "keyword": "mine" }');
  await dialog.getByLabel('Deliver at').fill(tomorrow);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await open();
  await notice(page).waitFor();
  expect([
    await dialog.getByLabel('Event type').inputValue(),
    await data.inputValue(),
    await dialog.getByLabel('Deliver at').inputValue(),
  ]).toEqual([QUICK_WIN.type, '{ "keyword": "mine" }', tomorrow]);
  await data.fill(JSON.stringify(QUICK_WIN.data));
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.waitForURL(/\/events\/evt_/);
  await page.getByRole('heading', { name: QUICK_WIN.type }).waitFor();
  await page.goBack();
  await open();
  expect([await notice(page).count(), await dialog.getByLabel('Deliver at').inputValue()]).toEqual([0, '']);
});

it('shows no draft of another account', async () => {
  const { client } = portal();
  await client.expect(201, 'POST', '/v1/accounts', { id: 'drafts-other' });
  const page = await portal().signIn({
    path: '/webhooks/new',
    capabilities: ['read', 'webhooks', 'operate'],
  });
  const field = page.getByLabel('URL', { exact: true });
  await field.fill(URL_OF_WEBHOOK);
  await page.getByLabel('Account in view').selectOption('drafts-other');
  await go(page, '/webhooks/new');
  await field.waitFor();
  expect([await notice(page).count(), await field.inputValue()]).toEqual([0, '']);
});
