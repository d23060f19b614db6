import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { publishMany, type ReplayView, replayEnded, startReplay, timesReceived } from '../support/replays';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { until } from '../support/until';

let client: ApiClient;
beforeEach(async () => {
  client = await openAccount();
});

async function resultsOf({ id }: ReplayView) {
  const { body } = await client.expect<{ results: unknown }>(200, 'GET', `/v1/replays/${id}?include=results`);
  return body.results;
}

/** The ids of the events, from pages of two. */
async function deliveriesOf({ id }: ReplayView, filter = ''): Promise<readonly string[]> {
  const path = `/v1/replays/${id}/deliveries?limit=2${filter}`;
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: { body: { data: { event_id: string }[]; next_cursor: string | null } } =
      await client.expect(200, 'GET', path + (cursor && `&cursor=${cursor}`));
    found.push(...body.data.map((one) => one.event_id));
    cursor = body.next_cursor;
  }
  return found;
}

it('replays what has failed, and nothing else', async () => {
  let isDown = true;
  const receiver = await Receiver.start(() => (isDown ? 500 : 204));
  const webhook = await client.register(receiver.url, ['*'], { retry_schedule: ['20ms'] });
  const failedIds = await publishMany(client, 5);
  for (const id of failedIds) await client.waitForStatus(webhook.id, id, 'exhausted');
  isDown = false;
  const [deliveredId] = await publishMany(client, 1);
  await client.waitForStatus(webhook.id, String(deliveredId), 'delivered');
  receiver.requests.length = 0;

  const replay = await startReplay(client, webhook.id, { mode: 'failed' });
  expect(await replayEnded(client, replay)).toMatchObject({ status: 'done', found: 5, enqueued: 5 });
  for (const id of failedIds) {
    const { attempts } = await client.waitForStatus(webhook.id, id, 'delivered');
    expect(attempts.at(-1)).toMatchObject({ trigger: 'replay' });
  }
  expect(await resultsOf(replay)).toEqual({ counted: 5, delivered: 5, pending: 0, failed: 0, cancelled: 0 });
  expect((await deliveriesOf(replay)).toSorted()).toEqual(failedIds.toSorted());
  expect([...timesReceived(receiver)].sort()).toEqual(failedIds.map((id) => [id, 1]).sort());
  await receiver.stop();
});

it('brings the retries of what is pending forward, in the place of those that were due', async () => {
  let isDown = true;
  const receiver = await Receiver.start(() => (isDown ? 500 : 204));
  const webhook = await client.register(receiver.url, ['*'], { retry_schedule: ['1h', '2h'] });
  const ids = await publishMany(client, 3);
  const afterAttempts = async (count: number) => {
    for (const id of ids) {
      await until(async () => {
        const found = (await client.listDeliveries(webhook.id)).find(({ event_id: event }) => event === id);
        return (found?.attempt_count === count && found.next_attempt_at !== null) || undefined;
      });
    }
  };
  await afterAttempts(1);
  expect(await replayEnded(client, await startReplay(client, webhook.id, { mode: 'failed' }))).toMatchObject({
    found: 0,
  });

  const tooEarly = await startReplay(client, webhook.id, { mode: 'pending' });
  expect(await replayEnded(client, tooEarly)).toMatchObject({ status: 'done', found: 3, enqueued: 3 });
  await afterAttempts(2);
  isDown = false;
  receiver.requests.length = 0;
  const replay = await startReplay(client, webhook.id, { mode: 'pending' });
  expect(await replayEnded(client, replay)).toMatchObject({ status: 'done', found: 3, enqueued: 3 });
  for (const id of ids) {
    const { attempts } = await client.waitForStatus(webhook.id, id, 'delivered');
    expect(attempts.map(({ number, trigger }) => [number, trigger])).toEqual([
      [1, 'schedule'],
      [2, 'replay'],
      [3, 'replay'],
    ]);
  }
  expect([...timesReceived(receiver)].sort()).toEqual(ids.map((id) => [id, 1]).sort());
  await receiver.stop();
});

it.each([
  ['in the order of their acceptance', { ordering: 'strict' }, 1],
  ['in batches', { batch: { max_events: 10 } }, 3],
])('brings pending retries forward %s', async (_what, members, found) => {
  let isDown = true;
  const receiver = await Receiver.start(() => (isDown ? 500 : 204));
  const webhook = await client.register(receiver.url, ['*'], { retry_schedule: ['1h'], ...members });
  const ids = await publishMany(client, 3);
  await until(async () => {
    const tried = (await client.listDeliveries(webhook.id)).filter((one) => one.next_attempt_at !== null);
    return (tried.length === found && tried.every((one) => one.attempt_count === 1)) || undefined;
  });
  isDown = false;
  receiver.requests.length = 0;
  const replay = await startReplay(client, webhook.id, { mode: 'pending' });
  expect(await replayEnded(client, replay)).toMatchObject({ found, enqueued: found });
  for (const id of ids) await client.waitForStatus(webhook.id, id, 'delivered');
  const alone = [...timesReceived(receiver).keys()].filter((id) => ids.includes(id));
  expect(alone).toEqual(found === 1 ? ids : []);
  await receiver.stop();
});

