import { verify } from '@hookferry/receiver';
import type { Webhook } from '../support/api-client';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

let stack: Stack;
let receivers: Receiver[];
beforeEach(() => {
  receivers = [];
});
afterEach(async () => {
  await stack.stop();
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});

/** A receiver that is ill until it is healed. */
async function startIll(): Promise<{ receiver: Receiver; heal: () => void }> {
  let status = 500;
  const receiver = await startReceiver(() => status);
  return {
    receiver,
    heal() {
      status = 204;
    },
  };
}

async function startReceiver(reply?: () => number): Promise<Receiver> {
  const receiver = await Receiver.start(reply);
  receivers.push(receiver);
  return receiver;
}

async function publish(): Promise<string> {
  return await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
}

interface WebhookView {
  readonly status: string;
  readonly health: Readonly<Record<string, unknown>>;
}

async function readWebhook(id: string): Promise<WebhookView> {
  return (await stack.client.expect<WebhookView>(200, 'GET', `/v1/webhooks/${id}`)).body;
}

interface Told {
  readonly type: string;
  readonly data: Record<string, unknown>;
}

const toldBy = ({ body }: ReceivedRequest): Told => JSON.parse(body.toString()) as Told;
const typesAt = ({ requests }: Receiver) => requests.map((request) => toldBy(request).type);

async function untilTold(receiver: Receiver, type: string): Promise<Told> {
  return await until(async () => receiver.requests.map(toldBy).find((told) => told.type === type));
}

/** Fails at the first request that is not. */
async function expectAllSigned({ requests }: Receiver, { secret }: Webhook): Promise<void> {
  for (const { headers, body } of requests) await verify({ secret, headers, body });
}

it('disables an endpoint that has failed for too long, tells so, and delivers what was held once it is enabled', async () => {
  stack = await Stack.start({
    environment: {
      RETRY_SCHEDULE: Array(30).fill('200ms').join(','),
      DISABLE_AFTER: '2s',
      DISABLE_FAILURE_SPAN: '200ms',
    },
  });
  const { receiver, heal } = await startIll();
  const [observer, bystander] = [await startReceiver(), await startReceiver()];
  const webhook = await stack.client.register(receiver.url);
  const observing = await stack.client.register(observer.url, ['webhook.*']);
  await stack.client.register(bystander.url, ['*']);
  const eventIds = await Promise.all([publish(), publish(), publish()]);

  const disabled = await until(async () => {
    const read = await readWebhook(webhook.id);
    return read.status === 'disabled' && read.health.held === 3 ? read : undefined;
  });
  expect(disabled).toMatchObject({ disabled_reason: 'failing', health: { last_success_at: null } });
  expect(await untilTold(observer, 'webhook.disabled')).toMatchObject({
    data: { webhook_id: webhook.id, url: receiver.url, reason: 'failing' },
  });

  heal();
  await stack.client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/enable`);
  for (const eventId of eventIds) await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
  const health = await until(async () => {
    const read = await readWebhook(webhook.id);
    return read.health.last_success_at === null ? undefined : read.health;
  });
  expect(health).toMatchObject({ breaker: 'closed', held: 0 });
  expect(health.success_rate).toBeGreaterThan(0);
  expect(health.success_rate).toBeLessThan(1);

  expect(typesAt(observer).filter((type) => type === 'webhook.disabled')).toHaveLength(1);
  await expectAllSigned(observer, observing);
  await bystander.waitFor(3);
  expect(typesAt(bystander)).toEqual(Array(3).fill(QUICK_WIN.type));
});

it('tells an account once what happens to its webhooks, if it asks for that by name', async () => {
  stack = await Stack.start({
    environment: { RETRY_SCHEDULE: '20ms,20ms,20ms,20ms', DISABLE_AFTER: 'never' },
  });
  const { receiver, heal } = await startIll();
  const [observer, bystander] = [await startReceiver(), await startReceiver()];
  const webhook = await stack.client.register(receiver.url, [QUICK_WIN.type]);
  const observing = await stack.client.register(observer.url, ['webhook.*', 'delivery.exhausted']);
  await stack.client.register(bystander.url, ['*']);

  const first = await publish();
  const exhausted = await stack.client.waitForStatus(webhook.id, first, 'exhausted');
  const ids = {
    webhook_id: webhook.id,
    event_id: first,
    delivery_id: exhausted.id,
    event_type: QUICK_WIN.type,
  };
  expect((await untilTold(observer, 'webhook.failing')).data).toEqual({
    ...ids,
    url: receiver.url,
    attempt_count: 4,
    last_outcome: 'http_5xx',
    last_response_status: 500,
  });
  expect((await untilTold(observer, 'delivery.exhausted')).data).toEqual({ ...ids, attempt_count: 5 });

  // A worker that knows nothing of what another one has told raises the same once more.
  await stack.workers[0]?.end();
  const worker = await stack.startWorker();
  await stack.client.waitForStatus(webhook.id, await publish(), 'exhausted');
  for (const type of ['webhook.failing', 'delivery.exhausted']) {
    const raised = await worker.waitForLine(
      (line) => line.message === 'operational_event.raised' && line.type === type,
    );
    await worker.waitForLine(
      (line) => line.message === 'event.fanned_out' && line.event_id === raised.event_id,
    );
  }

  heal();
  await stack.client.waitForStatus(webhook.id, await publish(), 'delivered');
  expect((await untilTold(observer, 'webhook.recovered')).data).toMatchObject({ webhook_id: webhook.id });

  const told = observer.requests.map(({ headers }) => headers['webhook-id']);
  expect(told).toHaveLength(new Set(told).size);
  expect([...new Set(typesAt(observer))].toSorted()).toEqual([
    'delivery.exhausted',
    'webhook.failing',
    'webhook.recovered',
  ]);
  await expectAllSigned(observer, observing);
  await bystander.waitFor(3);
  expect(typesAt(bystander)).toEqual(Array(3).fill(QUICK_WIN.type));
});

it('tells nobody about deliveries of what it tells', async () => {
  stack = await Stack.start({
    environment: { RETRY_SCHEDULE: '20ms,20ms,20ms', DISABLE_AFTER: 'never' },
  });
  const { receiver } = await startIll();
  const webhook = await stack.client.register(receiver.url, [QUICK_WIN.type, 'webhook.*', 'delivery.*']);
  await publish();
  const types = await until(async () => {
    const { body } = await stack.client.expect<{ data: { event_type: string; status: string }[] }>(
      200,
      'GET',
      `/v1/webhooks/${webhook.id}/deliveries`,
    );
    return body.data.length === 3 && body.data.every(({ status }) => status === 'exhausted')
      ? body.data.map(({ event_type: type }) => type)
      : undefined;
  });
  expect(types.toSorted()).toEqual(['delivery.exhausted', QUICK_WIN.type, 'webhook.failing']);
  const raised = stack.workers[0]?.log.filter((line) => line.message === 'operational_event.raised');
  expect(raised?.map(({ type }) => type).toSorted()).toEqual(['delivery.exhausted', 'webhook.failing']);
});

it('takes no such event from a client', async () => {
  stack = await Stack.start({ workers: 0 });
  const { body } = await stack.client.expect<{ errors: { pointer: string; detail: string }[] }>(
    422,
    'POST',
    '/v1/events',
    { type: 'webhook.disabled', data: {} },
  );
  expect(body.errors).toEqual([
    { pointer: '/type', detail: expect.stringContaining('is an operational event type') },
  ]);
});
