import { BRIEF } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkSteadiness } from './support/check-steadiness';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { usePortal } from './support/use-portal';

const portal = usePortal({ environment: { RETRY_SCHEDULE: '1h' } });

const receivers: SwitchedReceiver[] = [];
const ids: string[] = [];

beforeAll(async () => {
  const { client } = portal();
  receivers.push(
    ...(await Promise.all([204, 500, 503].map(async (status) => await startSwitchedReceiver(status)))),
  );
  for (const [at, name] of ['Is well', 'Fails', 'Fails, too'].entries()) {
    const url = receivers[at]?.receiver.url ?? '';
    ids.push((await client.register(url, [BRIEF.type], { description: name })).id);
  }
  const event = await client.publish(BRIEF.type, BRIEF.data);
  for (const id of ids)
    await until(async () => (await client.readDelivery(`${event}.${id}`)).attempt_count === 1 || undefined);
});

afterAll(async () => {
  await Promise.all(receivers.map(({ receiver }) => receiver.stop()));
});

it('a webhook that is well says when it last accepted something, and how much', async () => {
  const page = await portal().signIn({ path: `/webhooks/${ids[0]}` });
  await page.getByText(/^It accepts its deliveries, the last one (just now|.* ago)\.$/).waitFor();
  await page.getByText('100% of 1 attempt in the last 24 hours was accepted.').waitFor();
  await page.getByText('No event of its types').waitFor({ state: 'detached' });
  await checkSteadiness(page);
});

it('a webhook that fails says how, when it is tried again, and what happens then', async () => {
  const { client } = portal();
  const page = await portal().signIn({ path: `/webhooks/${ids[1]}`, width: 390 });
  await page.getByText(/^Its last attempt failed: HTTP 500, (just now|.* ago)\.$/).waitFor();
  await page.getByText('What failed is sent again by its retry schedule.').waitFor();
  await page.getByText(/If it still fails on .*, it is disabled\./).waitFor();
  await page.getByText('0% of 1 attempt in the last 24 hours was accepted.').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);

  await page.getByText('Live', { exact: true }).waitFor();
  await client.expect(200, 'POST', `/v1/webhooks/${ids[1]}/disable`);
  await page.getByText('Somebody has disabled it.').waitFor();
  await page.getByText('Deliveries are held until somebody enables it.').waitFor();
  await client.publish(BRIEF.type, BRIEF.data);
  await page.getByRole('link', { name: '1 delivery is held.' }).click();
  await page.waitForURL(`**/deliveries?status=held&webhook=${ids[1]}`);
  await page.goBack();
  await client.expect(200, 'POST', `/v1/webhooks/${ids[1]}/enable`);
  await page.getByRole('link', { name: 'HTTP 500' }).first().click();
  await page.waitForURL('**/deliveries/*');
});

it('the number of webhooks that fail leads to as many', async () => {
  const page = await portal().signIn({ path: '/overview' });
  await page.getByRole('link', { name: '2 webhooks fail' }).click();
  await page.waitForURL('**/webhooks?show=failing');
  const table = page.getByRole('table', { name: 'Webhooks' });
  const rows = table.locator('tbody tr[data-index]');
  await until(async () => ((await rows.count()) === 2 ? true : undefined));
  await table.getByText('Fails, too').waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
  await page.getByLabel('Show').selectOption('Disabled after failures');
  await page.getByText('None was disabled because it failed.').waitFor();
  await page.getByLabel('Show').selectOption('All');
  await table.getByText('Is well').waitFor();
  expect(new URL(page.url()).search).toBe('');
});
