import { Queue } from 'bullmq';
import type { Page } from 'playwright-core';
import { Receiver } from '../support/receiver';
import { until } from '../support/until';
import { go, usePortal } from './support/use-portal';

const portal = usePortal({ environment: { RETRY_SCHEDULE: '1h' } });

const ACCOUNT = 'hostile';
/** What each field says: markup that runs if anything takes it for markup, under a name to find it by. */
const markup = (field: string) =>
  `${field}"'><img src=x onerror="window.ran='${field}'"><script>window.ran=1</script>`;

let receiver: Receiver;
beforeAll(async () => {
  receiver = await Receiver.start(() => ({
    status: 500,
    headers: { server: markup('header'), 'content-type': 'text/html' },
    body: markup('response'),
  }));
});
afterAll(() => receiver.stop());

/** Everything that a customer, a producer or a receiver can write, in one account. */
async function fillAccount() {
  const { client } = portal();
  const ofAccount = { 'x-account-id': ACCOUNT };
  await client.expect(201, 'POST', '/v1/accounts', { id: ACCOUNT, name: markup('account') });
  await client.expect(201, 'POST', '/v1/api-keys', { name: markup('key'), scopes: ['admin'] }, ofAccount);
  const schema = { type: 'object', description: markup('schema') };
  const eventType = { description: markup('type'), schema, example: { text: markup('example') } };
  await client.expect(201, 'PUT', '/v1/event-types/hostile.event', eventType);
  const webhook = {
    url: `${receiver.url}?${encodeURIComponent(markup('url'))}`,
    events: ['*'],
    description: markup('description'),
    metadata: { [markup('name').slice(0, 64)]: markup('metadata') },
    headers: { 'x-own': markup('own header') },
  };
  const { body: registered } = await client.expect<{ id: string }>(
    201,
    'POST',
    '/v1/webhooks',
    webhook,
    ofAccount,
  );
  const event = { type: 'brief.created', data: { brief_id: markup('data'), title: markup('payload') } };
  const { body: accepted } = await client.expect<{ id: string }>(202, 'POST', '/v1/events', event, ofAccount);
  await receiver.waitFor(1);
  const deliveryId = await until(async () => {
    const path = `/v1/webhooks/${registered.id}/deliveries`;
    const { body } = await client.expect<{ data: { id: string; attempt_count: number }[] }>(
      200,
      'GET',
      path,
      undefined,
      ofAccount,
    );
    return body.data.find(({ attempt_count: count }) => count > 0)?.id;
  });
  return { webhookId: registered.id, eventId: accepted.id, deliveryId };
}

/** A job that is none of ours, as any producer can push it. */
async function pushInvalid(): Promise<string> {
  const { stack, client } = portal();
  const events = new Queue('events', { connection: stack.redis.client });
  await events.add(markup('job'), { account_id: markup('its account'), data: markup('job data') });
  await events.close();
  return await until(async () => {
    const { body } = await client.expect<{ data: { id: string }[] }>(200, 'GET', '/v1/dead-letters');
    return body.data[0]?.id;
  });
}

async function expectNothingRan(page: Page): Promise<void> {
  expect(await page.evaluate('window.ran')).toBeUndefined();
  expect(await page.locator('img[src="x"], main script, [onerror]').count()).toBe(0);
}

/** Goes there, and waits until the page shows what it was written in one of its fields. */
async function expectShown(page: Page, path: string, ...fields: readonly string[]): Promise<void> {
  await go(page, path);
  await page.locator('main h1').waitFor();
  await page
    .locator('main :is([aria-busy="true"], [aria-label="Loading"])')
    .first()
    .waitFor({ state: 'detached' });
  // This part is the same within JSON.
  for (const field of fields) await page.getByText(`window.ran='${field}'`).first().waitFor();
  await expectNothingRan(page);
}

it('shows what strangers write as text, on every page', async () => {
  const { webhookId, eventId, deliveryId } = await fillAccount();
  const deadLetterId = await pushInvalid();
  const capabilities = ['read', 'webhooks', 'redeliver', 'secrets', 'operate'] as const;
  const page = await portal().signIn({ capabilities, theme: { name: markup('theme') } });
  await expectNothingRan(page);
  await until(async () => ((await page.title()).includes(markup('theme')) ? true : undefined));

  await expectShown(page, '/accounts', 'account');
  await expectShown(page, `/accounts/${ACCOUNT}`, 'account', 'key');
  await expectShown(page, '/dead-letters', 'job');
  await expectShown(page, `/dead-letters/${encodeURIComponent(deadLetterId)}`, 'job', 'job data');
  await go(page, `/accounts/${ACCOUNT}`);
  await page.getByRole('button', { name: 'See what the customer sees' }).click();
  await page.getByRole('table').first().waitFor();
  await expectShown(page, '/deliveries');
  await expectShown(page, `/deliveries/${deliveryId}`, 'payload', 'header', 'response');
  await expectShown(page, '/webhooks');
  await expectShown(page, `/webhooks/${webhookId}`, 'description', 'metadata');
  await expectShown(page, `/webhooks/${webhookId}/edit`);
  await expectShown(page, '/events');
  await expectShown(page, `/events/${eventId}`, 'payload');
  await expectShown(page, '/event-types', 'type');
  await expectShown(page, '/event-types/hostile.event', 'type', 'schema', 'example');
  await expectShown(page, '/operations');
});

it('takes no link that would run something, nor a picture or a colour that is none', async () => {
  const { client } = portal();
  const refused = [
    { return_url: 'javascript:window.ran=1' },
    { return_url: 'data:text/html,<script>window.ran=1</script>' },
    { theme: { logo: 'data:image/svg+xml;base64,PHN2Zy8+' } },
    { theme: { logo: 'https://tracker.example/logo.png' } },
    { theme: { color: 'red;background:url(https://tracker.example)' } },
    { theme: { name: 'line\nbreak' } },
    { theme: { surface_dark: 'url(https://tracker.example)' } },
    { theme: { font: 'x; background: url(https://tracker.example)' } },
    { theme: { font: 'x", url(https://tracker.example)' } },
    { theme: { radius: '0; color: red' } },
    { theme: { radius: 17 } },
  ];
  for (const wish of refused) {
    const { status } = await client.request('POST', '/v1/portal-sessions', wish);
    expect([wish, status]).toEqual([wish, 422]);
  }
});

it('renders nothing of them either, should the service ever say them', async () => {
  const page = await portal().openBlank();
  await page.route('**/v1/portal-sessions/exchange', async (route) => {
    const response = await route.fetch();
    const session = (await response.json()) as object;
    const theme = {
      color: 'red;background:url(https://tracker.example)',
      surface: 'url(https://tracker.example)',
      font: 'x", url(https://tracker.example)',
      radius: '0; background: url(https://tracker.example)',
      mode: markup('mode'),
      name: markup('theme'),
    };
    const hostile = {
      return_url: 'javascript:window.ran=1',
      theme,
      expires_at: new Date(Date.now() + 2_000),
    };
    await route.fulfill({ response, json: { ...session, ...hostile } });
  });
  const { body } = await portal().client.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', {});
  await page.goto(body.url);
  // It ends at once, and then would lead to where it came from.
  await page.getByText('Your session has ended').waitFor();
  expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
  expect(await page.locator('html').getAttribute('style')).toBeFalsy();
  await expectNothingRan(page);
});
