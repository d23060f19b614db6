import { Queue } from 'bullmq';
import type { Page } from 'playwright-core';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { usePortal } from './support/use-portal';

const portal = usePortal({
  environment: {
    PUBLIC_URL: 'https://hooks.example.com',
    MAIL_FROM: 'hooks@example.com',
    SMTP_URL: 'smtp://127.0.0.1:9',
  },
});

const NOTHING = 'Nothing found: nothing that you may see has this id or name.';
const NO_EVENT = /responded with 404: GET .*\/events\//;
const UNKNOWN = '0n5x3gq9k2v7r1m8c4d6ta';

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
  await page.getByText(eventId.slice(-6)).waitFor();

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
    const { status } = await client.request('PUT', '/v1/event-types/order.placed', type);
    expect([200, 201]).toContain(status);
    const wanted = await client.publish('order.placed', { order: { id: 4711, lines: [1] } });
    await client.publish('order.placed', { order: { id: 4712 } });
    const page = await portal().signIn();
    await page.keyboard.press('/');
    await page.keyboard.type(typed);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/portal\/events\?data=/);
    await page.getByText(wanted.slice(-6)).waitFor();
    expect(new URL(page.url()).searchParams.get('data')).toBe('{"order":{"id":4711}}');
  },
);

it('leads from the number of an order, or a sentence with one, to events that have it anywhere in their data', async () => {
  const { client } = portal();
  const wanted = await client.publish(BRIEF.type, { ...BRIEF.data, brief_id: '815' });
  await client.waitForStatus(webhookId, wanted, 'delivered');
  const page = await portal().signIn();
  portal()
    .faultsOf(page)
    .expect(/responded with 404: GET .*\/events\/815$/);
  const field = page.getByRole('searchbox', { name: 'Find' });
  await field.fill('815');
  await field.press('Enter');
  await page.getByText(NOTHING).waitFor();
  const searches = page.getByRole('list', { name: 'Searches of data' });
  await checkAccessibility(page);
  await checkWidth(page);
  await searches.getByRole('link', { name: 'Search in the data of events: 815' }).click();
  await page.waitForURL(/\/portal\/events\?data=815$/);
  await page.getByRole('table', { name: 'Events' }).getByText(wanted.slice(-6)).waitFor();
  expect(await page.getByLabel('Data contain').inputValue()).toBe('815');

  await field.fill('order #815');
  await searches.getByRole('link', { name: 'Deliveries of such events: 815' }).click();
  await page.waitForURL(/\/portal\/deliveries\?data=815$/);
  const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr[data-index]');
  await until(async () => ((await rows.count()) === 2 ? true : undefined));
  await rows.first().getByText('Delivered').waitFor();

  // The field of the list takes the same texts.
  await page.getByLabel('Data contain').fill('brief_id = of-4711');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.waitForURL(/data=%7B/);
  expect(new URL(page.url()).searchParams.get('data')).toBe('{"brief_id":"of-4711"}');
  await until(async () => ((await rows.count()) === 2 ? true : undefined));
});

