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
