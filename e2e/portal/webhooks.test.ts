import type { Page } from 'playwright-core';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkSteadiness } from './support/check-steadiness';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { tabTo } from './support/tab-to';
import { go, usePortal } from './support/use-portal';

const portal = usePortal({
  environment: { RETRY_SCHEDULE: '1s,1s,1s,1s,1s,1s,1s,1s', SOURCE_ADDRESSES: '203.0.113.0/28' },
});

let endpoint: SwitchedReceiver;
beforeEach(async () => {
  endpoint = await startSwitchedReceiver();
});
afterEach(() => endpoint.receiver.stop());

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const isLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor();
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

it('makes a webhook by the keyboard alone, and says what is wrong with its URL while it is typed', async () => {
  const page = await portal().signIn({ path: '/webhooks' });
  await heading(page, 'Webhooks').waitFor();
  await tabTo(page, 'New webhook');
  await page.keyboard.press('Enter');
  await heading(page, 'New webhook').waitFor();
  await page.getByText('by POST from 203.0.113.0/28.').waitFor();
  await tabTo(page, 'URL');
  await page.keyboard.type('http://127.0.0.1:22');
  await page.getByText('must not use port 22, which belongs to another protocol').waitFor();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(endpoint.receiver.url);
  await page.getByText('must not use port 22').waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await heading(page, 'Webhook created').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
  await tabTo(page, 'Go to the webhook');
  await page.keyboard.press('Enter');
  await heading(page, new URL(endpoint.receiver.url).host).waitFor();
  const { body } = await portal().client.expect<{ data: { url: string }[] }>(200, 'GET', '/v1/webhooks');
  expect(body.data.map(({ url }) => url)).toContain(endpoint.receiver.url);
});

it('shows the secret of a new webhook at once, however far down its form was sent', async () => {
  const page = await portal().signIn({ path: '/webhooks/new' });
  await page.setViewportSize({ width: 1280, height: 400 });
  await page.getByLabel('URL').fill('https://receiver.example.com/new');
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await heading(page, 'Webhook created').waitFor();
  await page.locator('main:focus').waitFor();
  await until(async () => (await page.evaluate('scrollY')) === 0 || undefined);
});

it('shows a receiver fail and recover while somebody looks at its webhook', async () => {
  endpoint.respondWith(503);
  const { id } = await portal().client.register(endpoint.receiver.url, ['keyword.quick_win']);
  const page = await portal().signIn({ path: `/webhooks/${id}` });
  await button(page, 'Send test event').click();
  const result = page.getByRole('status').filter({ hasText: 'See the request' });
  await result.getByText('HTTP 503 in').waitFor();
  await result.getByText('It is sent again').waitFor();
  const failure = page.getByText(/^Its last (attempt failed|failure): HTTP 503/);
  await failure.getByRole('link').waitFor();
  expect(await page.title()).toBe(`${new URL(endpoint.receiver.url).host}/hook · Webhooks`);
  endpoint.respondWith(204);
  await result.getByText('Accepted').waitFor();
  // Rows do not move by themselves while they are read.
  await button(page, '1 new').click();
  await page.getByRole('table', { name: 'Deliveries' }).getByText('Delivered').waitFor();
});

it('says how many attempts at once a webhook may have now, and how many it is set to', async () => {
  const { client } = portal();
  const webhook = { url: endpoint.receiver.url, events: ['brief.*'], max_concurrency: 1 };
  const { id } = (await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook)).body;
  await client.publish('brief.created', { brief_id: 'brf_1', title: 'Red shoes' });
  await endpoint.receiver.waitFor(1);
  await until(async () => {
    const { body } = await client.expect<{ health: { concurrency: object | null } }>(
      200,
      'GET',
      `/v1/webhooks/${id}`,
    );
    return body.health.concurrency ?? undefined;
  });
  const page = await portal().signIn({ path: `/webhooks/${id}` });
  await page.getByText('Up to 1, as its settings say').waitFor();
  await page.getByText('1 in each worker').waitFor();
});

