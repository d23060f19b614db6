import { createHmac } from 'node:crypto';
import { createClosables } from '@hookferry/core/testing/closables';
import type { Locator } from 'playwright-core';
import { Receiver } from '../support/receiver';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { go, usePortal } from './support/use-portal';

const portal = usePortal({ environment: { RETRY_SCHEDULE: '1s,1s,1h' } });
const { willClose, closeAll } = createClosables();
afterEach(closeAll);

let sink: SwitchedReceiver;
let webhookId: string;
let secret: string;
let deliveryId: string;

beforeAll(async () => {
  const { client } = portal();
  sink = await startSwitchedReceiver({ status: 503, body: 'down', headers: {} });
  const webhook = { url: sink.receiver.url, events: [QUICK_WIN.type] };
  ({
    body: { id: webhookId, secret },
  } = await client.expect<{ id: string; secret: string }>(201, 'POST', '/v1/webhooks', webhook));
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  deliveryId = `${eventId}.${webhookId}`;
  await until(async () => (await client.readDelivery(deliveryId)).attempt_count === 3 || undefined);
});

afterAll(async () => await sink.receiver.stop());

it('is a time line of what happened, with what is to come', async () => {
  const page = await portal().signIn({ path: `/deliveries/${deliveryId}` });
  const steps = page.getByRole('region', { name: 'Time line' }).getByRole('listitem');
  await until(async () => ((await steps.count()) === 5 ? true : undefined));
  expect(await steps.nth(0).innerText()).toContain('Accepted');
  expect(await steps.nth(1).innerText()).toContain('Attempt 1: HTTP 503');
  expect(await steps.nth(4).innerText()).toMatch(/\+ \d+ min[\s\S]*Attempt 4 is due/);
});

it('has what held it before an attempt', async () => {
  const { client } = portal();
  const own = await Receiver.start();
  willClose({ close: () => own.stop() });
  const { id: webhook } = await client.register(own.url, [BRIEF.type]);
  await client.expect(200, 'POST', `/v1/webhooks/${webhook}/disable`);
  const event = await client.publish(BRIEF.type, BRIEF.data);
  await client.waitForStatus(webhook, event, 'held');
  const heldAt = Date.now();
  await until(async () => Date.now() - heldAt > 1_100 || undefined);
  await client.expect(200, 'POST', `/v1/webhooks/${webhook}/enable`);
  await client.waitForStatus(webhook, event, 'delivered');
  const page = await portal().signIn({ path: `/deliveries/${event}.${webhook}` });
  const steps = page.getByRole('region', { name: 'Time line' }).getByRole('listitem');
  await steps.getByText(/Held for [\d.]+ s: its webhook was disabled/).waitFor();
  expect(await steps.count()).toBe(3);
  // It would ask once more for what is gone then.
  await page.close();
  await client.expect(204, 'DELETE', `/v1/webhooks/${webhook}`);
});

it('has since when it is held, also on the time line of its event', async () => {
  const { client } = portal();
  const own = await Receiver.start();
  willClose({ close: () => own.stop() });
  const { id: webhook } = await client.register(own.url, [BRIEF.type], { description: 'Disabled' });
  await client.expect(200, 'POST', `/v1/webhooks/${webhook}/disable`);
  const event = await client.publish(BRIEF.type, BRIEF.data);
  await client.waitForStatus(webhook, event, 'held');
  const page = await portal().signIn({ path: `/deliveries/${event}.${webhook}` });
  await page.getByText(/Held since .*: Disabled is disabled\. .*No attempt was used/).waitFor();
  const widthOf = async (mark: Locator) => (await mark.boundingBox())?.width ?? 0;
  // It began at once, and lasts.
  await until(async () => (await widthOf(page.locator('[class*=mark][class*=held]'))) > 100 || undefined);
  await checkAccessibility(page);
  await go(page, `/events/${event}`);
  const lane = page
    .getByRole('list', { name: 'Time line' })
    .getByRole('listitem')
    .filter({ hasText: 'Disabled' });
  await until(async () => (await widthOf(lane.locator('[class*=mark][class*=held]'))) > 100 || undefined);
  const list = page.getByRole('table', { name: 'Deliveries' });
  await list.getByText('Disabled').waitFor();
  expect(await list.getByRole('columnheader').allInnerTexts()).not.toContain('Event type');
  await page.close();
  await client.expect(204, 'DELETE', `/v1/webhooks/${webhook}`);
});

