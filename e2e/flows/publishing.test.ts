import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { Queue } from 'bullmq';
import type { ApiClient, ApiResponse } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

let stack: Stack;
let receiver: Receiver;
let webhookId: string;

beforeAll(async () => {
  stack = await Stack.start({ workers: 2 });
});
beforeEach(async () => {
  receiver = await Receiver.start();
  webhookId = (await stack.client.register(receiver.url)).id;
});
afterEach(async () => {
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhookId}`);
  await receiver.stop();
});
afterAll(() => stack.stop());

interface Accepted {
  readonly id: string;
}

/** Two ways to say that it is the same request, whoever asks how often. */
const ways: [string, (client: ApiClient, name: string) => Promise<ApiResponse<Accepted>>][] = [
  [
    'an Idempotency-Key',
    (client, name) =>
      client.request('POST', '/v1/events', eventOf(name), { 'idempotency-key': `key-of-${name}` }),
  ],
  [
    'an id',
    (client, name) => client.request('POST', '/v1/events', { ...eventOf(name), id: `id-of-${name}` }),
  ],
];

function eventOf(keyword: string) {
  return { type: QUICK_WIN.type, data: { ...QUICK_WIN.data, keyword } };
}

/** Publishes one more event; once that is delivered and nothing waits any more, so is all that came before. */
async function untilAllIsDelivered(): Promise<void> {
  const last = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await stack.client.waitForStatus(webhookId, last, 'delivered');
  await until(async () => {
    const deliveries = await stack.client.listDeliveries(webhookId);
    return deliveries.every(({ status }) => status === 'delivered') ? true : undefined;
  });
}

const receivedOf = (name: string) => receiver.requests.filter(({ body }) => body.includes(name));

it('delivers the bytes that were published, in all their peculiarity', async () => {
  const data =
    '{ "keyword" : "\\u006b\\/\\ud83d 🚀", "position":9007199254740993,\n"volume":7,\t"volume":-0 }';
  const { status } = await stack.client.request(
    'POST',
    '/v1/events',
    `{"data":${data},"type":"${QUICK_WIN.type}"}`,
  );
  expect(status).toBe(202);
  const [request] = await receiver.waitFor(1);
  expect(request?.body.toString()).toBe(`{"type":"${QUICK_WIN.type}","data":${data}}`);
});

describe.each(ways)('a request that has %s', (_what, publish) => {
  it('is delivered once when it is sent 100 times at the same time', async () => {
    const name = 'a-hundred-at-once';
    const responses = await Promise.all(Array.from({ length: 100 }, () => publish(stack.client, name)));
    const ids = responses.filter(({ status }) => status < 300).map(({ body }) => body.id);
    expect(new Set(ids).size).toBe(1);
    expect(responses.filter(({ status }) => status >= 300 && status !== 409)).toEqual([]);

    await untilAllIsDelivered();
    expect(receivedOf(name)).toHaveLength(1);
  });

  it('is delivered once by a retry after the API was killed between the claim and the queue', async () => {
    const name = 'killed-in-between';
    const proxy = await startRedisProxy(stack.redis.url);
    const { api, client } = await stack.startApi({ REDIS_URL: proxy.url });
    const held = proxy.hold(name);
    const ending = publish(client, name).then(
      () => 'accepted',
      () => 'lost',
    );
    await held;
    await api.end('SIGKILL');
    expect(await ending).toBe('lost');
    await proxy.close();
    expect(await stack.client.listDeliveries(webhookId)).toEqual([]);

    const accepted = await until(async () => {
      const response = await publish(stack.client, name);
      return response.status === 409 ? undefined : response;
    });
    expect(accepted.status).toBe(202);
    const again = await publish(stack.client, name);
    expect(again.body).toEqual(accepted.body);

    await untilAllIsDelivered();
    expect(receivedOf(name).map(({ headers }) => headers['webhook-id'])).toEqual([accepted.body.id]);
  });
});

it('delivers each good event of a batch once, also when the batch is sent again', async () => {
  const events = [eventOf('batch-1'), { type: 'no.such', data: {} }, eventOf('batch-2')];
  const send = () =>
    stack.client.request<{ data: { status_code: number }[] }>(
      'POST',
      '/v1/events/batch',
      { events },
      { 'idempotency-key': 'batch' },
    );
  const first = await send();
  expect(first.body.data.map(({ status_code: status }) => status)).toEqual([202, 422, 202]);
  expect((await send()).body).toEqual(first.body);

  await untilAllIsDelivered();
  expect(receivedOf('batch-')).toHaveLength(2);
});

it('delivers an event to the webhooks that it is aimed at, and to no other', async () => {
  const aimedAt = await stack.client.register(receiver.url.replace('/hook', '/aimed'), ['brief.created']);
  const event = { ...eventOf('aimed'), id: 'aimed', webhook_ids: [aimedAt.id] };
  await stack.client.expect(202, 'POST', '/v1/events', event);
  await stack.client.waitForStatus(aimedAt.id, event.id, 'delivered');
  expect(receivedOf('aimed').map(({ path }) => path)).toEqual(['/aimed']);
  expect(await stack.client.listDeliveries(webhookId)).toEqual([]);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${aimedAt.id}`);
});

