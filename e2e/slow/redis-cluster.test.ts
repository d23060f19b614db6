import { Queue } from 'bullmq';
import { Cluster } from 'ioredis';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const EVENTS = 60;
const since = '2026-01-01T00:00:00Z';

let cluster: RedisCluster;
let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  cluster = await RedisCluster.start();
  stack = await Stack.start({
    workers: 2,
    environment: { REDIS_URL: cluster.url, RETRY_SCHEDULE: '100ms,100ms' },
  });
});
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(async () => {
  const { body } = await stack.client.request<{ data: { id: string }[] }>('GET', '/v1/webhooks?limit=100');
  for (const { id } of body.data) await stack.client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  await receiver.stop();
});
afterAll(async () => {
  await stack.stop();
  await cluster.remove();
});

async function register(change: object = {}): Promise<string> {
  const webhook = { url: receiver.url, events: ['*'], ...change };
  return (await stack.client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook)).body.id;
}

async function publishMany(count: number, groupOf?: (index: number) => string): Promise<readonly string[]> {
  const { body } = await stack.client.expect<{ data: { id: string }[] }>(207, 'POST', '/v1/events/batch', {
    events: Array.from({ length: count }, (_, i) => ({
      ...QUICK_WIN,
      ...(groupOf && { group: groupOf(i) }),
    })),
  });
  return body.data.map(({ id }) => id);
}

function connect(): Cluster {
  const [first = ''] = cluster.url.slice('redis+cluster://'.length).split(',');
  return new Cluster([`redis://${first}`]);
}

/** Onto the queue, with nothing but BullMQ. */
async function push(type: string, id: string): Promise<void> {
  const connection = connect();
  const events = new Queue('events', { connection, prefix: '{bull}' });
  await events.add(type, { account_id: 'default', id, type, data: BRIEF.data });
  await events.close();
  connection.disconnect();
}

const eventIds = () => receiver.requests.map(({ headers }) => String(headers['webhook-id']));

it('delivers to endpoints of every kind, with data on all nodes', async () => {
  const webhooks = [
    await register(),
    await register({ rate_limit: 100 }),
    await register({ ordering: 'strict' }),
  ];
  const published = await publishMany(EVENTS);
  for (const id of webhooks) {
    await until(async () => {
      const deliveries = await stack.client.listDeliveries(id);
      return deliveries.filter(({ status }) => status === 'delivered').length === EVENTS ? true : undefined;
    });
  }
  expect(eventIds().toSorted()).toEqual([...published, ...published, ...published].toSorted());
  // With a history, what has ended is not there any more.
  if (stack.postgres) return;
  for (const keys of await cluster.countKeys()) expect(keys).toBeGreaterThan(EVENTS / 4);
});

it('sends the events of each group in their order, only the newest if that is asked for, and leaves nothing of the groups', async () => {
  const groups = 6;
  const newest = await Receiver.start();
  await register({ ordering: 'group' });
  await register({ url: newest.url, ordering: 'group', coalesce: { window_ms: 500 } });
  const published = await publishMany(EVENTS, (index) => `order ${index % groups}`);
  const inGroup = (group: number) => published.filter((_, i) => i % groups === group);
  await receiver.waitFor(EVENTS);
  await newest.waitFor(groups);
  for (let group = 0; group < groups; group += 1) {
    const own = inGroup(group);
    expect(eventIds().filter((id) => own.includes(id))).toEqual(own);
  }
  const lastOfEach = published.slice(-groups);
  expect(newest.requests.map(({ headers }) => String(headers['webhook-id'])).toSorted()).toEqual(
    lastOfEach.toSorted(),
  );
  const connection = connect();
  const keysOfLanes = async () => {
    const patterns = ['order:*', 'turn:*', 'lines:*', 'ready:*', 'coalescing:*'];
    const masters = connection.nodes('master');
    const found = masters.flatMap((node) => patterns.map(async (pattern) => await node.keys(pattern)));
    return (await Promise.all(found)).flat();
  };
  await until(async () => ((await keysOfLanes()).length === 0 ? true : undefined));
  connection.disconnect();
  await newest.stop();
});

it('takes what a producer pushes onto the queue there, under the prefix for Clusters', async () => {
  const webhookId = await register();
  await push(BRIEF.type, 'order-1');
  await stack.client.waitForStatus(webhookId, 'order-1', 'delivered');
  expect(eventIds()).toEqual(['order-1']);
});