it('counts what is held while somebody looks, by few requests however much comes', async () => {
  const { client } = portal();
  const { id } = await client.register(endpoint.receiver.url, ['brief.created']);
  const publish = async (count: number) =>
    await Promise.all(
      Array.from({ length: count }, () =>
        client.publish('brief.created', { brief_id: 'brf_1', title: 'Shoes' }),
      ),
    );
  const page = await portal().signIn({ path: `/webhooks/${id}` });
  await page.getByText('Nothing was sent to it yet.').waitFor();
  await isLive(page);
  await client.expect(200, 'POST', `/v1/webhooks/${id}/disable`);
  await page.getByText(/Disabled$/).waitFor();
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    // Code that is loaded ahead is none of it.
    if (pathname.startsWith('/v1/')) asked.push(pathname);
  });
  const startedAt = Date.now();
  await publish(200);
  await page.getByText('200 deliveries are held.').waitFor();
  expect(new Set(asked).size).toBeLessThan(20);
  // A second lies between two looks at the same thing.
  const mostLooks = 2 + (Date.now() - startedAt) / 1_000;
  for (const path of new Set(asked))
    expect(asked.filter((each) => each === path).length).toBeLessThanOrEqual(mostLooks);

  await go(page, '/webhooks');
  const row = page.getByRole('row').filter({ hasText: new URL(endpoint.receiver.url).host });
  await row.getByText('200', { exact: true }).waitFor();
  await publish(2);
  await row.getByText('202', { exact: true }).waitFor();
});

it('changes what was changed and nothing else, with a filter that was tried before', async () => {
  const { client } = portal();
  const { id } = await client.register(endpoint.receiver.url, ['keyword.*']);
  await client.expect(200, 'PATCH', `/v1/webhooks/${id}`, {
    headers: { 'x-token': 'secret', 'x-team': 'a' },
  });
  await client.publish('keyword.quick_win', { keyword: 'shoes', position: 4, volume: 10 });
  const page = await portal().signIn({ path: `/webhooks/${id}/edit` });
  await page.getByLabel('Filter').fill('{"position": {"lte": "3"}}');
  await page.getByText('must be a number: 3, without quotes').waitFor();
  await page.getByLabel('Filter').fill('{"position": {"lte": 3}}');
  await button(page, 'Try').click();
  await page.getByText(/^0 of \d+ events pass/).waitFor();
  await page.getByText('position is 4, asked for: lte 3').waitFor();
  await page.locator('summary', { hasText: 'Delivery' }).click();
  await page.getByLabel('Time-out, seconds').fill('90');
  await page.getByText('must be a number from 1 to 60 seconds').waitFor();
  await page.getByLabel('Time-out, seconds').fill('2.5');
  await page.getByText('must be a number from 1 to 60 seconds').waitFor({ state: 'detached' });
  await page.getByLabel('Rate limit, per second').fill('7');
  await page.getByLabel('Requests at once').fill('3');
  await page.getByText('Time-out: 2.5 seconds').waitFor();
  await page.locator('summary', { hasText: 'Sign-in at the receiver' }).click();
  await button(page, 'Remove the header x-team').click();
  await button(page, 'Save').click();
  await page.getByText('The webhook was changed.').waitFor();
  const { body } = await client.expect(200, 'GET', `/v1/webhooks/${id}`);
  expect(body).toMatchObject({
    events: ['keyword.*'],
    filter: { position: { lte: 3 } },
    rate_limit: 7,
    max_concurrency: 3,
    timeout_ms: 2_500,
    headers: { 'x-token': '***' },
  });
});

it('makes a webhook that signs by a key pair, and shows the public half', async () => {
  const page = await portal().signIn({ path: '/webhooks/new' });
  await page.getByLabel('URL', { exact: true }).fill(endpoint.receiver.url);
  await page.locator('summary', { hasText: 'Signing' }).click();
  const signatures = page.getByLabel('Signatures');
  expect(await signatures.inputValue()).toBe('');
  await signatures.selectOption('With a key pair (Ed25519)');
  await button(page, 'Create webhook').click();
  await heading(page, 'Webhook created').waitFor();
  const { body } = await portal().client.expect<{ data: { id: string }[] }>(200, 'GET', '/v1/webhooks');
  const path = `/v1/webhooks/${body.data[0]?.id}`;
  const { body: made } = await portal().client.expect<{ public_key: string }>(200, 'GET', path);
  await page.getByText(made.public_key).waitFor();
  expect(await heading(page, 'Signing secret').count()).toBe(0);
  await page.getByText('Go to the webhook').click();
  await page.getByText('With a key pair (Ed25519)').waitFor();
  await page.getByText(made.public_key).waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
});

it('overwrites nothing that somebody else changed meanwhile, and keeps what was typed', async () => {
  const { client } = portal();
  const { id } = await client.register(endpoint.receiver.url, ['keyword.*']);
  const page = await portal().signIn({ path: `/webhooks/${id}/edit` });
  const description = page.getByLabel('Description');
  await page.getByLabel('Filter').fill('{"position": {"lte": 3}}');
  await client.expect(200, 'PATCH', `/v1/webhooks/${id}`, { description: 'Theirs' });
  await button(page, 'Save').click();
  await page.getByText('Somebody else changed it in the meantime').waitFor();
  portal()
    .faultsOf(page)
    .expect(/responded with 412: PATCH/);
  expect(await description.inputValue()).toBe('');
  await checkAccessibility(page);
  await checkWidth(page);
  await button(page, 'Load it as it is now').click();
  await until(async () => ((await description.inputValue()) === 'Theirs' ? true : undefined));
  expect(await page.getByLabel('Filter').inputValue()).toBe('{"position": {"lte": 3}}');
  await button(page, 'Save').click();
  await page.getByText('The webhook was changed.').waitFor();
  const { body } = await client.expect(200, 'GET', `/v1/webhooks/${id}`);
  expect(body).toMatchObject({ description: 'Theirs', filter: { position: { lte: 3 } } });
});

