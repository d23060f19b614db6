import type { Page } from 'playwright-core';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkSteadiness } from './support/check-steadiness';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { tabTo } from './support/tab-to';
import { go, usePortal } from './support/use-portal';

// Two attempts, and then none for so long that a test has to redeliver by hand.
const portal = usePortal({ environment: { RETRY_SCHEDULE: '1s,1h' } });

let sink: SwitchedReceiver;
let webhookId: string;

beforeAll(async () => {
  sink = await startSwitchedReceiver(500);
  ({ id: webhookId } = await portal().client.register(sink.receiver.url, [BRIEF.type]));
});

afterAll(async () => {
  await sink.receiver.stop();
});

const rowsOf = (page: Page) =>
  page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr[data-index]');
const isLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor();

describe('the list of deliveries', () => {
  it('changes in place as attempts are made, and shows new ones when asked to', async () => {
    const { client } = portal();
    sink.respondWith(500);
    await client.publish(BRIEF.type, BRIEF.data);
    const page = await portal().signIn();
    const first = rowsOf(page).first();
    await first.getByText('HTTP 500').waitFor();
    await isLive(page);

    const eventId = await client.publish(BRIEF.type, BRIEF.data);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    expect(await rowsOf(page).count()).toBe(1);
    await page.getByRole('button', { name: '1 new' }).click();
    await until(async () => ((await rowsOf(page).count()) === 2 ? true : undefined));

    sink.respondWith(204);
    await client.expect(202, 'POST', `/v1/deliveries/${eventId}.${webhookId}/redeliver`);
    await first.getByText('Delivered').waitFor();
    await first.getByText('HTTP 204').waitFor();
    expect(await page.getByRole('button', { name: /new/ }).count()).toBe(0);
  });

  it('keeps what is looked for in its address', async () => {
    const page = await portal().signIn();
    await page.getByLabel('Status').selectOption('Delivered');
    await page.getByLabel('HTTP code').fill('204');
    await page.getByLabel('Webhook').selectOption(webhookId);
    await until(async () => ((await rowsOf(page).count()) === 1 ? true : undefined));
    const { searchParams } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({
      status: 'delivered',
      http: '204',
      webhook: webhookId,
    });
    await page.getByLabel('HTTP code').fill('418');
    await page.getByText('No deliveries').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await until(async () => ((await rowsOf(page).count()) === 2 ? true : undefined));
    expect(new URL(page.url()).search).toBe('');
  });

  it('is searched by what data contain, with the keyboard, and says what is wrong with what is looked for', async () => {
    const { client } = portal();
    const eventId = await client.publish(BRIEF.type, { ...BRIEF.data, brief_id: 'searched "é"' });
    await client.waitForStatus(webhookId, eventId, 'delivered');
    const page = await portal().signIn();
    await rowsOf(page).nth(1).waitFor();
    await tabTo(page, 'Data contain');
    await page.keyboard.type('{brief_id');
    await page.keyboard.press('Enter');
    await page.getByText('This is not JSON.').waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
    expect(new URL(page.url()).search).toBe('');

    const field = page.getByLabel('Data contain');
    await field.fill('{"brief_id":"searched \\"\\u00e9\\""}');
    expect(await page.getByText('This is not JSON.').count()).toBe(0);
    await page.keyboard.press('Enter');
    await until(async () => ((await rowsOf(page).count()) === 1 ? true : undefined));
    await rowsOf(page).first().getByText('Delivered').waitFor();
    expect(new URL(page.url()).searchParams.get('data')).toBe('{"brief_id":"searched \\"\\u00e9\\""}');
    expect(await page.evaluate('document.activeElement.labels[0].textContent')).toBe('Data contain');
    await checkAccessibility(page);

    await field.fill('{"brief_id":"Searched"}');
    await page.keyboard.press('Enter');
    await page.getByText('No event has these data').waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rowsOf(page).nth(1).waitFor();
    expect([await field.inputValue(), new URL(page.url()).search]).toEqual(['', '']);

    await go(page, '/deliveries?data=[1]');
    await page.getByText('This is not a JSON object.').waitFor();
    expect(await field.inputValue()).toBe('[1]');
  });

  it('keeps a range of time in its address so that it is the same range in another zone', async () => {
    const tokyo = await portal().signIn({ timezone: 'Asia/Tokyo' });
    await tokyo.getByLabel('Accepted').selectOption('From … to');
    await tokyo.getByLabel('From').fill('2029-12-24T21:00');
    // Digit by digit, as people do: each is a time of its own.
    await tokyo.getByLabel('From').pressSequentially('01312030');
    await until(async () => (/since=2030/.test(tokyo.url()) ? true : undefined));
    expect(await tokyo.getByLabel('From').inputValue()).toBe('2030-01-31T21:00');
    const { searchParams, search } = new URL(tokyo.url());
    expect(searchParams.get('since')).toBe('2030-01-31T12:00:00.000Z');

    const lima = await portal().signIn({ timezone: 'America/Lima' });
    const asked = lima.waitForRequest((request) => new URL(request.url()).searchParams.has('since'));
    await go(lima, `/deliveries${search}`);
    expect(new URL((await asked).url()).searchParams.get('since')).toBe('2030-01-31T12:00:00.000Z');
    expect(await lima.getByLabel('From').inputValue()).toBe('2030-01-31T07:00');
    // As it was kept before.
    const before = lima.waitForRequest((request) =>
      decodeURIComponent(request.url()).includes('2030-01-31T11:00'),
    );
    await go(lima, '/deliveries?range=custom&since=2030-01-31T06:00');
    await before;
    expect(await lima.getByLabel('From').inputValue()).toBe('2030-01-31T06:00');
  });

  it('names webhooks by what people call them, and offers every one of them', async () => {
    const { client } = portal();
    const account = { 'x-account-id': 'many' };
    await client.expect(201, 'POST', '/v1/accounts', { id: 'many' });
    const register = async (description: string) =>
      await client.expect<{ id: string }>(
        201,
        'POST',
        '/v1/webhooks',
        { url: sink.receiver.url, events: [BRIEF.type], description },
        account,
      );
    const { body } = await register(`First ${'of a long name '.repeat(10)}`.trim());
    // More than one page of the API has.
    await Promise.all(Array.from({ length: 204 }, (_, index) => register(`Other ${index}`)));
    await client.expect(202, 'POST', '/v1/events', { type: BRIEF.type, data: BRIEF.data }, account);
    const page = await portal().signIn({ account_id: 'many' });
    await page
      .getByLabel('Webhook')
      .locator('option', { hasText: 'Other 203' })
      .waitFor({ state: 'attached' });
    expect(await page.getByLabel('Webhook').locator('option').count()).toBe(206);
    await rowsOf(page).first().getByText('Other').waitFor();
    await checkSteadiness(page);
    await checkWidth(page);
    await page.getByLabel('Webhook').selectOption(body.id);
    await until(async () => ((await rowsOf(page).count()) === 1 ? true : undefined));
  });

  it('leads to what has an id', async () => {
    const page = await portal().signIn();
    const search = page.getByRole('searchbox', { name: 'Find' });
    await search.fill('no/id');
    await search.press('Enter');
    await page.getByText('Nothing found').waitFor();
    await search.fill(` ${webhookId} `);
    await search.press('Enter');
    await page.waitForURL(`**/portal/webhooks/${webhookId}`);
  });

  it('leads to what has a name of somebody’s own, an event or a webhook, and says when nothing has it', async () => {
    const { client } = portal();
    await client.expect(202, 'POST', '/v1/events', { ...QUICK_WIN, id: 'order-4711' });
    const webhook = { url: sink.receiver.url, events: [QUICK_WIN.type], uid: 'crm' };
    const { body } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook);
    const page = await portal().signIn();
    const search = page.getByRole('searchbox', { name: 'Find' });
    const goTo = async (name: string) => {
      await go(page, '/deliveries');
      await search.fill(name);
      await search.press('Enter');
    };
    await goTo('order-4711');
    await page.waitForURL('**/portal/events/order-4711');
    await goTo('nothing');
    await page.getByText('Nothing found').waitFor();
    // All of its page is read before it is deleted.
    const isRead = Promise.all(
      ['', '/replays?limit=5'].map((rest) => page.waitForResponse(`**/v1/webhooks/${body.id}${rest}`)),
    );
    await goTo('crm');
    await page.waitForURL(`**/portal/webhooks/${body.id}`);
    await isRead;
    portal()
      .faultsOf(page)
      .expect(/responded with 404: GET .*\/events\/(nothing|crm)$/);
    // Its page would look again when it learns of the deletion.
    await go(page, '/deliveries');
    await rowsOf(page).first().waitFor();
    await client.expect(204, 'DELETE', `/v1/webhooks/${body.id}`);
  });

  it('can be walked through and opened by keys alone', async () => {
    const { client } = portal();
    await Promise.all(Array.from({ length: 60 }, () => client.publish(BRIEF.type, BRIEF.data)));
    const page = await portal().signIn();
    await rowsOf(page).nth(5).waitFor();
    const indexOfFocus = async () =>
      await page.evaluate(`document.activeElement.closest('tr')?.dataset.index ?? 'elsewhere'`);
    await rowsOf(page).first().getByRole('link').focus();
    await page.keyboard.press('ArrowDown');
    await until(async () => ((await indexOfFocus()) === '1' ? true : undefined));
    await page.keyboard.press('End');
    await until(async () => (Number(await indexOfFocus()) >= 49 ? true : undefined));
    await page.keyboard.press('Home');
    await until(async () => ((await indexOfFocus()) === '0' ? true : undefined));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: BRIEF.type }).waitFor();
    // Not all sixty were drawn at once.
    await page.goBack();
    await rowsOf(page).first().waitFor();
    expect(await rowsOf(page).count()).toBeLessThan(45);
  });

  it('asks for nothing while its tab is hidden, and catches up afterwards', async () => {
    const { client } = portal();
    sink.respondWith(204);
    const page = await portal().signIn();
    await isLive(page);
    await hide(page, true);
    await page.getByText('Not live').waitFor();
    const asked: string[] = [];
    // The code of other pages is loaded once, when there is nothing else to do.
    page.on('request', (request) => {
      if (request.url().includes('/v1/')) asked.push(request.url());
    });
    const eventId = await client.publish(BRIEF.type, BRIEF.data);
    await client.waitForStatus(webhookId, eventId, 'delivered');
    expect(asked).toEqual([]);
    await hide(page, false);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    expect(asked.length).toBeGreaterThan(0);
  });

  it('does not move while it loads', async () => {
    const page = await portal().signIn({ path: '/deliveries' });
    await rowsOf(page).first().waitFor();
    await isLive(page);
    await checkSteadiness(page);
  });

  it('tells what being live means to a pointer, to the keyboard and to a finger, until it is elsewhere', async () => {
    const page = await portal().signIn({ hasTouch: true });
    const meaning = page.getByText('Changes are shown as they happen').filter({ visible: true });
    const indicator = page.getByRole('button', {
      name: 'Live',
      description: 'Changes are shown as they happen',
    });
    await indicator.hover();
    await meaning.waitFor();
    await page.mouse.move(0, 0);
    await meaning.waitFor({ state: 'detached' });
    await indicator.focus();
    await meaning.waitFor();
    await checkAccessibility(page);
    await page.keyboard.press('Escape');
    await meaning.waitFor({ state: 'detached' });
    await indicator.tap();
    await meaning.waitFor();
    await page.getByRole('heading', { level: 1 }).tap();
    await meaning.waitFor({ state: 'detached' });
  });

  it('tells how long ago, and exactly in the row that has the focus', async () => {
    const { client } = portal();
    sink.respondWith(204);
    const eventId = await client.publish(BRIEF.type, BRIEF.data);
    await client.waitForStatus(webhookId, eventId, 'delivered');
    const page = await portal().signIn({ timezone: 'Asia/Tokyo' });
    const time = rowsOf(page).first().locator('time');
    await time.getByText(/^(just now|\d+ (s|min) ago)$/).waitFor();
    const at = await time.getAttribute('datetime');
    await page.getByText(`${at?.replace('T', ' ').replace('Z', '')} UTC`).waitFor({ state: 'detached' });
    await tabTo(page, BRIEF.type);
    await page.getByText(`${at?.replace('T', ' ').replace('Z', '')} UTC`).waitFor();
    await page.getByText(/GMT\+9$/).waitFor();
    await checkAccessibility(page);
  });

  it('is accessible in both themes, and fits a phone, where it begins in the upper half', async () => {
    const page = await portal().signIn({ width: 360 });
    await page.setViewportSize({ width: 390, height: 844 });
    await rowsOf(page).first().waitFor();
    expect((await rowsOf(page).first().boundingBox())?.y).toBeLessThan(844 / 2);
    await rowsOf(page)
      .first()
      .getByText(/^HTTP \d+$/)
      .waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    await page.getByLabel('Outcome').selectOption('HTTP 5xx');
    await page.getByRole('button', { name: 'Filters (1)', exact: true }).waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
  });

  it('leads to the other pages by a menu on a phone, which Escape closes', async () => {
    const page = await portal().signIn({ width: 360 });
    await rowsOf(page).first().waitFor();
    const menu = page.getByRole('button', { name: 'Menu' });
    const link = page.getByRole('link', { name: 'Webhooks', exact: true });
    expect(await link.count()).toBe(0);
    await menu.click();
    await link.waitFor();
    await checkAccessibility(page);
    await page.keyboard.press('Escape');
    await link.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Menu');
    await menu.click();
    await link.click();
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
    expect(await link.count()).toBe(0);
    await menu.click();
    await page.getByLabel('Theme').selectOption('Dark theme');
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
  });
});

