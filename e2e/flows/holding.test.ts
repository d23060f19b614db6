import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { runCli } from '../support/run-cli';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { Stack } from '../support/stack';
import { until } from '../support/until';

let client: ApiClient;
beforeEach(async () => {
  client = await openAccount();
});

it('holds what a disabled endpoint is owed, and delivers it once it is enabled, at no cost of attempts', async () => {
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url);
  await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/disable`);
  const eventIds = await publish(50);
  await waitForStatuses(webhook.id, eventIds, 'held');
  expect(receiver.requests).toHaveLength(0);

  await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/enable`);
  await waitForStatuses(webhook.id, eventIds, 'delivered');
  const deliveries = await client.listDeliveries(webhook.id);
  expect(deliveries.map(({ attempt_count }) => attempt_count)).toEqual(Array(50).fill(1));
  await receiver.stop();
});

it('tells of each attempt what held it: before the first one, and again before a later one', async () => {
  const receiver = await Receiver.start((_request, count) => (count === 1 ? 410 : 204));
  const webhook = await client.register(receiver.url);
  const path = `/v1/webhooks/${webhook.id}`;
  await client.expect(200, 'POST', `${path}/disable`);
  const [eventId = ''] = await publish(1);
  const heldSince: string[] = [];
  const resume = async () => {
    const { hold } = await client.waitForStatus(webhook.id, eventId, 'held');
    heldSince.push(hold?.since ?? 'not told');
    const heldAt = Date.now();
    await until(async () => Date.now() - heldAt > 1_100 || undefined);
    await client.expect(200, 'POST', `${path}/enable`);
  };
  await resume();
  await until(async () => receiver.requests.length === 1 || undefined);
  await resume();
  const { attempts } = await client.waitForStatus(webhook.id, eventId, 'delivered');
  for (const { holds, started_at: startedAt } of attempts) {
    expect(holds?.[0]).toMatchObject({ reason: 'disabled' });
    expect(holds?.at(-1)).toMatchObject({ until: startedAt });
  }
  expect(attempts).toHaveLength(2);
  expect(attempts.map(({ holds }) => holds?.[0]?.since)).toEqual(heldSince);
  expect(Date.parse(attempts[1]?.holds?.[0]?.since ?? '')).toBeGreaterThan(
    Date.parse(attempts[0]?.started_at ?? ''),
  );
  await receiver.stop();
});

it('disables an endpoint whose receiver responds with 410, and holds the delivery until it is enabled again', async () => {
  const receiver = await Receiver.start((_request, count) => (count === 1 ? 410 : 204));
  const webhook = await client.register(receiver.url);
  const [eventId = ''] = await publish(1);
  await client.waitForStatus(webhook.id, eventId, 'held');
  const { body } = await client.expect(200, 'GET', `/v1/webhooks/${webhook.id}`);
  expect(body).toMatchObject({ status: 'disabled', disabled_reason: 'gone' });

  await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/enable`);
  const delivery = await client.waitForStatus(webhook.id, eventId, 'delivered');
  expect(delivery.attempts.map(({ outcome }) => outcome)).toEqual(['http_4xx', 'delivered']);
  await receiver.stop();
});

it('cancels what is held when its RETENTION is over, at each webhook of an event', async () => {
  const stack = await Stack.start({ environment: { RETENTION: '8s' } });
  client = stack.client;
  const receiver = await Receiver.start();
  const webhooks = await Promise.all(
    [{}, {}, { ordering: 'strict' }, { ordering: 'group' }].map(async (options) => {
      const { id } = await client.register(receiver.url, ['*'], options);
      await client.expect(200, 'POST', `/v1/webhooks/${id}/disable`);
      return id;
    }),
  );
  const events = Array.from({ length: 20 }, (_, i) => ({ ...QUICK_WIN, group: `g${i % 2}` }));
  await client.expect(207, 'POST', '/v1/events/batch', { events });
  await until(async () => {
    const lists = await Promise.all(webhooks.map((id) => client.listDeliveries(id)));
    const all = lists.flat();
    return (all.length === 80 && all.every(({ status }) => status === 'cancelled')) || undefined;
  });
  for (const id of webhooks) await client.expect(200, 'POST', `/v1/webhooks/${id}/enable`);
  const later = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  for (const id of webhooks) await client.waitForStatus(id, later, 'delivered');
  expect(receiver.requests).toHaveLength(webhooks.length);
  await Promise.all([receiver.stop(), stack.stop()]);
});

it('holds what a paused account publishes, and delivers it once it goes on', async () => {
  const stack = await Stack.start();
  client = stack.client;
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url);
  const other = await client.register(`${receiver.url}/other`, ['brief.created']);
  await client.expect(200, 'POST', `/v1/webhooks/${other.id}/disable`);

  const paused = await runCli(stack.redis.url, 'accounts', 'pause', 'default');
  expect(paused).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Disabled 1 webhooks') });
  const { body } = await client.expect(200, 'GET', `/v1/webhooks/${webhook.id}`);
  expect(body).toMatchObject({ status: 'disabled', disabled_reason: 'operator' });
  const eventIds = await publish(5);
  await waitForStatuses(webhook.id, eventIds, 'held');
  expect(receiver.requests).toHaveLength(0);

  const resumed = await runCli(stack.redis.url, 'accounts', 'resume', 'default');
  expect(resumed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Enabled 1 webhooks') });
  await waitForStatuses(webhook.id, eventIds, 'delivered');
  const left = await client.expect(200, 'GET', `/v1/webhooks/${other.id}`);
  expect(left.body).toMatchObject({ status: 'disabled', disabled_reason: 'client' });
  await Promise.all([receiver.stop(), stack.stop()]);
});

it('goes on delivering to those that respond while many receivers hang', async () => {
  const stack = await Stack.start({ environment: { WORKER_CONCURRENCY: '32', DELIVERY_TIMEOUT: '20s' } });
  client = stack.client;
  const hanging = await Receiver.start(() => 'never');
  const healthy = await Receiver.start();
  for (let i = 0; i < 10; i += 1) await client.register(`${hanging.url}/${i}`, ['brief.created']);
  await client.register(healthy.url, ['keyword.quick_win']);
  for (let i = 0; i < 20; i += 1) {
    await client.publish('brief.created', { brief_id: String(i), title: 'to those that hang' });
  }
  // Two of them at each: far fewer than the 200 that wait, and than the worker's 32 slots.
  await hanging.waitFor(20);

  await publish(100);
  await healthy.waitFor(100);
  expect(hanging.requests).toHaveLength(20);
  await Promise.all([hanging.stop(), healthy.stop(), stack.stop()]);
});

async function publish(count: number): Promise<string[]> {
  return await Promise.all(
    Array.from({ length: count }, () => client.publish(QUICK_WIN.type, QUICK_WIN.data)),
  );
}

async function waitForStatuses(
  webhookId: string,
  eventIds: readonly string[],
  status: string,
): Promise<void> {
  await until(async () => {
    const deliveries = await client.listDeliveries(webhookId);
    const reached = deliveries
      .filter((delivery) => delivery.status === status)
      .map(({ event_id }) => event_id);
    return eventIds.every((id) => reached.includes(id)) ? true : undefined;
  });
}