it('draws the gaps to scale', async () => {
  const { attempts, next_attempt_at: due } = await portal().client.readDelivery(deliveryId);
  const page = await portal().signIn({ path: `/deliveries/${deliveryId}` });
  const marks = page.locator('[class*=track] > [class*=mark]');
  await until(async () => ((await marks.count()) === 5 ? true : undefined));
  const lefts = await marks.evaluateAll((all) =>
    all.map(
      (one) => (one as unknown as { getBoundingClientRect(): { x: number } }).getBoundingClientRect().x,
    ),
  );
  const [first = 0, , , third = 0, last = 0] = lefts;
  const [, , thirdAt = 0] = attempts.map(({ started_at: at }) => Date.parse(at));
  const { created_at: created } = (await portal().client.readDelivery(deliveryId)) as unknown as {
    created_at: string;
  };
  const share = (thirdAt - Date.parse(created)) / (Date.parse(due ?? '') - Date.parse(created));
  expect((third - first) / (last - first)).toBeCloseTo(share, 2);
});

describe('of an event', () => {
  const eventId = () => deliveryId.slice(0, deliveryId.indexOf('.'));

  it('is a line for itself and one for each delivery, with gaps to scale and what is to come', async () => {
    const { attempts, next_attempt_at: due } = await portal().client.readDelivery(deliveryId);
    const page = await portal().signIn({ path: `/events/${eventId()}` });
    const lanes = page.getByRole('list', { name: 'Time line' }).getByRole('listitem');
    const lane = lanes.filter({ hasText: new URL(sink.receiver.url).host });
    await lane.getByText('3 attempts').waitFor();
    const marks = lane.locator('[class*=mark]');
    await until(async () => ((await marks.count()) === 4 ? true : undefined));
    expect(await lanes.count()).toBe(2);
    const [, second = 0, third = 0, last = 0] = await marks.evaluateAll((all) =>
      all.map(
        (one) => (one as unknown as { getBoundingClientRect(): { x: number } }).getBoundingClientRect().x,
      ),
    );
    const [, secondAt = 0, thirdAt = 0] = attempts.map(({ started_at: at }) => Date.parse(at));
    const share = (thirdAt - secondAt) / (Date.parse(due ?? '') - secondAt);
    expect((third - second) / (last - second)).toBeCloseTo(share, 2);
    await lane.getByRole('link').click();
    await page.waitForURL(`**/portal/deliveries/${deliveryId}`);
  });

  it('is a table as well, by keys alone', async () => {
    const page = await portal().signIn({ path: `/events/${eventId()}` });
    await page.getByText('3 attempts').waitFor();
    await page.getByRole('button', { name: 'As a table' }).focus();
    await page.keyboard.press('Enter');
    const table = page.getByRole('table', { name: 'Time line' });
    await until(async () => ((await table.getByRole('row').count()) === 6 ? true : undefined));
    const texts = await table.getByRole('row').allInnerTexts();
    expect(texts[1]).toMatch(/\+ 0 ms\s+The event\s+Accepted/);
    expect(texts[2]).toMatch(/Attempt 1: HTTP 503/);
    expect(texts[5]).toMatch(/\+ \d+ min\s.*Attempt 4 is due/s);
    await checkAccessibility(page);
    await checkWidth(page);
  });

  it('has the next attempt as soon as it was made', async () => {
    const { client } = portal();
    const own = await startSwitchedReceiver(204);
    willClose({ close: () => own.receiver.stop() });
    const webhook = await client.register(own.receiver.url, [BRIEF.type], { description: 'Later' });
    const event = await client.publish(BRIEF.type, BRIEF.data);
    await client.waitForStatus(webhook.id, event, 'delivered');
    const page = await portal().signIn({ path: `/events/${event}` });
    const lane = page
      .getByRole('list', { name: 'Time line' })
      .getByRole('listitem')
      .filter({ hasText: 'Later' });
    await lane.getByText('1 attempt').waitFor();
    await client.expect(202, 'POST', `/v1/deliveries/${event}.${webhook.id}/redeliver`);
    await lane.getByText('2 attempts').waitFor();
    await until(async () => ((await lane.locator('[class*=mark]').count()) === 2 ? true : undefined));
    await page.close();
    await client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  });

  it('is that of a scheduled event before it is due', async () => {
    const { client } = portal();
    const deliverAt = new Date(Date.now() + 3_600_000).toISOString();
    const event = { type: BRIEF.type, data: BRIEF.data, deliver_at: deliverAt };
    const { body } = await client.expect<{ id: string }>(202, 'POST', '/v1/events', event);
    const page = await portal().signIn({ path: `/events/${body.id}`, width: 360 });
    const lanes = page.getByRole('list', { name: 'Time line' });
    await lanes.getByText('Is due').waitFor();
    await page.getByRole('region', { name: 'Time line' }).getByText('+ 60 min').waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
  });

  it.each([360, 1280])('is accessible in both themes, %d px wide', async (width) => {
    const page = await portal().signIn({ path: `/events/${eventId()}`, width });
    await page.getByText('3 attempts').waitFor();
    await checkAccessibility(page);
    await checkWidth(page);
  });
});

