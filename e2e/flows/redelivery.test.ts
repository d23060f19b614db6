import type { ApiClient, DeliveryView } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { until } from '../support/until';

const ONE_RETRY = { retry_schedule: ['50ms'] };

let client: ApiClient;
beforeEach(async () => {
  client = await openAccount();
});

function redeliver(id: string, headers: Readonly<Record<string, string>> = {}) {
  return client.request<DeliveryView & { code?: string }>(
    'POST',
    `/v1/deliveries/${id}/redeliver`,
    undefined,
    headers,
  );
}

function attemptsSeenBy(receiver: Receiver) {
  return receiver.requests.map(({ headers }) => [headers['webhook-id'], headers['x-service-attempt']]);
}

/** A delivery that was tried as often as its schedule allows, in vain. */
async function exhausted(receiver: Receiver) {
  const webhook = await client.register(receiver.url, ['*'], ONE_RETRY);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  return { webhook, eventId, delivery: await client.waitForStatus(webhook.id, eventId, 'exhausted') };
}

it('sends an exhausted delivery once more, under the same webhook-id, and goes on counting its attempts', async () => {
  const receiver = await Receiver.start((_request, count) => (count <= 2 ? 500 : 204));
  const { webhook, eventId, delivery } = await exhausted(receiver);

  const response = await redeliver(delivery.id);
  expect(response).toMatchObject({ status: 202, body: { id: delivery.id } });
  const delivered = await client.waitForStatus(webhook.id, eventId, 'delivered');
  expect(delivered.attempts.map(({ trigger }) => trigger)).toEqual(['schedule', 'schedule', 'manual']);
  expect(attemptsSeenBy(receiver)).toEqual([
    [eventId, '1'],
    [eventId, '2'],
    [eventId, '3'],
  ]);
  await receiver.stop();
});

it('begins the schedule anew for one that fails again', async () => {
  const receiver = await Receiver.start(() => 500);
  const { webhook, eventId, delivery } = await exhausted(receiver);
  await redeliver(delivery.id);
  await receiver.waitFor(4);
  const again = await client.waitForStatus(webhook.id, eventId, 'exhausted');
  expect(again.attempt_count).toBe(4);
  await receiver.stop();
});

it('sends a delivered one once more; it stays delivered when that fails, and is not retried', async () => {
  const receiver = await Receiver.start((_request, count) => (count === 2 ? 500 : 204));
  const webhook = await client.register(receiver.url, ['*'], ONE_RETRY);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const { id } = await client.waitForStatus(webhook.id, eventId, 'delivered');

  const redelivered = async (attempts: number) => {
    await until(async () => ((await redeliver(id)).status === 202 ? true : undefined));
    return await until(async () => {
      const delivery = await client.readDelivery(id);
      return delivery.attempt_count === attempts ? delivery : undefined;
    });
  };
  expect(await redelivered(2)).toMatchObject({ status: 'delivered', next_attempt_at: null });
  expect(await redelivered(3)).toMatchObject({ status: 'delivered', next_attempt_at: null });
  expect((await client.readDelivery(id)).attempts.map(({ outcome }) => outcome)).toEqual([
    'delivered',
    'http_5xx',
    'delivered',
  ]);
  await receiver.stop();
});

it('sends it once when it is asked for many times at once, and once for the same Idempotency-Key', async () => {
  const receiver = await Receiver.start((_request, count) => (count <= 2 ? 500 : 'never'));
  const { delivery } = await exhausted(receiver);
  const headers = { 'idempotency-key': 'once-more' };
  const first = await until(async () => {
    const response = await redeliver(delivery.id, headers);
    return response.status === 202 ? response : undefined;
  });
  const same = await redeliver(delivery.id, headers);
  expect(same).toMatchObject({ status: 202, body: first.body });

  const others = await Promise.all(Array.from({ length: 10 }, () => redeliver(delivery.id)));
  for (const { status, body } of others) expect([status, body.status]).toEqual([202, 'pending']);
  await receiver.waitFor(3);
  expect(receiver.requests).toHaveLength(3);
  await receiver.stop();
});

