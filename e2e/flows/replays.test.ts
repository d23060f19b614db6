import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { Stack } from '../support/stack';
import { until } from '../support/until';

interface ReplayView {
  readonly id: string;
  readonly status: string;
  readonly found: number;
  readonly enqueued: number;
  readonly finished_at: string | null;
}

const BATCH = 500;
const since = '2026-01-01T00:00:00Z';

let client: ApiClient;
beforeEach(async () => {
  client = await openAccount();
});

async function publishMany(count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const events = Array.from({ length: Math.min(BATCH, count - ids.length) }, () => QUICK_WIN);
    const { body } = await client.expect<{ data: { id: string }[] }>(200, 'POST', '/v1/events/batch', {
      events,
    });
    ids.push(...body.data.map(({ id }) => id));
  }
  return ids;
}

async function startReplay(webhookId: string, body: object): Promise<ReplayView> {
  const answer = await client.expect<ReplayView>(202, 'POST', `/v1/webhooks/${webhookId}/replays`, {
    since,
    ...body,
  });
  expect(answer.headers.get('location')).toBe(`/v1/replays/${answer.body.id}`);
  return answer.body;
}

async function readReplay(id: string): Promise<ReplayView> {
  return (await client.expect<ReplayView>(200, 'GET', `/v1/replays/${id}`)).body;
}

async function ended({ id }: ReplayView): Promise<ReplayView> {
  return await until(async () => {
    const replay = await readReplay(id);
    return replay.finished_at === null ? undefined : replay;
  });
}

function timesReceived(receiver: Receiver): Map<string, number> {
  const times = new Map<string, number>();
  for (const { headers } of receiver.requests) {
    const id = String(headers['webhook-id']);
    times.set(id, (times.get(id) ?? 0) + 1);
  }
  return times;
}

it('replays thousands of missing events, and goes on where a worker was killed', async () => {
  const COUNT = 2_000;
  const IN_FLIGHT = 64;
  // Short, so that a killed worker's jobs are taken over soon; no shorter, or on a busy machine one that lives loses them.
  const stack = await Stack.start({ environment: { JOB_LOCK_DURATION: '15s' } });
  client = stack.client;
  // Nobody is there for them yet.
  const eventIds = await publishMany(COUNT);
  const [doomed] = stack.workers;
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url);
  const replay = await startReplay(webhook.id, { mode: 'missing', rate: 500 });

  await until(async () => ((await readReplay(replay.id)).enqueued >= COUNT / 2 ? true : undefined));
  await doomed?.end('SIGKILL');
  const atKill = await readReplay(replay.id);
  expect(atKill).toMatchObject({ status: 'running', found: COUNT });
  expect(atKill.enqueued).toBeLessThan(COUNT);

  await stack.startWorker();
  expect(await ended(replay)).toMatchObject({ status: 'done', found: COUNT, enqueued: COUNT });
  await until(async () => (timesReceived(receiver).size === COUNT ? true : undefined));
  const times = timesReceived(receiver);
  expect([...times.keys()].sort()).toEqual([...eventIds].sort());
  // What the killed worker had under way at this endpoint, a quarter of its slots at most, comes once more.
  expect(Math.max(...times.values())).toBeLessThanOrEqual(2);
  expect(receiver.requests.length - COUNT).toBeLessThanOrEqual(IN_FLIGHT);
  await Promise.all([receiver.stop(), stack.stop()]);
}, 500_000);

it('replays what has failed, and nothing else', async () => {
  let isDown = true;
  const receiver = await Receiver.start(() => (isDown ? 500 : 204));
  const webhook = await client.register(receiver.url, ['*'], { retry_schedule: ['20ms'] });
  const failedIds = await publishMany(5);
  for (const id of failedIds) await client.waitForStatus(webhook.id, id, 'exhausted');
  isDown = false;
  const [deliveredId] = await publishMany(1);
  await client.waitForStatus(webhook.id, String(deliveredId), 'delivered');
  receiver.requests.length = 0;

  const replay = await startReplay(webhook.id, { mode: 'failed' });
  expect(await ended(replay)).toMatchObject({ status: 'done', found: 5, enqueued: 5 });
  for (const id of failedIds) {
    const { attempts } = await client.waitForStatus(webhook.id, id, 'delivered');
    expect(attempts.at(-1)).toMatchObject({ trigger: 'replay' });
  }
  expect([...timesReceived(receiver)].sort()).toEqual(failedIds.map((id) => [id, 1]).sort());
  await receiver.stop();
});

it('replays all events that the webhook asks for, also those that it has accepted', async () => {
  const missedIds = await publishMany(3);
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url, [QUICK_WIN.type]);
  const acceptedIds = await publishMany(2);
  for (const id of acceptedIds) await client.waitForStatus(webhook.id, id, 'delivered');

  const replay = await startReplay(webhook.id, { mode: 'all' });
  expect(await ended(replay)).toMatchObject({ status: 'done', found: 5, enqueued: 5 });
  await receiver.waitFor(7);
  expect(timesReceived(receiver)).toEqual(
    new Map([...acceptedIds.map((id) => [id, 2] as const), ...missedIds.map((id) => [id, 1] as const)]),
  );
  await receiver.stop();
});

it('only counts in a dry run', async () => {
  await publishMany(3);
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url);
  const replay = await startReplay(webhook.id, { mode: 'missing', dry_run: true });
  expect(await ended(replay)).toMatchObject({ status: 'done', found: 3, enqueued: 0 });
  expect(await client.listDeliveries(webhook.id)).toEqual([]);
  await receiver.stop();
});

it('sends no more once it is cancelled, and can still be read', async () => {
  await publishMany(50);
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url);
  const replay = await startReplay(webhook.id, { mode: 'missing', rate: 2 });
  await receiver.waitFor(1);
  await client.expect(204, 'DELETE', `/v1/replays/${replay.id}`);

  const cancelled = await ended(replay);
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
  const replay = await startReplay(webhook.id, { mode: 'all' });
  expect(await ended(replay)).toMatchObject({ status: 'done', found: 0 });
  await Promise.all([receiver.stop(), other.stop()]);
});
