import { QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkSteadiness, checkSteadinessWithLateReads } from './support/check-steadiness';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { go, usePortal } from './support/use-portal';

const portal = usePortal({ environment: { RETRY_SCHEDULE: '1s' } });

let endpoint: SwitchedReceiver;
let webhookId: string;
beforeEach(async () => {
  endpoint = await startSwitchedReceiver();
  webhookId = (await portal().client.register(endpoint.receiver.url, ['keyword.*'])).id;
});
afterEach(async () => {
  await portal().client.expect(204, 'DELETE', `/v1/webhooks/${webhookId}`);
  await endpoint.receiver.stop();
});

it('counts what failed, replays it, and shows how far it is', async () => {
  endpoint.respondWith(500);
  const { client } = portal();
  const events = await Promise.all([1, 2, 3].map(() => client.publish(QUICK_WIN.type, QUICK_WIN.data)));
  await Promise.all(events.map((event) => client.waitForStatus(webhookId, event, 'exhausted')));
  endpoint.respondWith(204);

  const page = await portal().signIn({ path: `/webhooks/${webhookId}/replay` });
  await page.getByRole('button', { name: 'Count first' }).click();
  await page.getByText('It is about 3 events.').waitFor();
  await page.getByRole('button', { name: 'Replay 3' }).click();
  await page.getByText('3 of 3 events put onto the queue').waitFor();
  await page.getByText(/Done$/).waitFor();
  await page.getByText('3 arrived.').waitFor();
  await Promise.all(events.map((event) => client.waitForStatus(webhookId, event, 'delivered')));
  const rows = page.getByRole('table', { name: 'Its deliveries' }).locator('tbody tr[data-index]');
  await until(async () => ((await rows.count()) === 3 ? true : undefined));
  await checkAccessibility(page);
  await checkWidth(page);
  await page.getByLabel('Result').selectOption('Failed');
  await page.getByText('None has this result.').waitFor();
  await page.getByRole('link', { name: '3 arrived' }).click();
  await until(async () => ((await rows.count()) === 3 ? true : undefined));
  expect(await page.getByLabel('Result').inputValue()).toBe('delivered');

  await go(page, `/webhooks/${webhookId}`);
  await page.getByRole('heading', { name: 'Last replays' }).waitFor();
  await page.getByText('3 of 3 sent').waitFor();
});

it('cancels a replay', async () => {
  const { client } = portal();
  for (let i = 0; i < 5; i += 1) {
    const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await client.waitForStatus(webhookId, event, 'delivered');
  }
  const page = await portal().signIn({ path: `/webhooks/${webhookId}/replay` });
  await page.getByLabel('Everything').check();
  await page.getByLabel('Events per second').fill('1');
  await page.getByRole('button', { name: 'Start replay' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText(/^Cancelled(:| before) /).waitFor();
});

it('shows an event as it was published, and where it went', async () => {
  const { client } = portal();
  const published = '{"type":"keyword.quick_win","data":{"keyword": "a",  "position":1,"volume":2e3}}';
  const { body } = await client.expect<{ id: string }>(202, 'POST', '/v1/events', published);
  const page = await portal().signIn({ path: '/events?type=keyword.quick_win' });
  const row = page.getByRole('row').filter({ hasText: body.id.slice(-6) });
  await row.getByText('1 delivered').waitFor();
  await checkSteadiness(page);
  await checkAccessibility(page);
  await checkWidth(page);
  await row.getByRole('link').click();
  await page.getByRole('button', { name: 'As published' }).click();
  await page.getByText('{"keyword": "a",  "position":1,"volume":2e3}').waitFor();
  await page.getByRole('table', { name: 'Deliveries' }).getByText('Delivered').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
});

it('names the webhooks that an event was not sent to, with the reason', async () => {
  const { client } = portal();
  const { body: filtered } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', {
    url: endpoint.receiver.url,
    events: ['keyword.*'],
    uid: 'top-ten',
    filter: { position: { lte: 10 } },
  });
  try {
    const event = await client.publish(QUICK_WIN.type, { ...QUICK_WIN.data, position: 50 });
    const page = await portal().signIn({ path: `/events/${event}` });
    const unsent = page.getByRole('list', { name: 'Not sent to' });
    await unsent
      .getByText('Its filter does not let the event pass: position is 50, asked for: lte 10.')
      .waitFor();
    expect(await unsent.getByRole('listitem').count()).toBe(1);
    await checkAccessibility(page);
    await checkWidth(page);
    await page.getByText(/not sent to .*top-ten.*: position is 50, asked for: lte 10/).waitFor();
    await unsent.getByRole('link').click();
    await page.getByText('or its filter let none pass').waitFor();
  } finally {
    await client.expect(204, 'DELETE', `/v1/webhooks/${filtered.id}`);
  }
});

