import { Queue } from 'bullmq';
import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { Stack } from '../support/stack';
import { until } from '../support/until';

let stack: Stack;
let receiver: Receiver;
let events: Queue;
let deadLetters: Queue;
/** Clients of API processes beside the first. */
let second: ApiClient;
let third: ApiClient;
beforeAll(async () => {
  stack = await Stack.start();
  receiver = await Receiver.start();
  [second, third] = (await Promise.all([0, 1].map(async () => (await stack.startApi()).client))) as [
    ApiClient,
    ApiClient,
  ];
  events = new Queue('events', { connection: stack.redis.client });
  deadLetters = new Queue('events-dead-letters', { connection: stack.redis.client });
});
afterAll(async () => {
  await Promise.all([events.close(), deadLetters.close(), receiver.stop()]);
  await stack.stop();
});

const path = '/v1/event-types/invoice.paid';
const schema = {
  type: 'object',
  properties: { id: { type: 'string' }, amount: { type: 'number' } },
  required: ['id'],
};
const paid = { description: 'An invoice was paid.', schema, example: { id: 'inv_1' } };
const job = { account_id: 'default', type: 'invoice.paid' };

it('has a type that an operator adds at one API process in force in all processes at once', async () => {
  const unknown = { type: 'invoice.paid', data: { id: 'inv_1' } };
  for (const client of [second, third]) await client.expect(422, 'POST', '/v1/events', unknown);

  await stack.client.expect(201, 'PUT', path, paid);
  const webhook = await second.register(receiver.url, ['invoice.*']);
  const text = '{"type":"invoice.paid","data":{ "id" : "inv_1", "amount":10.00 }}';
  const accepted = await second.expect<{ id: string }>(202, 'POST', '/v1/events', text);
  const { body } = await third.expect<{ errors: object[] }>(422, 'POST', '/v1/events', {
    type: 'invoice.paid',
    data: { id: 1 },
  });
  expect(body.errors).toMatchObject([{ pointer: '/data/id' }]);
  await events.add('invoice.paid', { ...job, id: 'from-the-queue', data: { id: 'inv_2' } });

  await stack.client.waitForStatus(webhook.id, accepted.body.id, 'delivered');
  await stack.client.waitForStatus(webhook.id, 'from-the-queue', 'delivered');
  expect(receiver.requests.map((request) => request.body.toString()).toSorted()).toEqual(
    ['{"type":"invoice.paid","data":{"id":"inv_2"}}', text].toSorted(),
  );

  const wrong = await events.add('invoice.paid', { ...job, data: { amount: 1 } });
  const letter = await until(async () =>
    (await deadLetters.getWaiting()).find(({ data }) => data.job.id === wrong.id),
  );
  expect(letter.data.errors).toMatchObject([{ pointer: '/data/id' }]);
});

it('sends the example of such a type as a test: when it is told to, or to a webhook that asked for nothing else', async () => {
  await stack.client.expect(200, 'PUT', path, paid);
  const own = await Receiver.start();
  const webhook = await third.register(own.url, ['invoice.*']);
  for (const body of [{ event_type: 'invoice.paid' }, {}]) {
    const sent = await third.expect<{ event_id: string }>(
      202,
      'POST',
      `/v1/webhooks/${webhook.id}/test`,
      body,
    );
    const delivery = await third.waitForStatus(webhook.id, sent.body.event_id, 'delivered');
    expect(delivery.attempts).toMatchObject([{ trigger: 'test' }]);
  }
  const seen = own.requests.map(({ body }) => JSON.parse(body.toString()));
  expect(seen).toEqual([0, 1].map(() => ({ type: 'invoice.paid', data: paid.example })));
  await own.stop();
});

it('checks by a replacement at once, whichever process took the last event', async () => {
  const event = { type: 'invoice.paid', data: { amount: 1 } };
  const statuses = async () => {
    const responses = [stack.client, second, third].map((client) =>
      client.request('POST', '/v1/events', event),
    );
    return (await Promise.all(responses)).map(({ status }) => status);
  };
  await stack.client.expect(200, 'PUT', path, paid);
  expect(await statuses()).toEqual([422, 422, 422]);
  await third.expect(200, 'PUT', path, { ...paid, schema: { ...schema, required: [] } });
  expect(await statuses()).toEqual([202, 202, 202]);
});

it('has a type that is removed out of force in all processes at once, and delivers what was accepted of it', async () => {
  await stack.client.expect(200, 'PUT', path, paid);
  let isUp = false;
  const slow = await Receiver.start(() => (isUp ? 204 : 503));
  const webhook = await stack.client.register(slow.url, ['invoice.*']);
  const event = { type: 'invoice.paid', data: { id: 'inv_1' } };
  const accepted = await second.expect<{ id: string }>(202, 'POST', '/v1/events', event);
  await slow.waitFor(1);
  const webhooks = await stack.client.request<{ data: { id: string }[] }>('GET', '/v1/webhooks');
  for (const { id } of webhooks.body.data) {
    await third.expect(200, 'PATCH', `/v1/webhooks/${id}`, { events: ['*'] });
  }
  await third.expect(204, 'DELETE', path);

  for (const client of [stack.client, second, third]) await client.expect(422, 'POST', '/v1/events', event);
  const late = await events.add('invoice.paid', { ...job, data: { id: 'inv_3' } });
  const letter = await until(async () =>
    (await deadLetters.getWaiting()).find(({ data }) => data.job.id === late.id),
  );
  expect(letter.data.errors).toMatchObject([{ pointer: '/type' }]);

  isUp = true;
  const delivery = `${accepted.body.id}.${webhook.id}`;
  await third.expect(202, 'POST', `/v1/deliveries/${delivery}/redeliver`);
  await third.waitForStatus(webhook.id, accepted.body.id, 'delivered');
  expect(slow.requests.at(-1)?.body.toString()).toBe(JSON.stringify(event));
  await slow.stop();
});
