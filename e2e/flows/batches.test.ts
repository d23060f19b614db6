import type { DeliveryView } from '../support/api-client';
import { type ReceivedRequest, Receiver, type Reply } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { until } from '../support/until';

let client: Awaited<ReturnType<typeof openAccount>>;
let receiver: Receiver;
let reply: (events: readonly string[], request: ReceivedRequest) => Reply;
beforeEach(async () => {
  client = await openAccount();
  reply = () => 200;
  receiver = await Receiver.start((request) => reply(eventsOf(request), request));
});
afterEach(() => receiver.stop());

interface Item {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: unknown;
}

function itemsOf({ body }: ReceivedRequest): readonly Item[] {
  const { type, data } = JSON.parse(body.toString()) as { type: string; data: readonly Item[] };
  expect(type).toBe('batch');
  return data;
}

const eventsOf = (request: ReceivedRequest) => itemsOf(request).map(({ id }) => id);
const idOf = ({ headers }: ReceivedRequest) => headers['webhook-id'];
const sizes = () => receiver.requests.map((request) => itemsOf(request).length);

/** A webhook that waits for a second for others, so that all that is published here goes together. */
async function register(options: object = {}): Promise<string> {
  const batch = { max_events: 100, max_wait_ms: 1_000 };
  const { id } = await client.register(receiver.url, ['*'], {
    batch,
    retry_schedule: ['1s', '1s'],
    ...options,
  });
  return id;
}

async function publish(count: number): Promise<readonly string[]> {
  const events = Array.from({ length: count }, (_, position) => ({
    type: QUICK_WIN.type,
    data: { ...QUICK_WIN.data, position: position + 1 },
  }));
  const { body } = await client.expect<{ data: { id: string }[] }>(207, 'POST', '/v1/events/batch', {
    events,
  });
  return body.data.map(({ id }) => id);
}

async function untilAll(webhook: string, events: readonly string[], status = 'delivered') {
  return await until(async () => {
    const read = await Promise.all(events.map((id) => client.readDelivery(`${id}.${webhook}`)));
    return read.every((delivery) => delivery.status === status) ? read : undefined;
  });
}

const attemptsOf = ({ attempts }: DeliveryView) => attempts;

it('sends what was published together in one request, signed, and each delivery says in which', async () => {
  const webhook = await register();
  const events = await publish(7);
  const deliveries = await untilAll(webhook, events);
  expect(sizes()).toEqual([7]);
  const items = receiver.requests.flatMap(itemsOf);
  expect(items).toHaveLength(7);
  expect(items).toEqual(
    expect.arrayContaining(
      events.map((id, index) => ({
        id,
        type: QUICK_WIN.type,
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        data: { ...QUICK_WIN.data, position: index + 1 },
      })),
    ),
  );
  const requestOf = (id: string) => receiver.requests.find((request) => eventsOf(request).includes(id));
  expect(deliveries.map(attemptsOf)).toEqual(
    deliveries.map(({ event_id }) => [
      expect.objectContaining({
        outcome: 'delivered',
        batch_id: requestOf(event_id)?.headers['webhook-id'],
      }),
    ]),
  );
});

it('retries the same set with the same id and the same bytes', async () => {
  reply = () => (receiver.requests.length < 3 ? 500 : 204);
  const webhook = await register();
  await untilAll(webhook, await publish(20));
  expect(sizes()).toEqual([20, 20, 20]);
  expect(new Set(receiver.requests.map(idOf)).size).toBe(1);
  expect(new Set(receiver.requests.map(({ body }) => body.toString())).size).toBe(1);
});

it('sends those again that the receiver has not taken, and no others', async () => {
  const webhook = await register();
  const seen = new Set<number>();
  reply = (_events, request) => {
    const positions = itemsOf(request).map(
      ({ id, data }) => [id, (data as { position: number }).position] as const,
    );
    const failed = positions.filter(([, position]) => position > 3 && !seen.has(position));
    for (const [, position] of failed) seen.add(position);
    return { status: 200, body: JSON.stringify({ failed: failed.map(([id]) => id) }) };
  };
  const deliveries = await untilAll(webhook, await publish(5));
  expect(deliveries.map(({ attempts }) => attempts.map(({ outcome }) => outcome))).toEqual([
    ['delivered'],
    ['delivered'],
    ['delivered'],
    ['rejected_in_batch', 'delivered'],
    ['rejected_in_batch', 'delivered'],
  ]);
  expect(sizes()).toEqual([5, 2]);
});

it('halves what is too large, which uses no attempt, and fails the one that is too large alone', async () => {
  const webhook = await register({ retry_schedule: ['1s'] });
  reply = (ids) => (ids.length > 2 || ids.includes(events[0] ?? '') ? 413 : 204);
  const events = await publish(8);
  const taken = await untilAll(webhook, events.slice(1));
  expect(taken.map(({ attempts }) => attempts.length)).toEqual(events.slice(1).map(() => 1));
  const [refused] = await untilAll(webhook, events.slice(0, 1), 'exhausted');
  expect(refused?.attempts.map(({ outcome }) => outcome)).toEqual(['http_4xx', 'http_4xx']);
});

it('keeps the order of acceptance, also over a failure', async () => {
  const webhook = await register({ ordering: 'strict', batch: { max_events: 4, max_wait_ms: 300 } });
  reply = () => (receiver.requests.length === 2 ? 500 : 204);
  const events: string[] = [];
  for (let i = 0; i < 12; i += 1) events.push(await client.publish(QUICK_WIN.type, QUICK_WIN.data));
  await untilAll(webhook, events);
  const [first = [], failed = [], ...others] = receiver.requests.map(eventsOf);
  expect(others[0]).toEqual(failed);
  expect([...first, ...others.flat()]).toEqual(events);
});