it('finds an event by what its data contain, and keeps that in its address', async () => {
  const { client } = portal();
  const id = await client.publish(QUICK_WIN.type, { ...QUICK_WIN.data, keyword: 'searched for' });
  const page = await portal().signIn({ path: '/events?type=keyword.quick_win' });
  const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr[data-index]');
  await rows.nth(1).waitFor();
  await page.getByLabel('Data contain').fill('{"keyword":"searched for"}');
  await page.getByRole('button', { name: 'Search' }).click();
  await until(async () => ((await rows.count()) === 1 ? true : undefined));
  await rows.filter({ hasText: id.slice(-6) }).waitFor();
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
    type: QUICK_WIN.type,
    data: '{"keyword":"searched for"}',
  });
  await page.getByLabel('Data contain').fill('{"keyword":"searched"}');
  await page.getByLabel('Data contain').press('Enter');
  await page.getByText('No such events').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
});

it('counts where an event went while somebody looks', async () => {
  endpoint.respondWith(500);
  const { client } = portal();
  const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhookId, event, 'exhausted');
  const page = await portal().signIn({ path: `/events/${event}` });
  await page.getByText('1: 1 exhausted').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  endpoint.respondWith(204);
  await client.expect(202, 'POST', `/v1/deliveries/${event}.${webhookId}/redeliver`);
  await page.getByText('1: 1 delivered').waitFor();
});

it('shows what an event type is about, and how to verify that it is genuine', async () => {
  const page = await portal().signIn({ path: '/event-types' });
  await page.getByRole('link', { name: 'keyword.quick_win' }).waitFor();
  await checkSteadiness(page);
  await checkAccessibility(page);
  await checkWidth(page);
  await page.getByRole('link', { name: 'keyword.quick_win' }).click();
  await page.getByText('A keyword was found that could rank higher').waitFor();
  for (const language of ['Node.js', 'Python', 'Go', 'Ruby', 'PHP', 'Java']) {
    await page.getByRole('tab', { name: language, exact: true }).click();
    await page
      .getByRole('tabpanel')
      .getByText(/verify_?Body/i)
      .first()
      .waitFor();
  }
  await page.getByRole('button', { name: 'Copy: Verifying signatures in Java' }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toContain(
    'public final class WebhookSignature',
  );
  await checkAccessibility(page);
  await checkWidth(page);
});

describe('publishing', () => {
  it('begins with the example of a type, says what is wrong, and leads to the event', async () => {
    const page = await portal().signIn({ path: '/events', capabilities: ['read', 'publish'], width: 360 });
    await page.getByRole('button', { name: 'Publish an event' }).click();
    const dialog = page.getByRole('dialog', { name: 'Publish an event' });
    await dialog.getByLabel('Event type').selectOption(QUICK_WIN.type);
    const data = dialog.getByLabel('Its data');
    expect(JSON.parse(await data.inputValue())).toHaveProperty('keyword');
    await data.fill('{"keyword":');
    await dialog.getByText('This is not JSON.').waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
    await data.fill('{"keyword":1}');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await portal()
      .faultsOf(page)
      .waitFor(/responded with 422: POST .*\/v1\/events$/);
    await dialog.getByRole('alert').waitFor();
    await checkAccessibility(page);
    await data.fill('{"keyword":"a","position":1,"volume":10}');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await page.waitForURL(/\/portal\/events\/evt_/);
    await page.getByRole('list', { name: 'Time line' }).getByText('1 attempt').waitFor();
    expect(endpoint.receiver.requests.map(({ body }) => String(body))).toEqual([
      '{"type":"keyword.quick_win","data":{"keyword":"a","position":1,"volume":10}}',
    ]);
  });

  it('is for nobody by default, and for nobody who signs in by a key that may not publish', async () => {
    const usual = await portal().signIn({ path: '/events' });
    await usual.getByRole('heading', { level: 1, name: 'Events' }).waitFor();
    expect(await usual.getByRole('button', { name: 'Publish an event' }).count()).toBe(0);
    const narrow = { name: 'narrow', scopes: ['portal:write', 'admin'] };
    const { body } = await portal().client.expect<{ key: string }>(201, 'POST', '/v1/api-keys', narrow);
    for (const [key, count] of [
      [body.key, 0],
      [portal().stack.bootstrapKey, 1],
    ] as const) {
      const page = await portal().open('/portal/events');
      await page.getByLabel('API key').fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor();
      expect(await page.getByRole('button', { name: 'Publish an event' }).count()).toBe(count);
    }
  });
});

it('shows an event, its type and the form of a webhook at once, whichever response comes last', async () => {
  const { client } = portal();
  const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhookId, event, 'delivered');
  const capabilities = ['read', 'webhooks'] as const;
  for (const path of [`/events/${event}`, `/event-types/${QUICK_WIN.type}`, `/webhooks/${webhookId}/edit`])
    expect(await checkSteadinessWithLateReads(portal(), { path, capabilities })).toBeGreaterThan(0);
});