it('tries again, holds at a gate, sends again and replays', async () => {
  let isDown = true;
  const failing = await Receiver.start(() => (isDown ? 500 : 204));
  const failingId = await register({ url: failing.url });
  const heldId = await register({ status: 'disabled' });
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);

  const exhausted = await stack.client.waitForStatus(failingId, eventId, 'exhausted');
  isDown = false;
  await stack.client.expect(202, 'POST', `/v1/deliveries/${exhausted.id}/redeliver`);
  await stack.client.waitForStatus(failingId, eventId, 'delivered');

  await stack.client.expect(200, 'POST', `/v1/webhooks/${heldId}/enable`);
  await stack.client.expect(202, 'POST', `/v1/webhooks/${heldId}/replays`, { since, mode: 'missing' });
  await stack.client.waitForStatus(heldId, eventId, 'delivered');
  expect(eventIds()).toContain(eventId);
  await failing.stop();
});

it('finds deliveries by any of their attempts and by any value in their data, and says how those of a replay are', async () => {
  const before = new Date().toISOString();
  let isDown = true;
  const failing = await Receiver.start(() => (isDown ? 500 : 204));
  const webhookId = await register({ url: failing.url });
  const data = { ...QUICK_WIN.data, keyword: 'in a cluster' };
  const eventId = await stack.client.publish(QUICK_WIN.type, data);
  await stack.client.waitForStatus(webhookId, eventId, 'exhausted');
  isDown = false;
  const { body: replay } = await stack.client.expect<{ id: string }>(
    202,
    'POST',
    `/v1/webhooks/${webhookId}/replays`,
    { since, mode: 'failed' },
  );
  await until(async () => {
    const { body } = await stack.client.expect<{ results: { pending: number; counted: number } }>(
      200,
      'GET',
      `/v1/replays/${replay.id}?include=results`,
    );
    const { counted, pending } = body.results;
    if (counted === 0 || pending > 0) return undefined;
    expect(body.results).toEqual({ counted: 1, delivered: 1, pending: 0, failed: 0, cancelled: 0 });
    return true;
  });

  const ofWebhook = `/v1/deliveries?webhook_id=${webhookId}&attempted_since=${before}`;
  const found = async (more: string) =>
    (
      await stack.client.expect<{ data: { event_id: string; matching_attempts: number | null }[] }>(
        200,
        'GET',
        `${ofWebhook}${more}`,
      )
    ).body.data.map(({ event_id: id, matching_attempts: count }) => [id, count]);
  // The last attempt was delivered.
  expect(await found('&attempt_outcome=http_5xx')).toEqual([[eventId, 3]]);
  expect(await found('&attempt_outcome=delivered')).toEqual([[eventId, 1]]);
  expect(await found('&attempt_outcome=http_4xx')).toEqual([]);
  expect(await found('&attempted_until=2999-01-01T00:00:00Z')).toEqual([[eventId, 4]]);
  const value = encodeURIComponent(JSON.stringify(data.keyword));
  const events = await stack.client.expect<{ data: { id: string }[] }>(
    200,
    'GET',
    `/v1/events?data=${value}`,
  );
  expect(events.body.data.map(({ id }) => id)).toEqual([eventId]);
  expect(await found(`&attempt_outcome=failed&data=${value}`)).toEqual([[eventId, 3]]);
  await failing.stop();
});

it('sends several events in one request: again as a whole, then what was not taken', async () => {
  const itemsOf = (request: { body: Buffer }) =>
    (JSON.parse(request.body.toString()) as { data: { id: string }[] }).data.map(({ id }) => id);
  const taking = await Receiver.start((_request, count) => {
    if (count === 1) return 500;
    return { status: 200, body: JSON.stringify({ failed: count === 2 ? published.slice(0, 3) : [] }) };
  });
  const batch = { max_events: 50, max_wait_ms: 500 };
  const webhookId = await register({ url: taking.url, batch });
  const published = await publishMany(10);
  for (const id of published) await stack.client.waitForStatus(webhookId, id, 'delivered');
  const sets = taking.requests.map(itemsOf);
  expect(sets.map(({ length }) => length)).toEqual([10, 10, 3]);
  expect(sets[0]).toEqual(published);
  expect(taking.requests[1]?.headers['webhook-id']).toBe(taking.requests[0]?.headers['webhook-id']);
  await taking.stop();
});

it('does what was asked for twice under one Idempotency-Key once', async () => {
  const key = { 'idempotency-key': 'in-a-cluster' };
  const [first, again] = [
    await stack.client.expect<{ id: string }>(202, 'POST', '/v1/events', QUICK_WIN, key),
    await stack.client.expect<{ id: string }>(202, 'POST', '/v1/events', QUICK_WIN, key),
  ];
  expect(again.body).toEqual(first.body);
});

