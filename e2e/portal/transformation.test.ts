import type { Page } from 'playwright-core';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkSteadiness } from './support/check-steadiness';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { tabTo } from './support/tab-to';
import { usePortal } from './support/use-portal';

const portal = usePortal({ environment: { RETRY_SCHEDULE: '1h' } });

let sink: SwitchedReceiver;
let webhookId: string;
beforeEach(async () => {
  sink = await startSwitchedReceiver();
  webhookId = (await portal().client.register(sink.receiver.url, [QUICK_WIN.type])).id;
});
afterEach(async () => {
  await portal().client.expect(204, 'DELETE', `/v1/webhooks/${webhookId}`);
  await sink.receiver.stop();
});

// What a link has by default, and the right to write code.
const WRITER = ['read', 'webhooks', 'redeliver', 'transform'] as const;
const KEYWORD = 'export default (event) => ({ body: { text: event.data.keyword } });\n';
const path = () => `/webhooks/${webhookId}/transformation`;
const editor = (page: Page) => page.getByRole('textbox', { name: 'Code of the transformation' });

/** As people do it who have the code from elsewhere. */
async function write(page: Page, code: string): Promise<void> {
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(code)})`);
  await editor(page).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Control+V');
}

const isInEditor =
  "document.activeElement?.shadowRoot?.activeElement?.ariaLabel?.startsWith('Code') === true";

async function tabUntil(page: Page, condition: string): Promise<void> {
  await until(async () => {
    if (await page.evaluate(condition)) return true;
    await page.keyboard.press('Tab');
    return undefined;
  });
}

async function put(code: string, enabled = true): Promise<void> {
  // 201 for the first code of a webhook, 200 for what replaces it.
  const { status } = await portal().client.request('PUT', `/v1${path()}`, { code, enabled });
  expect([200, 201]).toContain(status);
}

async function readSaved(): Promise<{ version: number; enabled: boolean; code: string }> {
  const address = `/v1${path()}`;
  return (
    await portal().client.expect<{ version: number; enabled: boolean; code: string }>(200, 'GET', address)
  ).body;
}

it('is written, tried on a real event and saved; then the webhook gets what it makes', async () => {
  const { client } = portal();
  await client.publish(BRIEF.type, BRIEF.data);
  const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhookId, event, 'delivered');
  const page = await portal().signIn({ capabilities: WRITER, path: `/webhooks/${webhookId}` });
  await page.getByRole('link', { name: 'Write code' }).click();
  await editor(page).waitFor();
  await write(
    page,
    'export default (event) => {\n  console.log("seen", event.type);\n  return { body: { text: event.data.keyword } };\n};',
  );
  const types = await page
    .getByLabel('On', { exact: true })
    .locator('optgroup')
    .first()
    .locator('option')
    .allInnerTexts();
  expect(types.every((text) => text.startsWith(QUICK_WIN.type))).toBe(true);
  expect(types.length).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page.getByText('This would be sent').waitFor();
  await page.getByRole('group', { name: 'Body' }).getByText('rote Schuhe').waitFor();
  await page
    .getByRole('group', { name: 'Printed by console.log' })
    .getByText(`seen ${QUICK_WIN.type}`)
    .waitFor();
  await page.getByText(/ms of processor time/).waitFor();
  await checkAccessibility(page);
  await checkWidth(page);

  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Version 1 in use').waitFor();
  const before = sink.receiver.requests.length;
  await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await until(async () => (sink.receiver.requests.length > before ? true : undefined));
  expect(String(sink.receiver.requests.at(-1)?.body)).toBe(JSON.stringify({ text: QUICK_WIN.data.keyword }));
});

it('marks the line at which the code fails, in a trial and when it can not be saved', async () => {
  const page = await portal().signIn({ capabilities: WRITER, path: path() });
  await write(page, 'export default (event) => {\n  return event.no.such;\n};');
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page.getByText('The code fails').waitFor();
  await page.getByText(/^Line 2, column \d+: $/).waitFor();
  const marked = page.locator('.faulty');
  expect(await marked.innerText()).toBe('  return event.no.such;');
  await checkAccessibility(page);

  await write(page, 'export default (event) => {\n\n  return {{;\n};');
  await until(async () => ((await marked.count()) === 0 ? true : undefined));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('alert').getByText('code', { exact: true }).waitFor();
  expect(await marked.innerText()).toBe('  return {{;');
  await portal()
    .faultsOf(page)
    .waitFor(/responded with 422: PUT/);
});

it('begins with a template, and is switched off, on, and removed', async () => {
  const page = await portal().signIn({ capabilities: WRITER, path: path() });
  await page.getByLabel('Begin with a template').selectOption('slack');
  await editor(page).getByText('mrkdwn').first().waitFor();
  await page.getByRole('link', { name: 'Documentation of its format' }).waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Version 1 in use').waitFor();
  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByText('Version 1, switched off').waitFor();
  expect((await readSaved()).enabled).toBe(false);
  await page.getByRole('button', { name: 'Switch on' }).click();
  await page.getByText('Version 1 in use').waitFor();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('None', { exact: false }).first().waitFor();
  await portal().client.expect(404, 'GET', `/v1${path()}`);
});

it('has its versions, with who saved them; each can be compared and gone back to', async () => {
  await put(KEYWORD);
  await put(KEYWORD.replace('keyword', 'position'));
  const page = await portal().signIn({ capabilities: WRITER, path: path() });
  await page.getByText('Version 2 in use').waitFor();
  await editor(page).waitFor();
  await checkSteadiness(page);
  const first = page.getByRole('listitem').filter({ hasText: 'Version 1' });
  await first.getByRole('button', { name: 'Compare version 1' }).click();
  const difference = page.getByRole('region', { name: 'Version 1, compared' });
  await difference
    .getByText('− export default (event) => ({ body: { text: event.data.keyword } });')
    .waitFor();
  await difference
    .getByText('+ export default (event) => ({ body: { text: event.data.position } });')
    .waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
  await first.getByRole('button', { name: 'Go back to version 1' }).click();
  await page.getByText('Version 3 in use').waitFor();
  await editor(page).getByText('event.data.keyword').waitFor();
  await difference.getByText('export default').waitFor();
  expect((await readSaved()).code).toBe(KEYWORD);
});

it('is written and saved by keyboard alone', async () => {
  const page = await portal().signIn({ capabilities: WRITER, path: path() });
  await editor(page).waitFor();
  await tabUntil(page, isInEditor);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('export default () => ({ body: 1 });');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(isInEditor)).toBe(true);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(isInEditor)).toBe(false);
  await tabTo(page, 'Save');
  await page.keyboard.press('Enter');
  await page.getByText('Version 1 in use').waitFor();
  expect((await readSaved()).code).toContain('body: 1');
});

it('says of an attempt at which it failed that nothing was sent, and shows no request', async () => {
  await put('export default ({ data }) => ({ body: data.missing.text });');
  const { client } = portal();
  const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const delivery = `${event}.${webhookId}`;
  await until(async () => (await client.readDelivery(delivery)).attempt_count === 1 || undefined);
  const page = await portal().signIn({ path: `/deliveries/${delivery}` });
  await page.getByText('Nothing was sent.', { exact: true }).waitFor();
  await page.getByText('Attempts after that use the new code.').waitFor();
  expect(await page.getByText('Headers as sent').count()).toBe(0);
});

it('can be read, and tried, by a session that may not change it', async () => {
  await put(KEYWORD);
  const page = await portal().signIn({ path: path(), capabilities: ['read', 'webhooks', 'redeliver'] });
  await page
    .getByRole('group', { name: 'Code', exact: true })
    .getByText('event.data.keyword')
    .first()
    .waitFor();
  expect(await editor(page).count()).toBe(0);
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  await page.getByText('This would be sent').waitFor();
  expect(await page.getByRole('button', { name: /Save|Switch|Remove|Go back/ }).count()).toBe(0);
});

it.each([360, 1280])('is accessible in both themes, %d px wide', async (width) => {
  await put(`${KEYWORD}// ${'a long line '.repeat(30)}\n${'// "text" + 1;\n'.repeat(60)}`);
  const page = await portal().signIn({ capabilities: WRITER, path: path(), width });
  await editor(page).waitFor();
  await editor(page).focus();
  await checkAccessibility(page);
  await checkWidth(page);
});