it('sends the events of one group in a request, in their order, also over a failure', async () => {
  const webhook = await register({ ordering: 'group', batch: { max_events: 4, max_wait_ms: 300 } });
  let failed: readonly string[] | undefined;
  reply = (ids) => {
    failed ??= ids;
    return failed === ids ? 500 : 204;
  };
  const groupOf = new Map<string, string | undefined>();
  for (let i = 0; i < 14; i += 1) {
    const group = i % 7 === 6 ? undefined : `order-${i % 2}`;
    const { body } = await client.expect<{ id: string }>(202, 'POST', '/v1/events', { ...QUICK_WIN, group });
    groupOf.set(body.id, group);
  }
  const events = [...groupOf.keys()];
  await untilAll(webhook, events);
  const sent = receiver.requests.map(eventsOf);
  for (const ids of sent) expect(new Set(ids.map((id) => groupOf.get(id) ?? id)).size).toBe(1);
  expect(sent.filter((ids) => ids.join() === failed?.join())).toHaveLength(2);
  for (const group of ['order-0', 'order-1']) {
    const own = events.filter((id) => groupOf.get(id) === group);
    const seen = [...new Set(sent.flat())].filter((id) => own.includes(id));
    expect(seen).toEqual(own);
  }
  expect(Math.max(...sent.map(({ length }) => length))).toBeGreaterThan(1);
});

it('makes each event by the code of the webhook before it goes with others', async () => {
  const webhook = await register();
  const code =
    'export default ({ data }) => (data.position === 2 ? { cancel: true } : { body: data.position });';
  await client.expect(201, 'PUT', `/v1/webhooks/${webhook}/transformation`, { code });
  const events = await publish(3);
  await untilAll(webhook, [events[0] ?? '', events[2] ?? '']);
  await client.waitForStatus(webhook, events[1] ?? '', 'cancelled');
  const made = receiver.requests.flatMap(itemsOf).map(({ data }) => data);
  expect(made.toSorted()).toEqual([1, 3]);
});

it.each([
  [{ max_wait_ms: 1 }, 'none'],
  [{ max_events: 1 }, 'none'],
  [null, 'none'],
  [{ max_wait_ms: 1 }, 'group'],
  [null, 'group'],
])(
  'says why and until when it waits, and goes once the webhook is changed: %j, order %s',
  async (batch, ordering) => {
    const any = await Receiver.start();
    const settings = { batch: { max_wait_ms: 60_000 }, ordering };
    const { id: webhook } = await client.register(any.url, ['*'], settings);
    const sent = { ...QUICK_WIN, group: 'order-1' };
    const { id: event } = (await client.expect<{ id: string }>(202, 'POST', '/v1/events', sent)).body;
    const { hold } = await client.waitForStatus(webhook, event, 'held');
    expect(hold?.reason).toBe('batching');
    expect(Date.parse(hold?.until ?? '') - Date.parse(hold?.since ?? '')).toBe(60_000);
    await client.expect(200, 'PATCH', `/v1/webhooks/${webhook}`, { batch });
    const { attempts } = await client.waitForStatus(webhook, event, 'delivered');
    expect(attempts).toHaveLength(1);
    await any.stop();
  },
);

it('leaves out what was erased while it waited', async () => {
  const webhook = await register();
  const [erased = '', ...kept] = await publish(3);
  await client.expect(204, 'DELETE', `/v1/events/${erased}/payload`);
  await untilAll(webhook, kept);
  await client.waitForStatus(webhook, erased, 'cancelled');
  expect(receiver.requests.flatMap(eventsOf).toSorted()).toEqual(kept.toSorted());
});

it('counts the events of a request, where the rate limit does', async () => {
  const webhook = await register({ rate_limit: 2, rate_limit_unit: 'events' });
  await untilAll(webhook, await publish(5));
  expect(Math.max(...sizes())).toBeLessThanOrEqual(2);
});

it('sends a list of CloudEvents', async () => {
  const lists: { type: string | undefined; events: unknown[] }[] = [];
  const other = await Receiver.start(({ body, headers }) => {
    lists.push({ type: headers['content-type'], events: JSON.parse(body.toString()) });
    return 204;
  });
  const batch = { max_wait_ms: 1_000 };
  const { id: webhook } = await client.register(other.url, ['*'], { batch, format: 'cloudevents_batch' });
  const events = await publish(2);
  await untilAll(webhook, events);
  await other.stop();
  const event = (id: string) => expect.objectContaining({ specversion: '1.0', id, type: QUICK_WIN.type });
  expect(new Set(lists.map(({ type }) => type))).toEqual(new Set(['application/cloudevents-batch+json']));
  expect(lists.flatMap(({ events: sent }) => sent)).toEqual(
    expect.arrayContaining(events.map((id) => event(id))),
  );
});

it('refuses limits for a format that has one event in a request', async () => {
  const webhook = {
    url: receiver.url,
    events: ['*'],
    batch: { max_events: 5 },
    format: 'cloudevents_binary',
  };
  const { body } = await client.expect(422, 'POST', '/v1/webhooks', webhook);
  expect(body).toMatchObject({ errors: [{ pointer: '/format' }] });
});