it('has request and response side by side, and below each other on a phone', async () => {
  const page = await portal().signIn({ path: `/deliveries/${deliveryId}` });
  const request = page.getByRole('region', { name: 'Request of attempt 3' });
  const response = page.getByRole('region', { name: 'Response to attempt 3', exact: true });
  await request.getByText('webhook-id').waitFor();
  await response.getByText('down').waitFor();
  const boxes = async () => [await request.boundingBox(), await response.boundingBox()] as const;
  const [sent, received] = await boxes();
  expect(received?.y).toBe(sent?.y);
  expect(received?.x).toBeGreaterThan((sent?.x ?? 0) + (sent?.width ?? 0));
  await page.setViewportSize({ width: 360, height: 740 });
  const [above, below] = await boxes();
  expect(below?.x).toBe(above?.x);
  expect(below?.y).toBeGreaterThan(above?.y ?? 0);
});

it('tells what two attempts differ in, once it is asked for', async () => {
  const page = await portal().signIn({ path: `/deliveries/${deliveryId}` });
  const table = page.getByRole('table', { name: 'Differences' });
  const button = page.getByRole('button', { name: 'Compare two' });
  await button.waitFor();
  expect(await table.count()).toBe(0);
  await button.click();
  await page.getByLabel('First').selectOption('1');
  await table.getByRole('columnheader', { name: 'Attempt 1' }).waitFor();
  // The same response, and another time.
  await table.getByRole('row', { name: /Header date/ }).waitFor();
  expect(await table.getByRole('row', { name: /^(Response|Body|Trigger)/ }).count()).toBe(0);
  await checkAccessibility(page);
  await checkWidth(page);
});

it('tells the address of each attempt, and that two attempts went to different ones', async () => {
  const { client } = portal();
  const [before, after] = [await Receiver.start(() => 503), await Receiver.start(() => 204, '127.0.0.2')];
  for (const receiver of [before, after]) willClose({ close: () => receiver.stop() });
  const webhook = await client.register(before.url, [BRIEF.type], { retry_schedule: ['1h'] });
  const event = await client.publish(BRIEF.type, BRIEF.data);
  const id = `${event}.${webhook.id}`;
  await until(async () => (await client.readDelivery(id)).attempt_count === 1 || undefined);
  await client.expect(200, 'PATCH', `/v1/webhooks/${webhook.id}`, { url: after.url });
  await client.expect(202, 'POST', `/v1/deliveries/${id}/redeliver`);
  await client.waitForStatus(webhook.id, event, 'delivered');

  const page = await portal().signIn({ path: `/deliveries/${id}` });
  await page.getByRole('button', { name: 'Compare two' }).click();
  const row = page.getByRole('table', { name: 'Differences' }).getByRole('row', { name: /Address/ });
  expect(await row.getByRole('cell').allInnerTexts()).toEqual(['127.0.0.1', '127.0.0.2']);
  await page.getByText('Began').filter({ hasText: 'to 127.0.0.2' }).waitFor();
  expect(await page.getByText('It went together with other events').count()).toBe(0);
  await checkAccessibility(page);
});

it('verifies a signature by a secret that goes nowhere', async () => {
  const request = sink.receiver.requests.at(-1);
  const signature = String(request?.headers['webhook-signature']);
  const page = await portal().signIn({ path: `/deliveries/${deliveryId}` });
  const form = page.getByRole('region', { name: 'Verify a signature' });
  await form.getByLabel('Signature, as it was received').fill(signature);
  await form.getByLabel('Secret or public key').fill(secret);
  const asked: string[] = [];
  page.on('request', (one) => asked.push(`${one.url()} ${one.postData()}`));
  await form.getByRole('button', { name: 'Verify' }).click();
  await form.getByText('Valid: it was made with this secret for this event, body and time.').waitFor();

  await form.getByLabel('Attempt').selectOption('1');
  await form.getByRole('button', { name: 'Verify' }).click();
  await form.getByText('Not valid').waitFor();
  const ofBody = createHmac('sha256', secret).update(String(request?.body)).digest('hex');
  await form.getByLabel('Signature, as it was received').fill(`sha256=${ofBody}`);
  await form.getByLabel('Secret or public key').press('Enter');
  await form.getByText('Valid: it was made with this secret for this body.').waitFor();
  expect(asked.filter((text) => text.includes(secret))).toEqual([]);
  expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage, location.href])')).not.toContain(
    secret,
  );
});