describe('the request that published an event', () => {
  interface Named {
    readonly id: string;
    readonly request_id: string | null;
  }
  const ended = (id: string) => async () => {
    const lines = stack.workers.flatMap(({ log }) => log);
    return lines.find(({ message, event_id: eventId }) => message === 'delivery.ended' && eventId === id);
  };

  async function requestOf(id: string): Promise<string | null> {
    const { body } = await stack.client.expect<Named>(200, 'GET', `/v1/events/${id}`);
    const { body: list } = await stack.client.expect<{ data: Named[] }>(200, 'GET', '/v1/events?limit=100');
    expect(list.data.find((event) => event.id === id)?.request_id).toBe(body.request_id);
    return body.request_id;
  }

  it('is named by the event, and by the lines of the worker that delivers it', async () => {
    const { body, headers } = await stack.client.request<Accepted>('POST', '/v1/events', eventOf('named'));
    const requestId = headers.get('x-request-id');
    expect(requestId).toMatch(/^req_/);
    expect(await requestOf(body.id)).toBe(requestId);
    expect(await until(ended(body.id))).toMatchObject({ status: 'delivered', request_id: requestId });
  });

  it('is the first one of those that publish it, under the id that its client chose', async () => {
    const event = { ...eventOf('chosen'), id: 'chosen' };
    const publish = (status: number, id: string) =>
      stack.client.expect(status, 'POST', '/v1/events', event, { 'x-request-id': id });
    await publish(202, 'order-4711-try-1');
    await publish(200, 'order-4711-try-2');
    expect(await requestOf('chosen')).toBe('order-4711-try-1');
    await stack.client.expect(204, 'DELETE', '/v1/events/chosen/payload');
    expect(await requestOf('chosen')).toBe('order-4711-try-1');
  });

  it('is the same for the events of a batch, also of those that a worker fans out', async () => {
    const many = await Promise.all(
      Array.from({ length: 33 }, () => stack.client.register(receiver.url, [BRIEF.type])),
    );
    const events = [eventOf('one'), BRIEF];
    const { body, headers } = await stack.client.request<{ data: Accepted[] }>('POST', '/v1/events/batch', {
      events,
    });
    for (const { id } of body.data) {
      expect(await until(ended(id))).toMatchObject({ request_id: headers.get('x-request-id') });
      expect(await requestOf(id)).toBe(headers.get('x-request-id'));
    }
    for (const { id } of many) await stack.client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  });

  it('is not there for an event that a producer pushed onto the queue', async () => {
    const queue = new Queue('events', { connection: stack.redis.client });
    await queue.add(QUICK_WIN.type, { account_id: 'default', id: 'pushed', ...eventOf('pushed') });
    await queue.close();
    const line = await until(ended('pushed'));
    expect([line.request_id, await requestOf('pushed')]).toEqual([undefined, null]);
  });
});
