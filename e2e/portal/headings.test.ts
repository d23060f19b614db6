import { capabilities } from '@hookferry/core/domain/account';
import type { Page } from 'playwright-core';
import { QUICK_WIN } from '../support/samples';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { go, usePortal } from './support/use-portal';

const portal = usePortal({});

let sink: SwitchedReceiver;
beforeAll(async () => {
  sink = await startSwitchedReceiver(204);
});
afterAll(async () => await sink.receiver.stop());

async function headingsOf(page: Page): Promise<readonly string[]> {
  return await page.locator('h1').allInnerTexts();
}

/** Goes there by a link, and waits until the page has said what it is. */
async function expectOneHeading(page: Page, path: string, title: string | RegExp): Promise<void> {
  await go(page, path);
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
  await page
    .locator('main :is([aria-busy="true"], [aria-label="Loading"])')
    .first()
    .waitFor({ state: 'detached' });
  expect([path, (await headingsOf(page)).length]).toEqual([path, 1]);
}

it('is one of the first level on every page, which says what it is', async () => {
  const { client } = portal();
  const { id: webhookId } = await client.register(sink.receiver.url, [QUICK_WIN.type], {
    description: 'Warehouse',
  });
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhookId, eventId, 'delivered');
  const failed = { since: '2026-01-01T00:00:00.000Z', mode: 'failed' };
  const { body: replay } = await client.expect<{ id: string }>(
    202,
    'POST',
    `/v1/webhooks/${webhookId}/replays`,
    failed,
  );
  const page = await portal().signIn({ capabilities });

  await expectOneHeading(page, '/overview', 'Overview');
  await expectOneHeading(page, '/deliveries', 'Deliveries');
  await expectOneHeading(page, `/deliveries/${eventId}.${webhookId}`, QUICK_WIN.type);
  await expectOneHeading(page, '/outcomes/http_5xx', 'http_5xx');
  await expectOneHeading(page, '/webhooks', 'Webhooks');
  await expectOneHeading(page, '/webhooks/new', 'New webhook');
  await expectOneHeading(page, `/webhooks/${webhookId}`, 'Warehouse');
  await expectOneHeading(page, `/webhooks/${webhookId}/edit`, /./);
  await expectOneHeading(page, `/webhooks/${webhookId}/transformation`, 'Transformation');
  await expectOneHeading(page, `/webhooks/${webhookId}/replay`, 'Replay');
  await expectOneHeading(page, `/replays/${replay.id}`, 'Replay');
  await expectOneHeading(page, '/event-types', 'Event types');
  await expectOneHeading(page, `/event-types/${QUICK_WIN.type}`, QUICK_WIN.type);
  await expectOneHeading(page, '/events', 'Events');
  await expectOneHeading(page, `/events/${eventId}`, QUICK_WIN.type);
  await expectOneHeading(page, '/contacts', 'Contacts');
  await expectOneHeading(page, '/contacts/notifications', 'Messages');
  await expectOneHeading(page, '/audit-log', 'Audit log');
  await expectOneHeading(page, '/operations', 'Operations');
  await expectOneHeading(page, '/accounts', 'Accounts');
  await expectOneHeading(page, '/accounts/default', 'default');
  await expectOneHeading(page, '/dead-letters', 'Dead letters');
});

it.each([
  ['at no page of ours', '/nowhere', 'There is no such page'],
  ['at a page for operators', '/accounts', 'There is no such page'],
  ['where the link does not lead', '/webhooks/new', 'Your link does not allow this'],
] as const)('is there as well %s, with a way back', async (_where, path, title) => {
  const page = await portal().signIn({ path, capabilities: ['read'] });
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
  expect(await headingsOf(page)).toHaveLength(1);
  await checkAccessibility(page);
  await checkWidth(page);
  await page.getByRole('main').getByRole('link').first().click();
  await page.waitForURL(/\/portal\/(overview|webhooks)$/);
});

it('is there where nobody is signed in, and where a page breaks', async () => {
  const out = await portal().open('/portal/deliveries');
  await out.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  expect(await headingsOf(out)).toHaveLength(1);

  const page = await portal().signIn({ path: '/contacts' });
  portal()
    .faultsOf(page)
    .expect(/uncaught|console/);
  // What no version of the service says: the page can't show it.
  await page.route('**/v1/event-types', async (route) => await route.fulfill({ json: { data: [null] } }));
  await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor();
  await go(page, '/event-types');
  await page.getByRole('heading', { level: 1, name: 'This page does not work' }).waitFor();
  expect(await headingsOf(page)).toHaveLength(1);
  await page.unroute('**/v1/event-types');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: QUICK_WIN.type }).waitFor();
});
