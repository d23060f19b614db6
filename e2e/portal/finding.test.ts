import { BRIEF, QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { usePortal } from './support/use-portal';

const portal = usePortal({});

let sink: SwitchedReceiver;
let webhookId: string;
let eventId: string;

beforeAll(async () => {
  const { client } = portal();
  sink = await startSwitchedReceiver(204);
  ({ id: webhookId } = await client.register(sink.receiver.url, [BRIEF.type], {
    description: 'Warehouse north',
  }));
  await client.register(`${sink.receiver.url}/second`, [BRIEF.type], { description: 'Warehouse south' });
  eventId = await client.publish(BRIEF.type, { ...BRIEF.data, brief_id: 'of-4711' });
  await client.publish(BRIEF.type, { ...BRIEF.data, brief_id: 'of-4712' });
  await client.waitForStatus(webhookId, eventId, 'delivered');
});

afterAll(async () => await sink.receiver.stop());

it('finds events by a member of their data, from any page, by keys alone, and again by what was looked for', async () => {
  const page = await portal().signIn({ path: '/event-types' });
  await page.getByRole('link', { name: BRIEF.type }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('brief_id=of-4711');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/portal\/events\?data=/);
  expect(new URL(page.url()).searchParams.get('data')).toBe('{"brief_id":"of-4711"}');
  const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr[data-index]');
  await until(async () => ((await rows.count()) === 1 ? true : undefined));
  await page.getByText(eventId).waitFor();

  await page.goBack();
  await page.keyboard.press('/');
  await page
    .getByRole('list', { name: 'Recent searches' })
    .getByRole('button', { name: 'brief_id=of-4711' })
    .click();
  await page.waitForURL(/\/portal\/events\?data=/);
});

it.each(['order.id=4711', '{"order":{"id":4711}}'])(
  'finds events whose data contain %s, a number within an object',
  async (typed) => {
    const { client } = portal();
    const type = { description: 'An order.', schema: { type: 'object' }, example: { order: { id: 1 } } };
    await client.expect(200, 'PUT', '/v1/event-types/order.placed', type);
    const wanted = await client.publish('order.placed', { order: { id: 4711, lines: [1] } });
    await client.publish('order.placed', { order: { id: 4712 } });
    const page = await portal().signIn();
    await page.keyboard.press('/');
    await page.keyboard.type(typed);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/portal\/events\?data=/);
    await page.getByText(wanted).waitFor();
    expect(new URL(page.url()).searchParams.get('data')).toBe('{"order":{"id":4711}}');
  },
);

it('is a link to share: who opens it and signs in sees what was found', async () => {
  const data = encodeURIComponent('{"brief_id":"of-4711"}');
  const page = await portal().open(`/portal/events?data=${data}`);
  await page.getByLabel('API key').fill(portal().stack.bootstrapKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText(eventId).waitFor();
  expect(await page.getByLabel('Data contain').inputValue()).toBe('{"brief_id":"of-4711"}');
});

it('leads from an address, a name or a type to it, and offers several where there are', async () => {
  const page = await portal().signIn();
  portal()
    .validationErrorsOf(page)
    .expect(/answered 404: GET .*\/events\/Warehouse$/);
  const field = page.getByRole('searchbox', { name: 'Find' });
  await field.fill(sink.receiver.url);
  await field.press('Enter');
  await page.waitForURL(`**/portal/webhooks/${webhookId}`);
  await field.fill(QUICK_WIN.type);
  await field.press('Enter');
  await page.waitForURL(`**/portal/event-types/${QUICK_WIN.type}`);
  await field.fill('Warehouse');
  await field.press('Enter');
  const found = page.getByRole('list', { name: 'Found' });
  await found.getByRole('link', { name: 'Webhook Warehouse south' }).waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
  await found.getByRole('link', { name: 'Webhook Warehouse north' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/portal/webhooks/${webhookId}`);
  await found.waitFor({ state: 'detached' });
});

it('says what is wrong with what is looked for, is left by Escape, and takes no slash from where one is typed', async () => {
  const page = await portal().signIn({ width: 360 });
  const field = page.getByRole('searchbox', { name: 'Find' });
  await field.fill('{order');
  await field.press('Enter');
  await page.getByText('This is not JSON.').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
  await field.press('Escape');
  await page.getByText('This is not JSON.').waitFor({ state: 'detached' });
  const other = page.getByLabel('Data contain');
  await other.fill('');
  await other.press('/');
  expect(await other.inputValue()).toBe('/');
});
