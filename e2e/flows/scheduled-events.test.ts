import { join } from 'node:path';
import { Queue } from 'bullmq';
import { publishFromProcess } from '../support/publish-from-process';
import { readDatabase } from '../support/read-database';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

interface Event {
  readonly id: string;
  readonly status: string;
  readonly created_at: string;
  readonly deliver_at: string | null;
}

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const SOON_MS = 1_500;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A process whose clock is off. */
const shifted = (ms: number) => ({
  NODE_OPTIONS: `--require ${join(__dirname, '../support/shift-clock.cjs')}`,
  CLOCK_SHIFT_MS: String(ms),
});

let stack: Stack;
let receiver: Receiver;
let webhookId: string;
let events: Queue;

beforeAll(async () => {
  stack = await Stack.start({ workers: 2 });
  events = new Queue('events', { connection: stack.redis.client });
});
beforeEach(async () => {
  receiver = await Receiver.start();
  webhookId = (await stack.client.register(receiver.url)).id;
});
afterEach(async () => {
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhookId}`);
  await receiver.stop();
});
afterAll(async () => {
  await events.close();
  await stack.stop();
});

async function schedule(deliverAt: string, more: object = {}): Promise<Event> {
  const body = { ...QUICK_WIN, deliver_at: deliverAt, ...more };
  return (await stack.client.expect<Event>(202, 'POST', '/v1/events', body)).body;
}

const read = async (id: string) => (await stack.client.expect<Event>(200, 'GET', `/v1/events/${id}`)).body;

async function listed(query: string): Promise<readonly Event[]> {
  const path = `/v1/events${query}`;
  return (await stack.client.expect<{ data: readonly Event[] }>(200, 'GET', path)).body.data;
}

const idsOf = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id);

/** What was published to be sent at once, and has arrived, was behind all that was due before. */
async function untilAllHasArrived(): Promise<void> {
  const last = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await stack.client.waitForStatus(webhookId, last, 'delivered');
}

const arrivedAt = (id: string) =>
  receiver.requests.find(({ headers }) => headers['webhook-id'] === id)?.receivedAt;

it('is sent when it is due, within a second, to those that ask for it then', async () => {
  const deliverAt = inMs(SOON_MS);
  const { id, status, created_at, deliver_at } = await schedule(deliverAt);
  expect([status, deliver_at]).toEqual(['scheduled', deliverAt]);
  const late = await stack.client.register(receiver.url, ['keyword.*']);
  expect(await read(id)).toMatchObject({
    status: 'scheduled',
    deliver_at,
    created_at,
    deliveries: { total: 0 },
  });
  expect(idsOf(await listed('?status=scheduled'))).toEqual([id]);
  expect(idsOf(await listed('?limit=200'))).not.toContain(id);

  await stack.client.waitForStatus(webhookId, id, 'delivered');
  await stack.client.waitForStatus(late.id, id, 'delivered');
  const afterMs = (arrivedAt(id) ?? 0) - Date.parse(deliverAt);
  expect(afterMs).toBeGreaterThanOrEqual(0);
  expect(afterMs).toBeLessThan(5_000);
  expect(await read(id)).toMatchObject({ status: 'accepted', deliver_at, created_at });
  expect(await listed('?status=scheduled')).toEqual([]);
  expect(idsOf(await listed('?limit=200'))).toContain(id);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${late.id}`);
});