it('replays all events that the webhook asks for, also those that it has accepted', async () => {
  const missedIds = await publishMany(client, 3);
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url, [QUICK_WIN.type]);
  const acceptedIds = await publishMany(client, 2);
  for (const id of acceptedIds) await client.waitForStatus(webhook.id, id, 'delivered');

  const replay = await startReplay(client, webhook.id, { mode: 'all' });
  expect(await replayEnded(client, replay)).toMatchObject({ status: 'done', found: 5, enqueued: 5 });
  await receiver.waitFor(7);
  expect(timesReceived(receiver)).toEqual(
    new Map([...acceptedIds.map((id) => [id, 2] as const), ...missedIds.map((id) => [id, 1] as const)]),
  );
  await receiver.stop();
});

it('tells how its deliveries are, each by what came last, and lists them by that', async () => {
  const failing = new Set<string>();
  const receiver = await Receiver.start(({ headers }) =>
    failing.has(String(headers['webhook-id'])) ? 500 : 204,
  );
  const webhook = await client.register(receiver.url, ['*'], { retry_schedule: ['20ms'] });
  const [good = '', one = '', other = ''] = await publishMany(client, 3);
  for (const id of [good, one, other]) await client.waitForStatus(webhook.id, id, 'delivered');
  failing.add(one).add(other);

  const replay = await startReplay(client, webhook.id, { mode: 'all' });
  await replayEnded(client, replay);
  await until(async () => {
    const results = (await resultsOf(replay)) as { pending: number };
    return results.pending === 0 || undefined;
  });
  // They were accepted before, and stay delivered: the last attempt failed all the same.
  expect(await resultsOf(replay)).toEqual({ counted: 3, delivered: 1, pending: 0, failed: 2, cancelled: 0 });
  for (const [result, count] of [
    ['failed', 2],
    ['delivered', 1],
    ['pending', 0],
  ]) {
    const path = `/v1/replays/${replay.id}/deliveries?result=${result}`;
    expect((await client.expect<{ data: unknown[] }>(200, 'GET', path)).body.data).toHaveLength(
      Number(count),
    );
  }
  expect((await deliveriesOf(replay, '&outcome=http_5xx')).toSorted()).toEqual([one, other].toSorted());
  await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/disable`);
  await client.expect(202, 'POST', `/v1/deliveries/${good}.${webhook.id}/redeliver`);
  expect(await resultsOf(replay)).toMatchObject({ delivered: 0, pending: 1 });
  const stranger = await openAccount();
  await stranger.expect(404, 'GET', `/v1/replays/${replay.id}/deliveries`);
  await receiver.stop();
});

it('only counts in a dry run', async () => {
  await publishMany(client, 3);
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url);
  const replay = await startReplay(client, webhook.id, { mode: 'missing', dry_run: true });
  expect(await replayEnded(client, replay)).toMatchObject({ status: 'done', found: 3, enqueued: 0 });
  expect(await client.listDeliveries(webhook.id)).toEqual([]);
  await receiver.stop();
});

it('sends no more once it is cancelled, and can still be read', async () => {
  await publishMany(client, 50);
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url);
  const replay = await startReplay(client, webhook.id, { mode: 'missing', rate: 2 });
  await receiver.waitFor(1);
  await client.expect(204, 'DELETE', `/v1/replays/${replay.id}`);

  const cancelled = await replayEnded(client, replay);
  expect(cancelled).toMatchObject({ status: 'cancelled', found: 50 });
  expect(cancelled.enqueued).toBeLessThan(50);
  const { body } = await client.expect<{ data: ReplayView[] }>(
    200,
    'GET',
    `/v1/webhooks/${webhook.id}/replays`,
  );
  expect(body.data).toEqual([cancelled]);
  await receiver.stop();
});

it('leaves out what was aimed at other webhooks', async () => {
  const [receiver, other] = [await Receiver.start(), await Receiver.start()];
  const aimedAt = await client.register(other.url, [QUICK_WIN.type]);
  await client.expect(202, 'POST', '/v1/events', { ...QUICK_WIN, webhook_ids: [aimedAt.id] });
  await other.waitFor(1);
  const webhook = await client.register(receiver.url);
  const replay = await startReplay(client, webhook.id, { mode: 'all' });
  expect(await replayEnded(client, replay)).toMatchObject({ status: 'done', found: 0 });
  await Promise.all([receiver.stop(), other.stop()]);
});