it('shows at its field what the service finds wrong', async () => {
  await portal().client.expect(201, 'POST', '/v1/webhooks', {
    url: endpoint.receiver.url,
    events: ['*'],
    uid: 'taken',
  });
  const page = await portal().signIn({ path: '/webhooks/new' });
  portal()
    .faultsOf(page)
    .expect(/responded with 422: POST .*\/v1\/webhooks/);
  await page.getByLabel('URL').fill('http://10.1.2.3/hook');
  await button(page, 'Create webhook').click();
  await page.getByText('must not lead to 10.1.2.3, which is not a public address').first().waitFor();
  expect(await page.getByLabel('URL').getAttribute('aria-invalid')).toBe('true');
});

it('disables with a way back, enables, and deletes', async () => {
  const { client } = portal();
  const { id } = await client.register(endpoint.receiver.url);
  const statusIs = async (status: string) =>
    await until(async () => {
      const { body } = await client.request<{ status: string }>('GET', `/v1/webhooks/${id}`);
      return body.status === status ? true : undefined;
    });
  const page = await portal().signIn({ path: `/webhooks/${id}` });
  // All is read anew when the page begins to follow changes: what it asks for is still to be there then.
  await page.getByText('Live', { exact: true }).waitFor();
  const disable = async () => {
    await button(page, 'Disable').click();
    await page.getByRole('alertdialog').waitFor();
    await checkAccessibility(page);
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click();
    await statusIs('disabled');
  };
  await disable();
  await button(page, 'Undo').click();
  await statusIs('enabled');
  await disable();
  await button(page, 'Enable').click();
  await statusIs('enabled');
  // The page has read the webhook since: what it asks for is still to be there then.
  await button(page, 'Disable').waitFor();
  await button(page, 'Delete').click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await heading(page, 'Webhooks').waitFor();
  await client.expect(404, 'GET', `/v1/webhooks/${id}`);
});

it('shows the secret when it is asked for, and rotates it', async () => {
  const { id, secret } = await portal().client.register(endpoint.receiver.url);
  const page = await portal().signIn({
    capabilities: ['read', 'webhooks', 'secrets'],
    path: `/webhooks/${id}`,
  });
  await button(page, 'Reveal').click();
  await page.getByText(secret).waitFor();
  await button(page, 'Rotate…').click();
  await page.getByLabel('The former secret also signs').selectOption('for an hour');
  await checkAccessibility(page);
  await checkWidth(page);
  await button(page, 'Rotate').click();
  await page
    .getByRole('timer')
    .getByText(/^(1:00:00|59:5\d)$/)
    .waitFor();
  const { body } = await portal().client.expect<{ secret: string }>(200, 'GET', `/v1/webhooks/${id}/secret`);
  expect(body.secret).not.toBe(secret);
  await page.getByText(body.secret).waitFor();
});

it('has the values of headers given anew with another URL, by who may not see them', async () => {
  const input = { url: endpoint.receiver.url, events: ['*'], headers: { authorization: 'Bearer abc' } };
  const { body } = await portal().client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', input);
  const page = await portal().signIn({ path: `/webhooks/${body.id}/edit`, capabilities: ['webhooks'] });
  await page.getByLabel('URL').fill(`${endpoint.receiver.url}/elsewhere`);
  await button(page, 'Save').click();
  await page.getByText('authorization must be given again or removed').waitFor();
  await page.getByRole('group', { name: 'Headers' }).getByLabel('Value').fill('Bearer mine');
  await page.getByText('must be given again').waitFor({ state: 'detached' });
  await button(page, 'Save').click();
  await page.getByText('The webhook was changed.').waitFor();
  const { body: now } = await portal().client.expect<{ url: string }>(200, 'GET', `/v1/webhooks/${body.id}`);
  expect(now.url).toBe(`${endpoint.receiver.url}/elsewhere`);
});

it('offers nothing that the session may not do', async () => {
  const { id } = await portal().client.register(endpoint.receiver.url);
  const page = await portal().signIn({ capabilities: ['read'], path: `/webhooks/${id}` });
  await page.getByRole('heading', { name: 'Health, 24 h' }).waitFor();
  for (const name of ['Edit', 'Replay…']) expect(await page.getByRole('link', { name }).count()).toBe(0);
  for (const name of ['Delete', 'Disable', 'Send test event', 'Reveal']) {
    expect(await button(page, name).count()).toBe(0);
  }
});

