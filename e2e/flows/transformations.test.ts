import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { until } from '../support/until';

let client: ApiClient;
let receiver: Receiver;
let webhook: string;
let status: number;
beforeEach(async () => {
  client = await openAccount();
  status = 200;
  receiver = await Receiver.start(() => status);
  const wanted = { url: receiver.url, events: [QUICK_WIN.type], retry_schedule: ['1s', '1s'] };
  const { body } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', wanted);
  webhook = body.id;
});
afterEach(() => receiver.stop());

interface Transformation {
  readonly version: number;
  readonly code: string;
  readonly enabled: boolean;
  readonly saved_by_name: string | null;
}

interface ShownDelivery {
  readonly status: string;
  readonly attempts: readonly { readonly outcome: string }[];
}

async function put(code: string, enabled = true): Promise<Transformation> {
  const path = `/v1/webhooks/${webhook}/transformation`;
  return (await client.request<Transformation>('PUT', path, { code, enabled })).body;
}

async function readDelivery(event: string): Promise<ShownDelivery> {
  return (await client.expect<ShownDelivery>(200, 'GET', `/v1/deliveries/${event}.${webhook}`)).body;
}

const bodies = () => receiver.requests.map(({ body }) => body.toString());

const TEXT = 'export default ({ type, data }) => ({ body: { text: `${type}: ${data.keyword}` } });';

it('sends what the code makes of an event, and keeps the event as it was published', async () => {
  await put(TEXT);
  const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhook, event, 'delivered');
  const sent = JSON.stringify({ text: `${QUICK_WIN.type}: ${QUICK_WIN.data.keyword}` });
  expect(bodies()).toEqual([sent]);
  expect(await readDelivery(event)).toMatchObject({
    attempts: [{ outcome: 'delivered', request_body: sent, transformation_version: 1 }],
  });
  const { body: stored } = await client.expect(200, 'GET', `/v1/events/${event}`);
  expect(stored).toMatchObject({ type: QUICK_WIN.type, data: QUICK_WIN.data });
});

it('retries the same bytes although the code has changed, and makes them anew when it is sent once more', async () => {
  status = 500;
  await put(TEXT);
  const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await receiver.waitFor(1);
  await put('export default () => ({ body: "changed" });');
  status = 200;
  await client.waitForStatus(webhook, event, 'delivered');
  const [first, ...others] = bodies();
  expect(new Set(others)).toEqual(new Set([first]));

  const before = receiver.requests.length;
  await client.expect(202, 'POST', `/v1/deliveries/${event}.${webhook}/redeliver`);
  await receiver.waitFor(before + 1);
  expect(bodies().at(-1)).toBe('"changed"');
});

it('records what is wrong with the code as an attempt, and delivers once it is mended', async () => {
  await put('export default (event) => {\n  return { body: event.data.no.such };\n};');
  const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const failed = await until(async () => {
    const delivery = await readDelivery(event).catch(() => undefined);
    return delivery && delivery.attempts.length > 0 ? delivery : undefined;
  });
  expect(failed).toMatchObject({
    attempts: expect.arrayContaining([
      expect.objectContaining({
        outcome: 'transform_error',
        error: expect.stringMatching(/^line 2/),
        request_body: null,
      }),
    ]),
  });
  expect(receiver.requests).toEqual([]);
  await put(TEXT);
  await client.waitForStatus(webhook, event, 'delivered');
});

it('ends a delivery that the code cancels, and sends as published where it is switched off or removed', async () => {
  await put('export default ({ data }) => (data.position > 3 ? { cancel: true } : { body: data.position });');
  const far = await client.publish(QUICK_WIN.type, { ...QUICK_WIN.data, position: 50 });
  await client.waitForStatus(webhook, far, 'cancelled');
  expect(await readDelivery(far)).toMatchObject({ cancel_reason: 'transformation', attempts: [] });
  expect(receiver.requests).toEqual([]);

  await put(TEXT, false);
  const off = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhook, off, 'delivered');
  await client.expect(204, 'DELETE', `/v1/webhooks/${webhook}/transformation`);
  await client.expect(404, 'GET', `/v1/webhooks/${webhook}/transformation`);
  const removed = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhook, removed, 'delivered');
  const published = JSON.stringify(QUICK_WIN);
  expect(bodies()).toEqual([published, published]);
});

