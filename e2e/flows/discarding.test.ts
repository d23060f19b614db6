import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { publishMany, replayEnded, startReplay, timesReceived } from '../support/replays';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { Stack } from '../support/stack';
import { until } from '../support/until';

interface Discarded {
  readonly status: string;
  readonly cancel_reason?: string;
}

it('discards what is due while a webhook is disabled, if it is set so, and a replay brings it back', async () => {
  const client = await openAccount();
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url, ['*'], { while_disabled: 'discard' });
  await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/disable`);
  const eventIds = await publishMany(client, 5);
  await untilDiscarded(client, webhook.id, eventIds);

  await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/enable`);
  const since = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(webhook.id, since, 'delivered');
  expect([...timesReceived(receiver).keys()]).toEqual([since]);

  const replay = await startReplay(client, webhook.id, { mode: 'failed' });
  expect(await replayEnded(client, replay)).toMatchObject({ found: 5, enqueued: 5 });
  for (const eventId of eventIds) await client.waitForStatus(webhook.id, eventId, 'delivered');
  await receiver.stop();
});

it.each(['strict', 'group'])(
  'discards in an order only what becomes due while a webhook is disabled, and keeps what waited: %s',
  async (ordering) => {
    const client = await openAccount();
    let failing = '';
    const receiver = await Receiver.start(({ headers }) => (headers['webhook-id'] === failing ? 500 : 204));
    const settings = { ordering, while_disabled: 'discard', retry_schedule: ['3s', '3s'] };
    const webhook = await client.register(receiver.url, ['*'], settings);
    failing = `failing-${webhook.id}`;
    const publish = async (id?: string) =>
      (await client.expect<{ id: string }>(202, 'POST', '/v1/events', { ...QUICK_WIN, id, group: 'a' })).body
        .id;
    await publish(failing);
    await receiver.waitFor(1);
    const waited = await publish();
    await client.waitForStatus(webhook.id, waited, 'held');
    await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/disable`);
    const later = await publish();
    // At once, and the first one when it is due.
    await untilDiscarded(client, webhook.id, [later]);
    await client.waitForStatus(webhook.id, failing, 'cancelled');
    await client.waitForStatus(webhook.id, waited, 'held');

    await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/enable`);
    await client.waitForStatus(webhook.id, waited, 'delivered');
    const last = await publish();
    await client.waitForStatus(webhook.id, last, 'delivered');
    expect([...timesReceived(receiver).keys()]).toEqual([failing, waited, last]);
    await receiver.stop();
  },
);

it('discards thousands that are held, and goes on where the workers were killed', async () => {
  const COUNT = 2_000;
  const stack = await Stack.start({ environment: { JOB_LOCK_DURATION: '15s' } });
  const { client } = stack;
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url);
  const path = `/v1/webhooks/${webhook.id}`;
  await client.expect(200, 'POST', `${path}/disable`);
  await publishMany(client, COUNT);
  const held = async () =>
    (await client.expect<{ health: { held: number } }>(200, 'GET', path)).body.health.held;
  await until(async () => ((await held()) === COUNT ? true : undefined));

  expect((await client.expect(202, 'POST', `${path}/discard-held`)).body).toEqual({ discarded: COUNT });
  await until(async () => ((await held()) < COUNT ? true : undefined));
  await Promise.all(stack.workers.map((worker) => worker.end('SIGKILL')));
  expect(await held()).toBeGreaterThan(0);
  // Published while no worker lives: the discarding does not concern it.
  const later = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await stack.startWorker();

  await client.waitForStatus(webhook.id, later, 'held');
  await until(async () => ((await held()) === 1 ? true : undefined));
  await until(async () =>
    (await listAll(client, webhook.id, 'cancelled', COUNT)).length === COUNT ? true : undefined,
  );

  await client.expect(200, 'POST', `${path}/enable`);
  await client.waitForStatus(webhook.id, later, 'delivered');
  expect([...timesReceived(receiver).keys()]).toEqual([later]);
  const { body: log } = await client.expect<{ data: object[] }>(
    200,
    'GET',
    '/v1/audit-log?action=webhook.discard_held',
  );
  expect(log.data).toHaveLength(1);
  await Promise.all([receiver.stop(), stack.stop()]);
}, 300_000);

const BATCH = { max_events: 5, max_wait_ms: 100 };

it.each([
  { ordering: 'strict' },
  { ordering: 'group' },
  { batch: BATCH },
  { ordering: 'strict', batch: BATCH },
])('lets others go on after what was held with them: %j', async (settings) => {
  const client = await openAccount();
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url, ['*'], settings);
  const path = `/v1/webhooks/${webhook.id}`;
  await client.expect(200, 'POST', `${path}/disable`);
  const publish = async (count: number) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i += 1) {
      const event = { type: QUICK_WIN.type, data: QUICK_WIN.data, group: 'a' };
      ids.push((await client.expect<{ id: string }>(202, 'POST', '/v1/events', event)).body.id);
    }
    return ids;
  };
  const before = await publish(10);
  for (const eventId of before) await client.waitForStatus(webhook.id, eventId, 'held');
  await client.expect(202, 'POST', `${path}/discard-held`);
  await untilDiscarded(client, webhook.id, before);
  const after = await publish(3);
  await client.expect(200, 'POST', `${path}/enable`);
  for (const eventId of after) await client.waitForStatus(webhook.id, eventId, 'delivered');
  // A batch has an id of its own, and those of its events in its body.
  const sent = receiver.requests
    .flatMap(({ headers, body }) => [headers['webhook-id'], body.toString()])
    .join();
  const found = [...before, ...after].filter((id) => sent.includes(id));
  expect(found.toSorted((a, b) => sent.indexOf(a) - sent.indexOf(b))).toEqual(after);
  await receiver.stop();
});

async function untilDiscarded(client: ApiClient, webhookId: string, eventIds: readonly string[]) {
  for (const eventId of eventIds) {
    const delivery = await client.waitForStatus(webhookId, eventId, 'cancelled');
    expect(delivery as Discarded).toMatchObject({ cancel_reason: 'discarded', attempts: [] });
  }
}

async function listAll(client: ApiClient, webhookId: string, status: string, most: number) {
  const found: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null && found.length <= most; ) {
    const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const { body }: { body: { data: unknown[]; next_cursor: string | null } } = await client.expect(
      200,
      'GET',
      `/v1/webhooks/${webhookId}/deliveries?status=${status}&limit=200${after}`,
    );
    found.push(...body.data);
    cursor = body.next_cursor;
  }
  return found;
}