it('is a link to share: who opens it and signs in sees what was found', async () => {
  const data = encodeURIComponent('{"brief_id":"of-4711"}');
  const page = await portal().open(`/portal/events?data=${data}`);
  await page.getByLabel('API key').fill(portal().stack.bootstrapKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText(eventId.slice(-6)).waitFor();
  expect(await page.getByLabel('Data contain').inputValue()).toBe('{"brief_id":"of-4711"}');
});

it('leads from an address, a name or a type to it, and offers several where there are', async () => {
  const page = await portal().signIn();
  portal()
    .faultsOf(page)
    .expect(/responded with 404: GET .*\/events\/Warehouse$/);
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

async function find(page: Page, text: string): Promise<void> {
  const field = page.getByRole('searchbox', { name: 'Find' });
  await field.fill(text);
  await field.press('Enter');
}

const idOf = async (method: string, path: string, body?: object) =>
  (await portal().client.expect<{ id: string }>(method === 'POST' ? 201 : 200, method, path, body)).body.id;

/** The newest of a list, once there is one. */
const newestOf = async (path: string) =>
  await until(async () => {
    const { body } = await portal().client.expect<{ data: { id: string }[] }>(200, 'GET', path);
    return body.data[0]?.id;
  });

const markedIn = (page: Page, table: string) =>
  page.getByRole('table', { name: table }).locator('tr[aria-current]');

describe('an id', () => {
  it.each([360, 1280])(
    'of a contact, a message or an audit entry leads to its row, %d px wide',
    async (width) => {
      const contact = await idOf('POST', '/v1/contacts', {
        type: 'email',
        address: `ops-${width}@example.com`,
      });
      const message = await newestOf(`/v1/notifications?contact_id=${contact}`);
      const entry = await newestOf(`/v1/audit-log?target=${contact}`);
      const page = await portal().signIn({ width, capabilities: ['read', 'webhooks', 'audit'] });
      await find(page, contact);
      await page.waitForURL(`**/portal/contacts?row=${contact}`);
      await markedIn(page, 'Contacts').getByText(`ops-${width}@example.com`).waitFor();
      await checkAccessibility(page);
      await checkWidth(page);
      await find(page, message);
      await page.waitForURL(`**/portal/contacts/notifications?row=${message}`);
      await markedIn(page, 'Messages').getByText('Asked to confirm').waitFor();
      await find(page, entry);
      await page.waitForURL(new RegExp(`/portal/audit-log\\?.*row=${entry}$`));
      const row = markedIn(page, 'Audit log');
      await row.getByText('Contact created').waitFor();
      await page.locator('tr[aria-current] a:focus').waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Contact created' }).waitFor();
      await checkAccessibility(page);
    },
  );

  it('of an account, an API key or a dead letter leads an operator there', async () => {
    const account = await idOf('POST', '/v1/accounts', { id: 'finding-acme' });
    const key = await idOf('POST', '/v1/api-keys', { name: 'ci', scopes: ['events:write'] });
    const events = new Queue('events', { connection: portal().stack.redis.client });
    await events.add('no.such_type', { account_id: 'default', id: 'lost', data: {} });
    await events.close();
    const letter = await newestOf('/v1/dead-letters');
    const page = await portal().signIn({ capabilities: ['read', 'operate'] });
    portal().faultsOf(page).expect(NO_EVENT);
    portal()
      .faultsOf(page)
      .expect(/responded with 404: GET .*\/accounts\//);
    await find(page, account);
    await page.waitForURL(`**/portal/accounts/${account}`);
    await find(page, key);
    await page.waitForURL(`**/portal/accounts/default?row=${key}`);
    await markedIn(page, 'API keys').getByText('ci').waitFor();
    await find(page, letter);
    await page.waitForURL(`**/portal/dead-letters/${encodeURIComponent(letter)}`);
  });

  it('of what is gone, or of a key, leads to what the audit log has of it', async () => {
    const gone = await idOf('POST', '/v1/contacts', { type: 'email', address: 'gone@example.com' });
    await portal().client.expect(204, 'DELETE', `/v1/contacts/${gone}`);
    const [, key = ''] = portal().stack.bootstrapKey.split('_');
    const page = await portal().signIn({ capabilities: ['read', 'audit'] });
    portal().faultsOf(page).expect(NO_EVENT);
    await find(page, gone);
    await page.waitForURL(`**/portal/audit-log?target=${gone}`);
    await page.getByRole('table', { name: 'Audit log' }).getByText('Contact deleted').waitFor();
    await find(page, key);
    await page.waitForURL(`**/portal/audit-log?actor=${key}`);
  });

  it('of what one may not see is nothing that is found, and neither is its name', async () => {
    const { client } = portal();
    const account = await idOf('POST', '/v1/accounts', { id: 'finding-other' });
    const key = await idOf('POST', '/v1/api-keys', { name: 'other', scopes: ['events:write'] });
    const entry = await newestOf('/v1/audit-log');
    const contact = await idOf('POST', '/v1/contacts', { type: 'email', address: 'own@example.com' });
    const message = await newestOf(`/v1/notifications?contact_id=${contact}`);
    const letter = 'events-dead-letters.1';
    const page = await portal().signIn({ account_id: account, capabilities: ['read', 'audit'] });
    portal()
      .faultsOf(page)
      .expect(/responded with 404: GET .*\/(events|webhooks|deliveries|replays)\//);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const ids = [
      webhookId,
      eventId,
      `${eventId}.${webhookId}`,
      `rpl_${UNKNOWN}`,
      contact,
      message,
      entry,
      key,
      letter,
      'default',
      `aud_z${UNKNOWN.slice(1)}`,
    ];
    for (const id of ids) {
      await find(page, id);
      await page.getByText(NOTHING).waitFor();
      await page.getByRole('searchbox', { name: 'Find' }).fill('');
      await page.getByText(NOTHING).waitFor({ state: 'detached' });
    }
    expect(new URL(page.url()).pathname).toBe('/portal/deliveries');
    expect(asked.filter((url) => /\/(accounts|api-keys|dead-letters)\b/.test(url))).toEqual([]);
    expect(await page.content()).not.toContain('own@example.com');
    await client.expect(200, 'GET', `/v1/webhooks/${webhookId}`);
  });
});

it('finds a route on the page of the API, which asks no other host', async () => {
  const page = await portal().openBlank();
  await page.goto(`${portal().client.baseUrl}/docs`);
  const search = page.getByRole('searchbox').or(page.getByPlaceholder('Search...'));
  await search.first().fill('replay');
  await page.locator('[role=search] [role=menuitem]').first().waitFor();
  portal().faultsOf(page).check();
});