it('forges no member of a CloudEvent', async () => {
  await client.expect(200, 'PATCH', `/v1/webhooks/${webhook}`, { format: 'cloudevents_structured' });
  await put(
    `export default () => ({ body: '1,"id":"forged"', headers: { 'content-type': 'application/json' } });`,
  );
  const forged = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await until(async () => {
    const { attempts } = await readDelivery(forged);
    return attempts.some(({ outcome }) => outcome === 'transform_error') || undefined;
  });
  await put(`export default () => ({ body: '1,"id":"forged"', headers: { 'content-type': 'text/plain' } });`);
  await client.waitForStatus(webhook, forged, 'delivered');
  expect(JSON.parse(bodies()[0] ?? '')).toMatchObject({ id: forged, data: '1,"id":"forged"' });
});

it('refuses code that can not be loaded, says where, and keeps what was there', async () => {
  await put(TEXT);
  const path = `/v1/webhooks/${webhook}/transformation`;
  const { body } = await client.expect(422, 'PUT', path, {
    code: 'export default (event) => {\n  return ;;{ body: ]\n}',
  });
  expect(body).toMatchObject({ errors: [{ pointer: '/code', detail: expect.stringMatching(/^line 2/) }] });
  await client.expect(422, 'PUT', path, { code: 'const a = 1;' });
  await client.expect(422, 'PUT', path, { code: 'x'.repeat(64 * 1024 + 1) });
  expect((await client.expect(200, 'GET', path)).body).toMatchObject({
    version: 1,
    code: TEXT,
    enabled: true,
  });
});

it('keeps versions, and goes back to one', async () => {
  await put(TEXT);
  await put('export default () => ({ body: 2 });');
  const path = `/v1/webhooks/${webhook}/transformation/versions`;
  const { body: restored } = await client.expect(200, 'POST', `${path}/1/restore`);
  expect(restored).toMatchObject({ version: 3, code: TEXT, enabled: true });
  const { body } = await client.expect<{ data: Transformation[] }>(200, 'GET', path);
  expect(body.data.map(({ version }) => version)).toEqual([3, 2, 1]);
  // The name of the key.
  expect(body.data.map(({ saved_by_name }) => saved_by_name)).toEqual(['flow', 'flow', 'flow']);
  await client.expect(404, 'POST', `${path}/9/restore`);
});

it('tries code on an example, an event of its own and a stored one, and sends nothing', async () => {
  const event = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhook, event, 'delivered');
  const code = 'export default ({ id, type }) => { console.log(type); return { body: id }; };';
  const attempt = async (source: object, path = '/v1/transformations/try') =>
    (await client.expect(200, 'POST', path, { code, ...source })).body;
  expect(await attempt({ event_id: event })).toMatchObject({
    outcome: 'made',
    body: `"${event}"`,
    logs: [QUICK_WIN.type],
  });
  expect(await attempt({ event_type: QUICK_WIN.type })).toMatchObject({ logs: [QUICK_WIN.type] });
  const given = { event: { type: 'a.b', data: [1] } };
  expect(await attempt(given, `/v1/webhooks/${webhook}/transformation/try`)).toMatchObject({ logs: ['a.b'] });
  const loop = { code: 'export default () => { for (;;) {} };' };
  expect(await attempt({ ...loop, event_type: QUICK_WIN.type })).toMatchObject({
    outcome: 'failed',
    error: { message: 'It took longer than 50 ms.' },
  });
  expect(receiver.requests).toHaveLength(1);
});