it('is accepted as an item of a batch, and by the queue', async () => {
  const deliverAt = inMs(SOON_MS);
  const items = [
    { ...QUICK_WIN, deliver_at: deliverAt },
    QUICK_WIN,
    { ...QUICK_WIN, deliver_at: inMs(-61_000) },
    { ...QUICK_WIN, deliver_at: inMs(31 * DAY_MS) },
  ];
  const { body } = await stack.client.expect<{
    data: readonly (Event & { status_code: number; error?: { code: string } })[];
  }>(207, 'POST', '/v1/events/batch', { events: items });
  const shown = body.data.map(({ status_code: status, deliver_at, error }) => [
    status,
    deliver_at ?? error?.code,
  ]);
  expect(shown).toEqual([
    [202, deliverAt],
    [202, undefined],
    [422, 'deliver_at_in_past'],
    [422, 'deliver_at_too_far'],
  ]);
  await publishFromProcess(stack.redis.url, { ...QUICK_WIN, id: 'pushed-later', deliverAt });
  await until(async () => ((await read('pushed-later').catch(() => undefined)) ? true : undefined));
  await stack.client.waitForStatus(webhookId, body.data[0]?.id ?? '', 'delivered');
  await stack.client.waitForStatus(webhookId, 'pushed-later', 'delivered');
  expect(arrivedAt('pushed-later')).toBeGreaterThanOrEqual(Date.parse(deliverAt));
});

it('is sent at once for a time of up to a minute ago, and refused for an older one', async () => {
  const body = { ...QUICK_WIN, deliver_at: inMs(-30_000) };
  const { body: accepted } = await stack.client.expect<Event>(202, 'POST', '/v1/events', body);
  expect(accepted).toMatchObject({ status: 'accepted', deliver_at: null });
  await stack.client.waitForStatus(webhookId, accepted.id, 'delivered');
  const tooLate = { ...QUICK_WIN, deliver_at: inMs(-61_000) };
  const { body: problem } = await stack.client.expect(422, 'POST', '/v1/events', tooLate);
  expect(problem).toMatchObject({ code: 'deliver_at_in_past', errors: [{ pointer: '/deliver_at' }] });
});

it('is moved, to be sent earlier or later', async () => {
  const { id } = await schedule(inMs(DAY_MS));
  const later = await schedule(inMs(SOON_MS));
  const { body } = await stack.client.expect<Event>(200, 'PATCH', `/v1/events/${later.id}`, {
    deliver_at: inMs(DAY_MS),
  });
  expect(body).toMatchObject({ id: later.id, status: 'scheduled' });
  const deliverAt = inMs(SOON_MS);
  await stack.client.expect(200, 'PATCH', `/v1/events/${id}`, { deliver_at: deliverAt });
  await stack.client.waitForStatus(webhookId, id, 'delivered');
  expect(arrivedAt(id)).toBeGreaterThanOrEqual(Date.parse(deliverAt));
  await untilAllHasArrived();
  expect(arrivedAt(later.id)).toBeUndefined();
  const { body: problem } = await stack.client.expect(409, 'PATCH', `/v1/events/${id}`, {
    deliver_at: inMs(DAY_MS),
  });
  expect(problem).toMatchObject({ code: 'already_due' });
  await stack.client.expect(409, 'DELETE', `/v1/events/${id}`);
  await stack.client.expect(204, 'DELETE', `/v1/events/${later.id}`);
});

it('is cancelled: on record, sent to nobody, also when its id is published or pushed again', async () => {
  const { id, deliver_at } = await schedule(inMs(SOON_MS), { id: 'cancelled-1' });
  // What a process has read of it a moment before is out of date.
  expect(await read(id)).toMatchObject({ status: 'scheduled' });
  await stack.client.expect(204, 'DELETE', `/v1/events/${id}`);
  expect(await read(id)).toMatchObject({ status: 'cancelled' });
  await stack.client.expect(204, 'DELETE', `/v1/events/${id}`);
  const cancelled = { status: 'cancelled', deliver_at };
  expect(await read(id)).toMatchObject({ ...cancelled, deliveries: { total: 0 } });
  expect((await listed('?limit=200')).find((one) => one.id === id)).toMatchObject(cancelled);

  await stack.client.expect(200, 'POST', '/v1/events', { ...QUICK_WIN, id });
  const job = { account_id: 'default', id, ...QUICK_WIN };
  await events.add(QUICK_WIN.type, job);
  await events.add(QUICK_WIN.type, { ...job, deliver_at: inMs(SOON_MS), v: 2 });
  await until(async () =>
    (await events.getJobCountByTypes('wait', 'active', 'prioritized')) === 0 ? true : undefined,
  );
  const after = await schedule(inMs(2 * SOON_MS));
  await stack.client.waitForStatus(webhookId, after.id, 'delivered');
  expect(arrivedAt(id)).toBeUndefined();
  expect(await read(id)).toMatchObject(cancelled);
});

