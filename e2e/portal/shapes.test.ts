import type { Page } from 'playwright-core';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { usePortal } from './support/use-portal';

const portal = usePortal();

let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start();
});
afterAll(async () => await receiver.stop());

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

interface WebhookView {
  readonly id: string;
  readonly format: string;
  readonly batch?: object;
  readonly ordering?: string;
  readonly coalesce?: object;
}

async function listWebhooks(): Promise<readonly WebhookView[]> {
  const path = '/v1/webhooks?limit=200';
  return (await portal().client.expect<{ data: readonly WebhookView[] }>(200, 'GET', path)).body.data;
}

it('makes a webhook that gets lists of CloudEvents, and says which settings do not go together', async () => {
  const page = await portal().signIn({ path: '/webhooks/new' });
  await page.getByLabel('URL', { exact: true }).fill(receiver.url);
  await page.locator('summary', { hasText: 'Format' }).click();
  await page.locator('summary', { hasText: 'Batches' }).click();
  await page.getByLabel('Format').selectOption('CloudEvents 1.0, attributes in headers');
  await page.getByLabel('Events in one request').fill('50');
  await page.getByLabel('Wait for others, seconds').fill('0.2');
  await page.getByLabel('CloudEvents source').fill('https://shop.example.com');
  await button(page, 'Create webhook').click();
  await page
    .getByText(/^must be native or cloudevents_batch/)
    .first()
    .waitFor();
  await portal()
    .faultsOf(page)
    .waitFor(/responded with 422: POST/);
  await checkAccessibility(page);

  await page.getByLabel('Format').selectOption('CloudEvents 1.0, a list of them');
  await button(page, 'Create webhook').click();
  await page.getByRole('heading', { name: 'Webhook created' }).waitFor();
  await page.getByText('Go to the webhook').click();
  await page.getByText('CloudEvents 1.0, a list of them').waitFor();
  await checkWidth(page);
  expect(await listWebhooks()).toMatchObject([
    { format: 'cloudevents_batch', batch: { max_events: 50, max_wait_ms: 200 } },
  ]);
});

it('changes a webhook to the order within groups, of which only the newest event is sent', async () => {
  const { id } = await portal().client.register(receiver.url, ['keyword.*']);
  const page = await portal().signIn({ path: `/webhooks/${id}/edit` });
  await page.locator('summary', { hasText: 'Delivery' }).click();
  await page.getByLabel('Coalesce within, seconds').fill('1.5');
  await button(page, 'Save').click();
  await page.getByText('needs "ordering": "group"').first().waitFor();
  await portal()
    .faultsOf(page)
    .waitFor(/responded with 422: PATCH/);
  await page.getByLabel('Order', { exact: true }).selectOption('In order within each group of events');
  await button(page, 'Save').click();
  await page.getByText('The webhook was changed.').waitFor();
  await page.waitForURL(`**/portal/webhooks/${id}`);
  await page.getByText('In order within each group of events').waitFor();
  const changed = (await listWebhooks()).find((webhook) => webhook.id === id);
  expect(changed).toMatchObject({ ordering: 'group', coalesce: { window_ms: 1_500 } });
});

it('shows the group of an event, and leads from one that was replaced to the newer one', async () => {
  const options = { ordering: 'group', coalesce: { window_ms: 1_000 } };
  const { id: webhook } = await portal().client.register(receiver.url, ['keyword.*'], options);
  const publish = async () => {
    const event = { ...QUICK_WIN, group: 'order-4711' };
    return (await portal().client.expect<{ id: string }>(202, 'POST', '/v1/events', event)).body.id;
  };
  const [older, newer] = [await publish(), await publish()];
  await portal().client.waitForStatus(webhook, older, 'superseded');
  const page = await portal().signIn({ path: `/deliveries/${older}.${webhook}` });
  await page.getByText('Look at the newer event').click();
  await page.getByText('order-4711').waitFor();
  expect(new URL(page.url()).pathname).toBe(`/portal/events/${newer}`);
  await checkAccessibility(page);
});

it('says of an attempt in which request it went with other events', async () => {
  const batch = { max_events: 2, max_wait_ms: 10_000 };
  const { client } = portal();
  const { id: webhook } = await client.register(receiver.url, ['keyword.*'], { batch });
  const ids = [await client.publish(QUICK_WIN.type, QUICK_WIN.data)];
  ids.push(await client.publish(QUICK_WIN.type, QUICK_WIN.data));
  const delivery = await client.waitForStatus(webhook, ids[0] ?? '', 'delivered');
  const batchId = delivery.attempts[0]?.batch_id ?? 'none';
  const page = await portal().signIn({ path: `/deliveries/${delivery.id}` });
  await page.getByText('It went together with other events').waitFor();
  await page.getByText(batchId).first().waitFor();
  await checkAccessibility(page);
});

it('receives in the page in any format, and several events in one request', async () => {
  const { client } = portal();
  await client.expect(201, 'POST', '/v1/accounts', { id: 'shapes' });
  const ofIt = { 'x-account-id': 'shapes' };
  const capabilities = ['read', 'webhooks', 'secrets'] as const;
  const page = await portal().signIn({ path: '/overview', account_id: 'shapes', capabilities });
  await button(page, 'Receive in this page').click();
  await page.getByText('This page receives').waitFor();
  const listed = await client.expect<{ data: readonly WebhookView[] }>(
    200,
    'GET',
    '/v1/webhooks',
    undefined,
    ofIt,
  );
  const path = `/v1/webhooks/${listed.body.data[0]?.id}`;
  const publish = async () =>
    (await client.expect<{ id: string }>(202, 'POST', '/v1/events', QUICK_WIN, ofIt)).body.id;
  const bodies = page.getByRole('group', { name: 'Received body' });
  const headers = page.getByRole('group', { name: 'Received headers' });

  await client.expect(200, 'PATCH', path, { format: 'cloudevents_structured' }, ofIt);
  const structured = await publish();
  await bodies.getByText(structured).first().waitFor();
  expect(await bodies.first().innerText()).toContain('"specversion": "1.0"');

  await client.expect(200, 'PATCH', path, { format: 'cloudevents_binary' }, ofIt);
  await publish();
  await headers
    .getByText(/ce-specversion: 1\.0/)
    .first()
    .waitFor();

  const batch = { max_events: 2, max_wait_ms: 10_000 };
  for (const format of ['native', 'cloudevents_batch']) {
    await client.expect(200, 'PATCH', path, { format, batch }, ofIt);
    const ids = [await publish(), await publish()];
    const both = async () => {
      const text = await bodies.first().innerText();
      return ids.every((id) => text.includes(id)) ? text : undefined;
    };
    expect(await until(both)).toContain(QUICK_WIN.type);
  }
  await checkAccessibility(page);
  await button(page, 'Stop receiving').click();
});
