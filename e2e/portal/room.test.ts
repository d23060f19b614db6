import { Queue } from 'bullmq';
import type { Page } from 'playwright-core';
import { QUICK_WIN } from '../support/samples';
import { findCut, spaceOut } from './support/check-room';
import { go, usePortal } from './support/use-portal';

const portal = usePortal({
  workers: 0,
  environment: {
    PUBLIC_URL: 'https://hooks.example.com',
    MAIL_FROM: 'hooks@example.com',
    SMTP_URL: 'smtp://127.0.0.1:9',
  },
});

const LOADING = '[aria-busy="true"], [aria-label="Loading"]';

let paths: readonly string[];

beforeAll(async () => {
  const { client } = portal();
  const { id } = await client.register('https://receiver.example.com/hooks', ['*'], {
    description: 'Shop front',
  });
  const { body } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', {
    url: 'https://receiver.example.com/off',
    events: ['*'],
    ordering: 'strict',
  });
  await client.expect(200, 'POST', `/v1/webhooks/${body.id}/disable`);
  await client.expect(201, 'POST', '/v1/contacts', { type: 'email', address: 'ops@example.com' });
  await client.expect(201, 'POST', '/v1/api-keys', { name: 'ci', scopes: ['events:write'] });
  await client.expect(201, 'POST', '/v1/accounts', { id: 'acme', name: 'Acme' });
  await client.expect(200, 'POST', '/v1/accounts/acme/pause', { reason: 'Unpaid' });
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const events = new Queue('events', { connection: portal().stack.redis.client });
  await events.add('no.such_type', { account_id: 'default', id: 'lost', data: {} });
  await events.close();
  paths = [
    '/overview',
    '/deliveries',
    `/deliveries/${eventId}.${id}`,
    '/webhooks',
    `/webhooks/${id}`,
    `/webhooks/${body.id}`,
    `/webhooks/${id}/edit`,
    '/events',
    `/events/${eventId}`,
    '/contacts',
    '/contacts/notifications',
    '/audit-log',
    '/operations',
    '/accounts',
    '/accounts/default',
    '/dead-letters',
  ];
});

/** The longest status, which no worker is there to give a delivery. */
const giveUp = async (page: Page) =>
  await page.route(/\/v1\/deliveries(\?|$)/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll('"pending"', '"exhausted"') });
  });

it.each(['ar', 'de', 'en', 'es', 'fr', 'ja'])(
  'has room for its states, headings, labels and buttons in %s, also in a wider font',
  async (language) => {
    const page = await portal().signIn({
      path: `/overview?language=${language}`,
      capabilities: ['read', 'webhooks', 'redeliver', 'schedule', 'publish', 'transform', 'audit', 'operate'],
      prepare: giveUp,
    });
    await spaceOut(page);
    const widths = [1_280, 390];
    const cut: string[] = [];
    for (const path of paths) {
      await go(page, path);
      await page.waitForURL(`**/portal${path}*`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.locator(LOADING).first().waitFor({ state: 'detached' });
      for (const width of widths)
        cut.push(...(await findCut(page, width)).map((text) => `${path}, ${width} px: ${text}`));
      // The next page begins in the width that this one ends in.
      widths.reverse();
    }
    expect(cut).toEqual([]);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  },
);
