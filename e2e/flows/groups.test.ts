import type { ApiClient } from '../support/api-client';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const ORDER = { ordering: 'group' };
const GROUPS = 2_000;
const BATCH = 100;

interface Published {
  readonly id: string;
  readonly group: string | undefined;
}

it('sends the events of each group in their order, through failures and the death of a worker', async () => {
  const stack = await Stack.start({
    workers: 2,
    environment: { RETRY_SCHEDULE: Array(20).fill('50ms').join(), JOB_LOCK_DURATION: '2s' },
  });
  const receiver = await Receiver.start(() => (Math.random() < 0.1 ? 500 : 204));
  await stack.client.register(receiver.url, ['*'], ORDER);
  const groups = Array.from({ length: 20 }, (_, i) => `order ${i}`);
  const published = publishAll(stack.client, 15, groups);

  await receiver.waitFor(30);
  await stack.workers[0]?.end('SIGKILL');
  await stack.startWorker();
  const eventIds = await published;
  await until(async () => (firstSights(receiver).length === 300 ? true : undefined));

  for (const group of groups) {
    const own = eventIds.get(group) ?? [];
    expect(firstSights(receiver).filter((id) => own.includes(id))).toEqual(own);
  }
  await Promise.all([receiver.stop(), stack.stop()]);
});

it('holds nobody but its own group behind an event that fails', async () => {
  const client = await openAccount();
  let failing = '';
  const receiver = await Receiver.start(({ headers }) => (headers['webhook-id'] === failing ? 500 : 204));
  const options = { ...ORDER, retry_schedule: ['1h'] };
  const webhook = await client.register(receiver.url, ['*'], options);
  failing = `failing-${webhook.id}`;
  await publish(client, 'a', failing);
  const second = await publish(client, 'a');
  const others = [await publish(client, 'b'), await publish(client, 'b'), await publish(client)];

  for (const id of others) await client.waitForStatus(webhook.id, id, 'delivered');
  // It is looked at once more soon after it was held.
  await until(async () => {
    const { hold } = await client.readDelivery(`${second}.${webhook.id}`);
    return hold?.reason === 'ordering' ? true : undefined;
  });
  expect(firstSights(receiver).toSorted()).toEqual([failing, ...others].toSorted());
  await receiver.stop();
});

it('lets the group go on when its first event has nothing to send any more', async () => {
  const client = await openAccount();
  let failing = '';
  const receiver = await Receiver.start(({ headers }) => (headers['webhook-id'] === failing ? 500 : 204));
  const webhook = await client.register(receiver.url, ['*'], { ...ORDER, retry_schedule: ['500ms'] });
  failing = `failing-${webhook.id}`;
  await publish(client, 'a', failing);
  const second = await publish(client, 'a');
  await client.waitForStatus(webhook.id, failing, 'exhausted');
  await client.waitForStatus(webhook.id, second, 'delivered');
  expect(firstSights(receiver)).toEqual([failing, second]);
  await receiver.stop();
});

it('sends only the newest of the events of a group that come within the window', async () => {
  const client = await openAccount();
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url, ['*'], { ...ORDER, coalesce: { window_ms: 1_500 } });
  const older = [await publish(client, 'a'), await publish(client, 'a')];
  const other = await publish(client, 'b');
  const newest = await publish(client, 'a');

  await client.waitForStatus(webhook.id, newest, 'delivered');
  await client.waitForStatus(webhook.id, other, 'delivered');
  for (const id of older) {
    await client.waitForStatus(webhook.id, id, 'superseded');
    expect(await client.readDelivery(`${id}.${webhook.id}`)).toMatchObject({
      superseded_by: newest,
      attempts: [],
    });
  }
  expect(arrivals(receiver).toSorted()).toEqual([newest, other].toSorted());
  const last = await publish(client, 'a');
  await client.waitForStatus(webhook.id, last, 'delivered');
  await receiver.stop();
});

it('sends what waits for the end of a window once the window is another one', async () => {
  const stack = await Stack.start();
  const { client } = stack;
  const receiver = await Receiver.start();
  const isDelayed = async () =>
    (await stack.redis.client.zcard('bull:deliveries:delayed')) === 2 || undefined;
  const changes = [
    { coalesce: { window_ms: 100 } },
    { coalesce: null },
    { coalesce: null, ordering: 'none' },
  ];
  for (const change of changes) {
    const long = { ...ORDER, coalesce: { window_ms: 3_600_000 } };
    const { id } = await client.register(receiver.url, ['*'], long);
    const events = [await publish(client, 'a'), await publish(client, 'b')];
    await until(isDelayed);
    await client.expect(200, 'PATCH', `/v1/webhooks/${id}`, change);
    for (const event of events) await client.waitForStatus(id, event, 'delivered');
    expect(arrivals(receiver).slice(-2).toSorted()).toEqual(events.toSorted());
    await client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  }
  await Promise.all([receiver.stop(), stack.stop()]);
});