async function deliver(settings: object, code?: string) {
  const { client } = portal();
  const own = await startSwitchedReceiver();
  willClose({ close: () => own.receiver.stop() });
  const webhook = { url: own.receiver.url, events: [QUICK_WIN.type], ...settings };
  const { body } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook);
  const address = `/v1/webhooks/${body.id}`;
  if (code !== undefined) await client.expect(201, 'PUT', `${address}/transformation`, { code });
  const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(body.id, event, 'delivered');
  const signature = String(own.receiver.requests.at(-1)?.headers['webhook-signature']);
  return { id: `${event}.${body.id}`, webhook: address, signature };
}

it.each([
  ['a CloudEvent', { format: 'cloudevents_structured' }, undefined],
  ['a CloudEvent in headers', { format: 'cloudevents_binary' }, undefined],
  ['what code made', {}, 'export default (event) => ({ body: { text: event.data.keyword } });'],
] as const)('verifies %s by a secret, and by a public key', async (_what, settings, code) => {
  const { client } = portal();
  const { id, webhook, signature } = await deliver({ ...settings, signing: 'both' }, code);
  const { body: view } = await client.expect<{ secret: string }>(200, 'GET', `${webhook}/secret`);
  const { body: keys } = await client.expect<{ data: { public_key: string }[] }>(
    200,
    'GET',
    '/v1/signing-keys',
  );
  expect(signature).toMatch(/v1,.*v1a,|v1a,.*v1,/);
  const page = await portal().signIn({ path: `/deliveries/${id}` });
  const form = page.getByRole('region', { name: 'Verify a signature' });
  await form.getByLabel('Signature, as it was received').fill(signature);
  await form.getByLabel('Secret or public key').fill(view.secret);
  await form.getByRole('button', { name: 'Verify' }).click();
  await form.getByText('Valid: it was made with this secret for this event, body and time.').waitFor();
  await form.getByLabel('Secret or public key').fill(keys.data[0]?.public_key ?? '');
  await form.getByRole('button', { name: 'Verify' }).click();
  await form.getByText('Valid: it was made with the key pair of this public key').waitFor();
});

it('shows the body before and after a transformation', async () => {
  const { id } = await deliver({}, 'export default () => ({ body: { made: "by code" } });');
  const page = await portal().signIn({ path: `/deliveries/${id}` });
  await page.getByRole('group', { name: 'Data before' }).getByText('rote Schuhe').waitFor();
  await page.getByText('Body, made by version 1 of the transformation').waitFor();
  await page.getByRole('group', { name: 'Body', exact: true }).getByText('by code').first().waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
});

it.each([360, 1280])('is accessible in both themes, %d px wide', async (width) => {
  const page = await portal().signIn({ path: `/deliveries/${deliveryId}`, width });
  await page.getByRole('button', { name: 'Compare two' }).waitFor();
  await page.getByRole('region', { name: 'Verify a signature' }).waitFor();
  await checkAccessibility(page);
  await checkWidth(page);
});

it.each([
  ['a delivery', () => `/deliveries/${deliveryId}`],
  ['an event', () => `/events/${deliveryId.slice(0, deliveryId.indexOf('.'))}`],
])('prints %s on a sheet, with its time line, and without all that steers', async (_what, path) => {
  const page = await portal().signIn({ path: path() });
  await page.locator('[class*=mark][class*=failed]').first().waitFor();
  await page.getByText('"keyword"').first().waitFor();
  await page.emulateMedia({ media: 'print' });
  for (const part of ['navigation', 'banner', 'search', 'form'] as const)
    expect([part, await page.getByRole(part).count()]).toEqual([part, 0]);
  expect(await page.getByRole('button', { name: /Redeliver|Compare|As |Copy/ }).count()).toBe(0);
  expect(await page.getByText('Skip to the content').isVisible()).toBe(false);
  const mark = "document.querySelector('[class*=mark][class*=failed]')";
  const adjusted = `getComputedStyle(${mark}).getPropertyValue('-webkit-print-color-adjust')`;
  expect(await page.evaluate(adjusted)).toBe('exact');
  const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
  expect(pdf.match(/\/Type \/Page\b/g)).toHaveLength(1);
});
