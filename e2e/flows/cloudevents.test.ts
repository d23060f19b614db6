import { createClosables } from '@hookferry/core/testing/closables';
import { Ajv2020 } from 'ajv/dist/2020';
import { CloudEvent, HTTP } from 'cloudevents';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import type { ApiClient } from '../support/api-client';
import { type ReceivedRequest, Receiver, type Reply } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { Stack } from '../support/stack';

let client: ApiClient;
beforeEach(async () => {
  client = await openAccount();
});
const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function startReceiver(reply?: (request: ReceivedRequest, count: number) => Reply): Promise<Receiver> {
  const receiver = await Receiver.start(reply);
  willClose({ close: () => receiver.stop() });
  return receiver;
}

/** The event as the SDK reads it at a receiver. */
function read({ headers, body }: ReceivedRequest): CloudEvent<unknown> {
  const event = HTTP.toEvent({ headers, body: body.toString() });
  if (!(event instanceof CloudEvent)) throw new Error('It is no single CloudEvent.');
  return event;
}

const cloudevents = {
  source: 'https://shop.example.com/orders',
  type_prefix: 'com.example.',
  subject_pointer: '/keyword',
};
const FORMATS = ['cloudevents_structured', 'cloudevents_binary'] as const;

describe.each(FORMATS)('a webhook of the format %s', (format) => {
  it('gets CloudEvents that the SDK reads, signed', async () => {
    const receiver = await startReceiver();
    const { id, secret } = await client.register(receiver.url, ['*'], { format, cloudevents });
    const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await client.waitForStatus(id, eventId, 'delivered');
    const [request] = receiver.requests;
    if (!request) throw new Error('Nothing came.');
    expect(read(request)).toMatchObject({
      id: eventId,
      source: cloudevents.source,
      type: `com.example.${QUICK_WIN.type}`,
      data: QUICK_WIN.data,
    });
    // The SDK leaves headers percent-encoded.
    const { subject = '' } = read(request);
    expect(decodeURIComponent(subject)).toBe(QUICK_WIN.data.keyword);
    const body = request.body.toString();
    expect(new StandardWebhook(secret).verify(body, request.headers as Record<string, string>)).toEqual(
      JSON.parse(body),
    );
  });

  it('gets the same bytes on every attempt, by a redelivery, and as a test', async () => {
    const receiver = await startReceiver((_request, count) => ({ status: count === 1 ? 500 : 204 }));
    const { id } = await client.register(receiver.url, ['*'], { format, retry_schedule: ['0s'] });
    const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await client.waitForStatus(id, eventId, 'delivered');
    await client.expect(202, 'POST', `/v1/deliveries/${eventId}.${id}/redeliver`);
    await receiver.waitFor(3);
    const contents = receiver.requests.map(({ headers, body }) => [
      body.toString(),
      Object.entries(headers).filter(([name]) => name === 'content-type' || name.startsWith('ce-')),
    ]);
    expect(contents).toEqual([contents[0], contents[0], contents[0]]);
    const path = `/v1/deliveries/${eventId}.${id}/content`;
    const { body: content } = await client.expect<object>(200, 'GET', path);
    expect(content).toEqual({ body: contents[0]?.[0], headers: Object.fromEntries(contents[0]?.[1] as []) });
    await client.expect(202, 'POST', `/v1/webhooks/${id}/test`, {});
    await receiver.waitFor(4);
    expect(receiver.requests[3]?.headers['x-service-test']).toBe('true');
    expect(read(receiver.requests[3] as ReceivedRequest)).toHaveProperty('source');
  });
});

it('shows with an attempt by which headers its body was described, and none of its data', async () => {
  const receiver = await startReceiver();
  const { id } = await client.register(receiver.url, ['*'], { format: 'cloudevents_binary', cloudevents });
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const { attempts } = await client.waitForStatus(id, eventId, 'delivered');
  expect(attempts).toMatchObject([
    {
      request_headers: {
        'content-type': 'application/json',
        'ce-id': eventId,
        'ce-source': cloudevents.source,
        'ce-type': `com.example.${QUICK_WIN.type}`,
        'ce-subject': '***',
      },
    },
  ]);
});