it('sends the newest of those that waited for one under way', async () => {
  const client = await openAccount();
  let respond = (_status: number): void => {};
  const response = new Promise<number>((resolve) => {
    respond = resolve;
  });
  const receiver = await Receiver.start((_request, count) => (count === 1 ? response : 204));
  const webhook = await client.register(receiver.url, ['*'], { ...ORDER, coalesce: { window_ms: 50 } });
  const first = await publish(client, 'a');
  await receiver.waitFor(1);
  const waiting = [await publish(client, 'a'), await publish(client, 'a'), await publish(client, 'a')];
  await client.waitForStatus(webhook.id, waiting[2] ?? '', 'held');
  respond(204);
  await client.waitForStatus(webhook.id, waiting[2] ?? '', 'delivered');
  await client.waitForStatus(webhook.id, waiting[0] ?? '', 'superseded');
  await client.waitForStatus(webhook.id, waiting[1] ?? '', 'superseded');
  expect(arrivals(receiver)).toEqual([first, waiting[2]]);
  await receiver.stop();
});

it('refuses to coalesce without the order within groups, and a group that is no text', async () => {
  const client = await openAccount();
  const webhook = { url: 'https://receiver.example.com/', events: ['*'], coalesce: { window_ms: 100 } };
  const { body } = await client.expect<{ errors: readonly { pointer: string }[] }>(
    422,
    'POST',
    '/v1/webhooks',
    webhook,
  );
  expect(body.errors).toMatchObject([{ pointer: '/coalesce' }]);
  await client.expect(422, 'POST', '/v1/events', { ...QUICK_WIN, group: '' });
  await client.expect(422, 'POST', '/v1/events', { ...QUICK_WIN, group: 'ü'.repeat(129) });
});

it('sends 2,000 groups beside each other, each in its order', async () => {
  const client = await openAccount();
  const receiver = await Receiver.start();
  await client.register(receiver.url, ['*'], { ordering: 'group' });
  const groups = Array.from({ length: GROUPS * 2 }, (_, i) => `order-${i % GROUPS}`);
  const published = await publishBatches(client, groups);

  await until(async () => (firstSights(receiver).length === groups.length ? true : undefined));
  const ids = published.map(({ id }) => id);
  expect(byGroup(published, firstSights(receiver))).toEqual(byGroup(published, ids));
  await receiver.stop();
});

it('sends all that a disabled webhook has missed, with and without groups, in order', async () => {
  const client = await openAccount();
  const receiver = await Receiver.start();
  const { id: webhookId } = await client.register(receiver.url, ['*'], {
    ordering: 'group',
    rate_limit: 100,
  });
  const path = `/v1/webhooks/${webhookId}`;
  await client.expect(200, 'POST', `${path}/disable`);
  const groups = Array.from({ length: 300 }, (_, i) => (i % 3 === 0 ? undefined : `order-${i % 10}`));
  const published = await publishBatches(client, groups);
  for (const { id } of published.slice(-5)) await client.waitForStatus(webhookId, id, 'held');

  await client.expect(200, 'POST', `${path}/enable`);
  await until(async () => (firstSights(receiver).length === groups.length ? true : undefined));
  const inGroups = published.filter(({ group }) => group !== undefined);
  const seen = firstSights(receiver).filter((id) => inGroups.some((each) => each.id === id));
  expect(byGroup(inGroups, seen)).toEqual(
    byGroup(
      inGroups,
      inGroups.map(({ id }) => id),
    ),
  );
  await receiver.stop();
});

async function publish(client: ApiClient, group?: string, id?: string): Promise<string> {
  const { type, data } = QUICK_WIN;
  const event = { type, data, ...(group && { group }), ...(id && { id }) };
  const { body } = await client.expect<{ id: string }>(202, 'POST', '/v1/events', event);
  return body.id;
}

/** One after the other, the groups in turn. */
async function publishAll(client: ApiClient, rounds: number, groups: readonly string[]) {
  const ids = new Map<string, string[]>(groups.map((group) => [group, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const group of groups) ids.get(group)?.push(await publish(client, group));
  }
  return ids;
}

function arrivals(receiver: Receiver): string[] {
  return receiver.requests.map(({ headers }: Pick<ReceivedRequest, 'headers'>) =>
    String(headers['webhook-id']),
  );
}

function firstSights(receiver: Receiver): string[] {
  return [...new Set(arrivals(receiver))];
}

/** In the order in which they are given: each batch is accepted before the next one is sent. */
async function publishBatches(
  client: ApiClient,
  groups: readonly (string | undefined)[],
): Promise<readonly Published[]> {
  const published: Published[] = [];
  for (let at = 0; at < groups.length; at += BATCH) {
    const some = groups.slice(at, at + BATCH);
    const events = some.map((group) => ({ ...QUICK_WIN, ...(group === undefined ? {} : { group }) }));
    const path = '/v1/events/batch';
    const { body } = await client.expect<{ data: { id: string }[] }>(207, 'POST', path, { events });
    published.push(...body.data.map(({ id }, i) => ({ id, group: some[i] })));
  }
  return published;
}

/** The events of each group, in the order of `ids`. */
function byGroup(published: readonly Published[], ids: readonly string[]) {
  const groups = new Map(published.map(({ id, group }) => [id, group]));
  const ordered = new Map<string | undefined, string[]>();
  for (const id of ids) {
    const group = groups.get(id);
    ordered.set(group, [...(ordered.get(group) ?? []), id]);
  }
  return Object.fromEntries([...ordered].toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)));
}
