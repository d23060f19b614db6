import { QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkSteadiness } from './support/check-steadiness';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { usePortal } from './support/use-portal';

const portal = usePortal();
const CAPABILITIES = ['read', 'schedule'] as const;
const HOUR_MS = 3_600_000;

let sink: SwitchedReceiver;
let webhookId: string;
beforeAll(async () => {
  sink = await startSwitchedReceiver();
  webhookId = (await portal().client.register(sink.receiver.url, ['keyword.*'])).id;
});
afterAll(async () => await sink.receiver.stop());

async function schedule(inMs: number): Promise<string> {
  const deliverAt = new Date(Date.now() + inMs).toISOString();
  const body = { ...QUICK_WIN, deliver_at: deliverAt };
  return (await portal().client.expect<{ id: string }>(202, 'POST', '/v1/events', body)).body.id;
}

const read = async (id: string) =>
  (await portal().client.expect<{ status: string; deliver_at: string }>(200, 'GET', `/v1/events/${id}`)).body;

it('lists what is scheduled, the next one first, and counts down to it', async () => {
  const [late, soon] = [await schedule(75 * HOUR_MS), await schedule(2 * HOUR_MS)];
  const page = await portal().signIn({ path: '/events?status=scheduled', capabilities: CAPABILITIES });
  const rows = page.getByRole('table', { name: 'Scheduled events' }).locator('tbody tr[data-index]');
  await rows
    .filter({ hasText: late.slice(-6) })
    .getByText('3 d 2 h')
    .waitFor();
  const first = rows.first();
  await first.getByText(soon.slice(-6)).waitFor();
  const before = await first.getByText(/^1:59:\d\d$/).innerText();
  await until(async () => ((await first.getByText(before).count()) === 0 ? true : undefined));
  await checkSteadiness(page);
  await checkAccessibility(page);
  await checkWidth(page);

  await page.getByLabel('Show', { exact: true }).selectOption('published events');
  await page.getByRole('table', { name: 'Events' }).or(page.getByText('No such events')).waitFor();
  await page.getByLabel('Show', { exact: true }).selectOption('scheduled');
  expect(new URL(page.url()).search).toBe('?status=scheduled');
  await page.getByLabel('Due from').fill('2200-01-01T00:00');
  await page.getByText('Nothing is scheduled').waitFor();
  await checkAccessibility(page);
});

it('moves an event to another time', async () => {
  const id = await schedule(HOUR_MS);
  const page = await portal().signIn({
    path: '/events?status=scheduled',
    capabilities: CAPABILITIES,
    timezone: 'UTC',
  });
  await page.getByRole('button', { name: `Move ${QUICK_WIN.type}, ${id}` }).click();
  const at = new Date(Date.now() + 50 * HOUR_MS).toISOString().slice(0, 19);
  await page.getByLabel('Send it at').fill(at);
  await checkAccessibility(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
  await page.getByText(/^It is now due /).waitFor();
  expect((await read(id)).deliver_at).toBe(`${at}.000Z`);
  await page
    .getByRole('row')
    .filter({ hasText: id.slice(-6) })
    .getByText(/2 d/)
    .waitFor();
});

it('publishes an event for later, of a type that a webhook subscribes to', async () => {
  const page = await portal().signIn({
    path: '/events',
    capabilities: ['read', 'publish', 'schedule'],
    timezone: 'UTC',
  });
  await page.getByRole('button', { name: 'Publish an event' }).click();
  const dialog = page.getByRole('dialog', { name: 'Publish an event' });
  const type = dialog.getByLabel('Event type');
  await until(async () => ((await type.inputValue()).startsWith('keyword.') ? true : undefined));
  const at = new Date(Date.now() + 50 * HOUR_MS).toISOString().slice(0, 16);
  await dialog.getByLabel('Deliver at').fill(at);
  await checkAccessibility(page);
  await checkWidth(page);
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await page.waitForURL(/\/portal\/events\/evt_/);
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  expect(await read(id)).toMatchObject({ status: 'scheduled', deliver_at: `${at}:00.000Z` });
});

it('cancels an event from its page, which then says so', async () => {
  const id = await schedule(HOUR_MS);
  const page = await portal().signIn({ path: `/events/${id}`, capabilities: CAPABILITIES });
  await page.getByText(/Scheduled$/).waitFor();
  await page.getByText(/^in \d+:\d\d/).waitFor();
  await page
    .getByText('It is sent to the webhooks that are subscribed to its type when it is due.')
    .waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
  await page.getByRole('button', { name: /^Cancel / }).click();
  await checkAccessibility(page);
  await page.getByRole('button', { name: 'Cancel the event' }).click();
  await page.getByText('It was cancelled: it is not delivered.').waitFor();
  await page.getByText(/^.Cancelled$/).waitFor();
  await page.getByText('It was cancelled before it was due.').waitFor();
  expect((await read(id)).status).toBe('cancelled');
});

it('says that it was too late when an event has become due meanwhile', async () => {
  const id = await schedule(HOUR_MS);
  const page = await portal().signIn({ path: '/events?status=scheduled', capabilities: CAPABILITIES });
  await page.getByRole('button', { name: `Cancel ${QUICK_WIN.type}, ${id}` }).click();
  await portal().client.expect(200, 'PATCH', `/v1/events/${id}`, { deliver_at: new Date().toISOString() });
  await portal().client.waitForStatus(webhookId, id, 'delivered');
  // A viewer who comes back to the page reads the list anew: the row goes, and the question stays.
  await until(async () => {
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);
    return (await page.getByText(id.slice(-6)).count()) === 0 ? true : undefined;
  });
  await page.getByRole('button', { name: 'Cancel the event' }).click();
  await page.getByRole('alert').getByText('It is due already, so it could not be changed.').waitFor();
  await portal()
    .faultsOf(page)
    .waitFor(/responded with 409: DELETE/);
});

it('shows an event as sent once its time has come', async () => {
  const id = await schedule(4_000);
  const page = await portal().signIn({ path: `/events/${id}`, capabilities: CAPABILITIES });
  await page.getByText(/Scheduled$/).waitFor();
  await page.getByRole('term').filter({ hasText: 'Was due' }).waitFor();
  await page.getByRole('button', { name: '1 new' }).click();
  await page.getByRole('table', { name: 'Deliveries' }).getByText('Delivered').waitFor();
});

it('offers neither to a session that may not, and the API refuses it both', async () => {
  const id = await schedule(HOUR_MS);
  const page = await portal().signIn({
    path: `/events/${id}`,
    capabilities: ['read', 'webhooks', 'redeliver'],
  });
  await page.getByText(/Scheduled$/).waitFor();
  expect(await page.getByRole('button', { name: /^(Move|Cancel) / }).count()).toBe(0);
});

it.each([360, 1280])('is accessible in both themes, %d px wide', async (width) => {
  await schedule(HOUR_MS);
  const page = await portal().signIn({ path: '/events?status=scheduled', capabilities: CAPABILITIES, width });
  await page
    .getByRole('table', { name: 'Scheduled events' })
    .locator('tbody tr[data-index]')
    .first()
    .waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
});
