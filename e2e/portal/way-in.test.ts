import { go, usePortal } from './support/use-portal';

const portal = usePortal({
  environment: {
    OPERATOR_NAME: 'Acme',
    PORTAL_ENTRY_URL: 'https://app.example.com/webhooks?account={account}&to={path}',
    PORTAL_SESSION_STORAGE: 'tab',
  },
});

it('leads who has no session to the page that gives one, and back to where they were', async () => {
  const page = await portal().open('/portal/deliveries?status=held');
  await page.getByRole('heading', { level: 1, name: 'Webhooks of Acme' }).waitFor();
  expect(await page.getByRole('link', { name: 'Open it again at Acme' }).getAttribute('href')).toBe(
    'https://app.example.com/webhooks?account=&to=%2Fdeliveries%3Fstatus%3Dheld',
  );
});

it('keeps a session for the tab: a page that is loaded again goes on, and one whose session was revoked does not', async () => {
  const { client } = portal();
  const page = await portal().signIn({ path: '/webhooks' });
  const faults = portal().faultsOf(page);
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  expect(await page.title()).toBe('Webhooks · Webhooks');
  const { body } = await client.expect<{ data: { id: string }[] }>(200, 'GET', '/v1/portal-sessions');
  for (const { id } of body.data) await client.expect(204, 'DELETE', `/v1/portal-sessions/${id}`);
  await go(page, '/contacts');
  faults.expect(/responded with 401/);
  const banner = page.getByRole('alert').filter({ hasText: 'Your session has ended' });
  expect(await banner.getByRole('link').getAttribute('href')).toBe(
    'https://app.example.com/webhooks?account=default&to=%2Fcontacts',
  );
  await page.reload();
  await page.getByRole('link', { name: 'Open it again at Acme' }).waitFor();
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
});

it('gives no session to another tab', async () => {
  const page = await portal().signIn({ path: '/webhooks' });
  const other = await page.context().newPage();
  await other.goto(`${portal().client.baseUrl}/portal/webhooks`);
  await other.getByRole('link', { name: 'Open it again at Acme' }).waitFor();
});

it('has rows that are links: one that is opened in another tab is where the way back leads', async () => {
  const { client } = portal();
  const { id } = await client.register('https://receiver.example.com/hooks', ['*'], {
    description: 'Shop front',
  });
  const page = await portal().signIn({ path: '/webhooks' });
  const row = page.getByRole('table', { name: 'Webhooks' }).getByRole('link', { name: 'Shop front' });
  const opened = page.context().waitForEvent('page');
  await row.click({ modifiers: ['ControlOrMeta'] });
  const tab = await opened;
  const href = await tab.getByRole('link', { name: 'Open it again at Acme' }).getAttribute('href');
  const to = new URL(href ?? '').searchParams.get('to');
  expect(to).toBe(`/webhooks/${id}`);
  expect(new URL(page.url()).pathname).toBe('/portal/webhooks');
  // As the operator's page does it.
  const { body } = await client.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', {});
  await tab.goto('about:blank');
  await tab.goto(`${client.baseUrl}/portal${to}${new URL(body.url).hash}`);
  await tab.getByRole('heading', { level: 1, name: 'Shop front' }).waitFor();
});