it('holds what is redelivered to a disabled webhook, until that is enabled', async () => {
  const receiver = await Receiver.start((_request, count) => (count <= 2 ? 500 : 204));
  const { webhook, eventId, delivery } = await exhausted(receiver);
  await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/disable`);
  await redeliver(delivery.id);
  await client.waitForStatus(webhook.id, eventId, 'held');
  expect(await redeliver(delivery.id)).toMatchObject({ status: 202, body: { status: 'held' } });

  await client.expect(200, 'POST', `/v1/webhooks/${webhook.id}/enable`);
  await client.waitForStatus(webhook.id, eventId, 'delivered');
  await receiver.stop();
});

/** A webhook whose deliveries are tried again only after an hour, and one that has failed once. */
async function waiting(receiver: Receiver) {
  const { body: webhook } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', {
    url: receiver.url,
    events: ['*'],
    retry_schedule: ['1h', '1h'],
  });
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const delivery = await until(async () => {
    const { body } = await client.request<{ data: DeliveryView[] }>(
      'GET',
      `/v1/webhooks/${webhook.id}/deliveries`,
    );
    return body.data.find((found) => found.next_attempt_at !== null);
  });
  return { webhook, eventId, id: delivery.id };
}

async function redeliverSoon(id: string) {
  return await until(async () => {
    const response = await redeliver(id);
    return response.status === 202 ? response : undefined;
  });
}

it('sends one now that would be tried again in an hour', async () => {
  const receiver = await Receiver.start((_request, count) => (count === 1 ? 500 : 204));
  const { webhook, eventId, id } = await waiting(receiver);
  await redeliverSoon(id);
  const delivered = await client.waitForStatus(webhook.id, eventId, 'delivered');
  expect(delivered.attempts.map(({ trigger }) => trigger)).toEqual(['schedule', 'manual']);
  expect(attemptsSeenBy(receiver)).toEqual([
    [eventId, '1'],
    [eventId, '2'],
  ]);
  await receiver.stop();
});

it('goes on with the schedule when one that was brought forward fails, however often it is asked for', async () => {
  const receiver = await Receiver.start(() => 500);
  const { webhook, eventId, id } = await waiting(receiver);
  await redeliverSoon(id);
  await receiver.waitFor(2);
  const again = await until(async () => {
    const delivery = await client.readDelivery(id);
    return delivery.attempt_count === 2 ? delivery : undefined;
  });
  expect(again.status).toBe('pending');
  expect(Date.parse(String(again.next_attempt_at))).toBeGreaterThan(Date.now() + 3_000_000);
  // The second retry is the schedule's last one.
  await redeliverSoon(id);
  expect(await client.waitForStatus(webhook.id, eventId, 'exhausted')).toMatchObject({
    attempt_count: 3,
  });
  expect(receiver.requests).toHaveLength(3);
  await receiver.stop();
});

it('makes one attempt of many requests at once for one that waits for its next', async () => {
  const receiver = await Receiver.start((_request, count) => (count === 1 ? 500 : 'never'));
  const { id } = await waiting(receiver);
  await redeliverSoon(id);
  const responses = await Promise.all(Array.from({ length: 10 }, () => redeliver(id)));
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([202]));
  await receiver.waitFor(2);
  expect(receiver.requests).toHaveLength(2);
  await receiver.stop();
});

it('redelivers to a webhook with strict ordering, and lets those that wait follow, one at a time', async () => {
  let isDown = true;
  let underWay = 0;
  let most = 0;
  const receiver = await Receiver.start(async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return isDown ? 500 : 204;
  });
  const { body: webhook } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', {
    url: receiver.url,
    events: ['*'],
    ordering: 'strict',
    ...ONE_RETRY,
  });
  const first = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const { id } = await client.waitForStatus(webhook.id, first, 'exhausted');
  isDown = false;

  const others: string[] = [];
  for (let i = 0; i < 10; i += 1) others.push(await client.publish(QUICK_WIN.type, QUICK_WIN.data));
  await until(async () => ((await redeliver(id)).status === 202 ? true : undefined));
  for (const eventId of [first, ...others]) {
    await client.waitForStatus(webhook.id, eventId, 'delivered');
  }
  const seen = receiver.requests.slice(2).map(({ headers }) => String(headers['webhook-id']));
  expect(seen.filter((eventId) => eventId !== first)).toEqual(others);
  expect(seen.filter((eventId) => eventId === first)).toHaveLength(1);
  expect(most).toBe(1);
  await receiver.stop();
});

it('responds with 404 once the webhook is deleted', async () => {
  const receiver = await Receiver.start(() => 500);
  const { webhook, delivery } = await exhausted(receiver);
  await client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  expect((await redeliver(delivery.id)).status).toBe(404);
  await receiver.stop();
});

describe('a test', () => {
  const test = (webhookId: string, body: object = {}) =>
    client.request<{ event_id: string; delivery_id: string }>('POST', `/v1/webhooks/${webhookId}/test`, body);

  it('sends the example of a type to one webhook alone, whether it asked for that or not', async () => {
    const [receiver, other] = [await Receiver.start(), await Receiver.start()];
    const webhook = await client.register(receiver.url, [QUICK_WIN.type]);
    await client.register(other.url);
    const { status, body } = await test(webhook.id, { event_type: BRIEF.type });
    expect([status, body.delivery_id]).toEqual([202, `${body.event_id}.${webhook.id}`]);

    const delivery = await client.waitForStatus(webhook.id, body.event_id, 'delivered');
    expect(delivery.attempts).toMatchObject([{ trigger: 'test' }]);
    const [request] = receiver.requests;
    expect(request?.headers['webhook-id']).toBe(body.event_id);
    expect(JSON.parse(String(request?.body))).toMatchObject({ type: BRIEF.type, data: expect.anything() });
    expect(other.requests).toEqual([]);
    await Promise.all([receiver.stop(), other.stop()]);
  });

  it('sends a type that the webhook asked for, unless it is told which', async () => {
    const receiver = await Receiver.start();
    const webhook = await client.register(receiver.url, ['import.*']);
    await test(webhook.id);
    const [request] = await receiver.waitFor(1);
    expect(JSON.parse(String(request?.body))).toMatchObject({ type: 'import.completed' });
    await receiver.stop();
  });

  it('refuses a type that is not in the catalogue', async () => {
    const receiver = await Receiver.start();
    const webhook = await client.register(receiver.url, ['*'], ONE_RETRY);
    expect((await test(webhook.id, { event_type: 'keyword.nonsense' })).status).toBe(422);
    await receiver.stop();
  });
});