it('lists dead letters of all queues, and retries them', async () => {
  await push('brief.imagined', 'order-2');
  const list = () =>
    stack.client.expect<{ data: { id: string; reason: string }[] }>(200, 'GET', '/v1/dead-letters');
  const [letter] = await until(async () => {
    const { data } = (await list()).body;
    return data.length === 1 ? data : undefined;
  });
  expect(letter?.reason).toContain('brief.imagined');
  await stack.client.expect(202, 'POST', `/v1/dead-letters/${letter?.id}/retry`);
  const again = await until(async () => (await list()).body.data.find(({ id }) => id !== letter?.id));
  await stack.client.expect(204, 'DELETE', `/v1/dead-letters/${again.id}`);
  expect((await list()).body.data).toEqual([]);
});

it('exports attempts, and erases an event', async () => {
  const webhookId = await register();
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await stack.client.waitForStatus(webhookId, eventId, 'delivered');
  await stack.client.expect(204, 'DELETE', `/v1/events/${eventId}/payload`);
  const exported = await stack.client.fetch(`/v1/deliveries/export?webhook_id=${webhookId}`);
  expect(JSON.parse(await exported.text())).toMatchObject({
    event_id: eventId,
    attempt: { outcome: 'delivered' },
  });
  const { body } = await stack.client.expect<{ data: unknown }>(200, 'GET', `/v1/events/${eventId}`);
  expect(body.data).toBeNull();
});

it('pauses an account, then all of its queues, and sends what waited once they are resumed', async () => {
  const id = await register();
  const paused = await stack.client.expect<{ webhooks_changed: number; pause: object }>(
    200,
    'POST',
    '/v1/accounts/default/pause',
    { reason: 'a test' },
  );
  expect(paused.body).toMatchObject({ webhooks_changed: 1, pause: { reason: 'a test' } });
  await publishMany(1);
  await until(async () => {
    const { body } = await stack.client.expect<{ health: { held: number } }>(
      200,
      'GET',
      `/v1/webhooks/${id}`,
    );
    return body.health.held === 1 ? true : undefined;
  });
  await stack.client.expect(200, 'POST', '/v1/operations/queues/deliveries/pause', {});
  const resumed = await stack.client.expect(200, 'POST', '/v1/accounts/default/resume');
  expect(resumed.body).toMatchObject({ webhooks_changed: 1, pause: null });
  await publishMany(1);
  await until(async () => {
    const { body } = await stack.client.expect<{
      queues: { name: string; paused: boolean; waiting: number }[];
    }>(200, 'GET', '/v1/operations');
    const waiting = body.queues.filter(({ name, paused: isPaused }) => name === 'deliveries' && isPaused);
    return waiting.reduce((sum, queue) => sum + queue.waiting, 0) >= 1 ? true : undefined;
  });
  expect(receiver.requests).toEqual([]);
  await stack.client.expect(200, 'POST', '/v1/operations/queues/deliveries/resume');
  await receiver.waitFor(2);
});

it('erases an account with all that it owns, also what no list leads to, on whichever node it is', async () => {
  await stack.client.expect(201, 'POST', '/v1/accounts', { id: 'acme', name: 'Acme' });
  const asAcme = { 'x-account-id': 'acme' };
  const webhook = { url: receiver.url, events: ['*'] };
  const { body } = await stack.client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook, asAcme);
  const events = Array.from({ length: EVENTS }, () => QUICK_WIN);
  await stack.client.expect(207, 'POST', '/v1/events/batch', { events }, asAcme);
  await receiver.waitFor(EVENTS);
  const connection = connect();
  await connection.del('events:{acme}');
  await connection.del(`deliveries:{${body.id}}`);
  const keysOfEvents = async () =>
    await Promise.all(connection.nodes('master').map((node) => node.keys('*:{acme/*')));
  for (const keys of await keysOfEvents()) expect(keys).not.toEqual([]);
  await stack.client.expect(202, 'DELETE', '/v1/accounts/acme');
  const gone = await until(async () => {
    const { status } = await stack.client.request('GET', '/v1/accounts/acme');
    return status === 200 ? undefined : status;
  });
  expect(gone).toBe(404);
  expect((await keysOfEvents()).flat()).toEqual([]);
  connection.disconnect();
});

// A command across hash tags fails, and is in the log of the process that sent it.
it('never sends what a Cluster refuses', () => {
  const output = [stack.api, ...stack.workers].map((part) => part.output).join('\n');
  expect(output).not.toMatch(/CROSSSLOT|MOVED|"(?:job|request|task)\.failed"/);
});