it('makes one event of a request that is repeated, and keeps its response for as long as it waits', async () => {
  const body = { ...QUICK_WIN, deliver_at: inMs(20 * DAY_MS) };
  const headers = { 'idempotency-key': 'later' };
  const first = await stack.client.expect<Event>(202, 'POST', '/v1/events', body, headers);
  const again = await stack.client.expect<Event>(202, 'POST', '/v1/events', body, headers);
  expect(again.body).toEqual(first.body);
  const [key = ''] = await stack.redis.client.keys('idempotency:*');
  expect(await stack.redis.client.pttl(key)).toBeGreaterThan(20 * DAY_MS);
  await stack.client.expect(200, 'PATCH', `/v1/events/${first.body.id}`, { deliver_at: inMs(25 * DAY_MS) });
  expect(await stack.redis.client.pttl(key)).toBeGreaterThan(25 * DAY_MS);
  await stack.client.expect(204, 'DELETE', `/v1/events/${first.body.id}`);
});

it('is cancelled when its payload is erased, of which nothing is left', async () => {
  const data = { ...QUICK_WIN.data, keyword: 'marker-7e1c' };
  const { id } = await schedule(inMs(DAY_MS), { data });
  await stack.client.expect(204, 'DELETE', `/v1/events/${id}/payload`);
  expect(await read(id)).toMatchObject({ status: 'cancelled', data: null });
  expect(await readDatabase(stack.redis.client)).not.toContain('marker-7e1c');
});

it('leaves nothing when its account is erased', async () => {
  await stack.client.expect(201, 'POST', '/v1/accounts', { id: 'leaving' });
  const own = { 'x-account-id': 'leaving' };
  const body = { ...QUICK_WIN, deliver_at: inMs(DAY_MS), id: 'of-leaving' };
  await stack.client.expect(202, 'POST', '/v1/events', body, own);
  await stack.client.expect(202, 'DELETE', '/v1/accounts/leaving');
  await until(async () => {
    const { status } = await stack.client.request('GET', '/v1/accounts/leaving');
    return status === 404 ? true : undefined;
  });
  expect(await readDatabase(stack.redis.client)).not.toContain('of-leaving');
});

it('is sent once by processes whose clocks are five seconds off, and by those that start after it was due', async () => {
  await stack.stopWorkers();
  const behind = await stack.startApi(shifted(-5_000));
  const ahead = await stack.startApi(shifted(5_000));
  const deliverAt = inMs(SOON_MS);
  const ids = await Promise.all(
    [behind, ahead].map(async ({ client }) => {
      const body = { ...QUICK_WIN, deliver_at: deliverAt };
      return (await client.expect<Event>(202, 'POST', '/v1/events', body)).body.id;
    }),
  );
  const early = await schedule(inMs(HOUR_MS));
  await stack.startWorker(shifted(5_000));
  await stack.startWorker(shifted(-5_000));
  for (const id of ids) await stack.client.waitForStatus(webhookId, id, 'delivered');
  await untilAllHasArrived();
  const sent = ids.map((id) => receiver.requests.filter(({ headers }) => headers['webhook-id'] === id));
  expect(sent.map((requests) => requests.length)).toEqual([1, 1]);
  for (const [request] of sent) {
    expect(request?.receivedAt).toBeGreaterThanOrEqual(Date.parse(deliverAt) - 5_000);
  }
  expect(await read(early.id)).toMatchObject({ status: 'scheduled' });
  await stack.client.expect(204, 'DELETE', `/v1/events/${early.id}`);
});