it('hands them over to listeners, which change their format when they are made again', async () => {
  const listen = async (body: object) =>
    (await client.request<object>('POST', '/v1/listeners', { name: 'mine', ...body })).body;
  expect(await listen({ format: 'cloudevents_binary', cloudevents })).toMatchObject({
    format: 'cloudevents_binary',
    cloudevents,
  });
  expect(await listen({ format: 'native' })).toMatchObject({ format: 'native' });
});

it('takes a change of the format from the next attempt on', async () => {
  const receiver = await startReceiver();
  const { id } = await client.register(receiver.url, ['*'], {
    format: 'cloudevents_structured',
    cloudevents,
  });
  const first = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(id, first, 'delivered');
  const patch = { format: null, cloudevents: { source: null, type_prefix: null, subject_pointer: null } };
  const { body } = await client.expect<object>(200, 'PATCH', `/v1/webhooks/${id}`, patch);
  expect(body).toMatchObject({ format: 'native', cloudevents: null });
  const second = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.waitForStatus(id, second, 'delivered');
  expect(JSON.parse(String(receiver.requests[1]?.body))).toEqual(QUICK_WIN);
});

it('names the service and the schema of the type, which everybody may read, where it has an address', async () => {
  const PUBLIC_URL = 'https://hooks.example.com';
  const stack = await Stack.start({ environment: { PUBLIC_URL } });
  willClose({ close: () => stack.stop() });
  const receiver = await startReceiver();
  const { id } = await stack.client.register(receiver.url, ['*'], { format: 'cloudevents_structured' });
  await stack.client.waitForStatus(
    id,
    await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data),
    'delivered',
  );
  const event = read(receiver.requests[0] as ReceivedRequest);
  const { dataschema = '', source } = event;
  expect(source).toBe(`${PUBLIC_URL}/accounts/default`);
  expect(dataschema.startsWith(PUBLIC_URL)).toBe(true);
  const address = stack.client.baseUrl + dataschema.slice(PUBLIC_URL.length);
  const response = await fetch(address);
  const isValid = new Ajv2020({ strict: false }).compile((await response.json()) as object);
  expect(isValid(event.data)).toBe(true);
  expect(isValid({})).toBe(false);
  const etag = response.headers.get('etag') ?? '';
  expect((await fetch(address, { headers: { 'if-none-match': etag } })).status).toBe(304);
});

it.each([...FORMATS, 'cloudevents_batch'] as const)(
  'carries the partition key that an event was published with, as its group: %s',
  async (format) => {
    const receiver = await startReceiver();
    const { id } = await client.register(receiver.url, ['*'], { format, ordering: 'group' });
    const event = new CloudEvent({
      id: '1',
      source: '/shop',
      type: QUICK_WIN.type,
      data: QUICK_WIN.data,
      partitionkey: 'order-4711',
    });
    const { headers, body } = HTTP.structured(event);
    const response = await fetch(`${client.baseUrl}/v1/events`, {
      method: 'POST',
      headers: { ...(headers as Record<string, string>), authorization: `Bearer ${client.apiKey}` },
      body: String(body),
    });
    const { id: eventId } = (await response.json()) as { readonly id: string };
    await client.waitForStatus(id, eventId, 'delivered');
    const { body: stored } = await client.expect<object>(200, 'GET', `/v1/events/${eventId}`);
    expect(stored).toMatchObject({ group: 'order-4711' });
    const [request] = receiver.requests;
    const received = HTTP.toEvent({ headers: request?.headers ?? {}, body: String(request?.body) });
    expect([received].flat()).toMatchObject([{ id: eventId, partitionkey: 'order-4711' }]);
  },
);