describe('one delivery', () => {
  it('says that it waits for as long as its receiver asked', async () => {
    const { client } = portal();
    sink.respondWith({ status: 429, body: '', headers: { 'retry-after': '600' } });
    const eventId = await client.publish(BRIEF.type, BRIEF.data);
    const page = await portal().signIn({ path: `/deliveries/${eventId}.${webhookId}` });
    await page
      .getByText(/Attempt 1 failed \(HTTP 429\)\. .*: the receiver asked for that \(Retry-After: 600\)/)
      .waitFor();
    await page.getByText('Give the webhook a rate limit').waitFor();
  });

  it('says why it failed and what comes next, is redelivered by hand, and shows what comes of it', async () => {
    const { client } = portal();
    sink.respondWith({ status: 503, body: '<b>down</b> for now', headers: { 'content-type': 'text/html' } });
    const eventId = await client.publish(BRIEF.type, BRIEF.data);
    const page = await portal().signIn({ path: `/deliveries/${eventId}.${webhookId}` });
    await page.getByText('Attempt 3 is due').first().waitFor();
    await page.getByText(/Attempt 2 failed \(HTTP 503\)\. .*, by the retry schedule/).waitFor();
    const attempt = page.locator('details', { hasText: 'Attempt 2' });
    await attempt.getByText('HTTP 503').first().waitFor();
    await attempt.getByText('<b>down</b> for now').waitFor();
    await attempt.getByRole('rowheader', { name: 'First byte' }).waitFor();
    await isLive(page);

    sink.respondWith(204);
    await page.getByRole('button', { name: 'Redeliver' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Redeliver' }).click();
    await page.getByText('Redelivered: HTTP 204, delivered').waitFor();
    await page.getByRole('heading', { name: 'Attempts (3)' }).waitFor();
    await page.getByText(/^Delivered: .* accepted it \(HTTP 204, attempt 3\)/).waitFor();
  });

  it('is redelivered by the keyboard alone, from the list on', async () => {
    const { client } = portal();
    sink.respondWith(500);
    const eventId = await client.publish(BRIEF.type, BRIEF.data);
    await client.waitForStatus(webhookId, eventId, 'pending');
    const page = await portal().signIn();
    await rowsOf(page).first().getByText('HTTP 500').waitFor();
    sink.respondWith(204);
    await until(async () => {
      await page.keyboard.press('Tab');
      return (await page.evaluate(`document.activeElement.matches('tr[data-index="0"] a')`)) || undefined;
    });
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Redeliver' }).waitFor();
    await tabTo(page, 'Redeliver');
    await page.keyboard.press('Enter');
    // The focus is within, and stays there. Until it has moved, it is on the other button of this name.
    await page.locator('[role=alertdialog]:focus-within').waitFor();
    await tabTo(page, 'Redeliver');
    await page.keyboard.press('Enter');
    await page.getByText('Redelivered: HTTP 204, delivered').waitFor();
    await client.waitForStatus(webhookId, eventId, 'delivered');
  });

  it('leads to what its outcome means', async () => {
    const page = await portal().signIn();
    await page.getByLabel('Outcome').selectOption('HTTP 5xx');
    await page.getByRole('button', { name: 'Clear filters' }).waitFor();
    await rowsOf(page).first().click();
    await page.getByRole('link', { name: 'More about this' }).click();
    await page.waitForURL('**/portal/outcomes/http_5xx');
    await page.getByText('The receiver failed while it handled the request. Look at its log').waitFor();
    // Settings are for operators.
    expect(await page.getByText('DELIVERY_').count()).toBe(0);
    await checkAccessibility(page);
  });

  it('says what holds it', async () => {
    const { client } = portal();
    const held = await client.register(sink.receiver.url, [QUICK_WIN.type]);
    await client.expect(200, 'POST', `/v1/webhooks/${held.id}/disable`);
    const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await client.waitForStatus(held.id, eventId, 'held');
    const page = await portal().signIn({ path: `/deliveries/${eventId}.${held.id}` });
    await page.getByText(/Held since .* is disabled\. .*No attempt was used/).waitFor();
    const steps = page.getByRole('region', { name: 'Time line' }).getByRole('listitem');
    await steps.nth(1).getByText('Held: its webhook is disabled').waitFor();
    await page.getByText('rote Schuhe 👟 — \\"günstig\\"').waitFor();
    await checkAccessibility(page);
  });

  it('has each header before its value, from left to right, where the page runs from right to left', async () => {
    const { client } = portal();
    const eventId = await client.publish(BRIEF.type, BRIEF.data);
    const page = await portal().signIn({ path: `/deliveries/${eventId}.${webhookId}?language=ar` });
    const name = page.getByRole('rowheader', { name: 'content-type' }).first();
    const value = page.getByRole('cell', { name: 'application/json' }).first();
    const [nameBox, valueBox] = [await name.boundingBox(), await value.boundingBox()];
    expect(nameBox?.x).toBeLessThan(valueBox?.x ?? 0);
  });

  it('can’t be redelivered by a session that may not', async () => {
    const page = await portal().signIn({ capabilities: ['read'] });
    await rowsOf(page).first().click();
    await page.getByRole('heading', { name: 'Body of the request' }).waitFor();
    expect(await page.getByRole('button', { name: 'Redeliver' }).count()).toBe(0);
  });

  it('says so when it isn’t there', async () => {
    const page = await portal().signIn();
    portal()
      .faultsOf(page)
      .expect(/responded with 404/);
    await go(page, `/deliveries/evt_none.${webhookId}`);
    await page.getByText('It may have been deleted').waitFor();
    await page.getByText(/^req_/).waitFor();
  });

  it('is accessible in both themes, and fits a phone', async () => {
    const page = await portal().signIn({ width: 360 });
    await rowsOf(page).first().click();
    await page.getByRole('heading', { name: 'Body of the request' }).waitFor();
    await page.getByText('"data"').first().waitFor();
    await checkSteadiness(page);
    await checkAccessibility(page);
    await checkWidth(page);
  });
});

/** What a browser does when somebody goes to another tab, or comes back. */
async function hide(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${isHidden ? 'hidden' : 'visible'}' });
    document.dispatchEvent(new Event('visibilitychange'));
  `);
}