it('says at once, in place of a form, that the session may not use it', async () => {
  const { id } = await portal().client.register(endpoint.receiver.url);
  const page = await portal().signIn({ capabilities: ['read'] });
  const refused = page.getByText('Your link does not allow this');
  for (const [path, parent] of [
    ['/webhooks/new', '/webhooks'],
    [`/webhooks/${id}/edit`, `/webhooks/${id}`],
    [`/webhooks/${id}/replay`, `/webhooks/${id}`],
  ] as const) {
    await go(page, path);
    await refused.waitFor();
    expect(await page.locator('main form').count()).toBe(0);
    await checkAccessibility(page);
    await page.getByRole('link', { name: 'Back' }).click();
    await page.waitForURL(`**/portal${parent}`);
    await refused.waitFor({ state: 'detached' });
  }
});

it('lists webhooks with how they did in the last day', async () => {
  const { client } = portal();
  const { id } = await client.register(endpoint.receiver.url, ['brief.created'], { uid: 'shop-front' });
  const event = await client.publish('brief.created', { brief_id: 'brf_1', title: 'Shoes' });
  await client.waitForStatus(id, event, 'delivered');
  const page = await portal().signIn({ path: '/webhooks' });
  const row = page.getByRole('row').filter({ hasText: new URL(endpoint.receiver.url).host });
  await row.getByText('Enabled').waitFor();
  await row.getByText('100%').waitFor();
  await row.getByRole('img', { name: '95th percentile by the hour' }).waitFor();
  await row.getByText('shop-front').waitFor();
  await row.getByRole('link').first().click();
  const proposed = page.locator('optgroup[label="It subscribes to"] option');
  await until(async () => (await proposed.allTextContents()).join() === 'brief.created' || undefined);
});

describe('every page', () => {
  const capabilities = ['read', 'webhooks', 'redeliver', 'secrets'] as const;
  let paths: readonly (readonly [path: string, title: string])[];
  beforeEach(async () => {
    const { id } = await portal().client.register(endpoint.receiver.url, ['keyword.quick_win']);
    paths = [
      ['/webhooks', 'Webhooks'],
      ['/webhooks/new', 'New webhook'],
      [`/webhooks/${id}`, new URL(endpoint.receiver.url).host],
      [`/webhooks/${id}/edit`, 'Edit webhook'],
      [`/webhooks/${id}/replay`, 'Replay'],
    ];
  });

  const open = async (page: Page, path: string, title: string) => {
    await go(page, path);
    await heading(page, title).waitFor();
    await page.locator('[aria-busy="true"], [aria-label="Loading"]').first().waitFor({ state: 'detached' });
  };

  it('does not move while it loads', async () => {
    const page = await portal().signIn({ capabilities });
    for (const [path, title] of paths) {
      await open(page, path, title);
      await checkSteadiness(page);
    }
  });

  it('is accessible in both themes, and fits a phone', async () => {
    const page = await portal().signIn({ capabilities });
    for (const [path, title] of paths) {
      await open(page, path, title);
      await checkAccessibility(page);
      await checkWidth(page);
    }
  });
});

it('lists those that fail before newer ones, and finds one by a part of its name', async () => {
  const { client } = portal();
  const register = (description: string) =>
    client.register(endpoint.receiver.url, ['keyword.quick_win'], { description });
  endpoint.respondWith(500);
  const failing = await register('Fails');
  await client.expect(202, 'POST', `/v1/webhooks/${failing.id}/test`, {});
  await until(async () => {
    const { body } = await client.expect<{ data: unknown[] }>(
      200,
      'GET',
      '/v1/webhooks?failing=true&search=Fails',
    );
    return body.data.length === 1 || undefined;
  });
  const newer = await register('Is newer');
  const page = await portal().signIn({ path: '/webhooks' });
  const rows = page.getByRole('table', { name: 'Webhooks' }).locator('tbody tr[data-index]');
  await rows.first().getByText('Fails').waitFor();
  await page.getByLabel('Order').selectOption('Newest first');
  await rows.first().getByText('Is newer').waitFor();
  await page.getByLabel('Search').fill('is NEW');
  await until(async () => ((await rows.count()) === 1 ? true : undefined));
  await rows.first().getByText('Is newer').waitFor();
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ search: 'is NEW', order: 'newest' });
  await checkAccessibility(page);
  await checkWidth(page);
  await page.getByLabel('Search').fill('no such one');
  await page.getByText('No such webhook').waitFor();
  for (const { id } of [failing, newer]) await client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
});
