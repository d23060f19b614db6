import type { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { until } from '../support/until';

const LATER = { retry_schedule: ['30s'] };

let client: ApiClient;
let receiver: Receiver;
beforeEach(async () => {
  client = await openAccount();
  receiver = await Receiver.start();
});
afterEach(() => receiver.stop());

it('reaches the healthy endpoint at once while another one of the same event is down', async () => {
  const gone = await Receiver.start();
  await gone.stop();
  const down = await client.register(gone.url, ['*'], LATER);
  const healthy = await client.register(receiver.url);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);

  await client.waitForStatus(healthy.id, eventId, 'delivered');
  const waiting = await client.waitForStatus(down.id, eventId, 'pending');
  expect(waiting).toMatchObject({ status: 'pending', event_id: eventId });
  expect(receiver.requests).toHaveLength(1);
  await removeAll([down.id, healthy.id]);
});

it('sends an endpoint the types that it asked for, and no others', async () => {
  const webhook = await client.register(receiver.url, ['brief.created']);
  await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const wished = await client.publish(BRIEF.type, BRIEF.data);

  await client.waitForStatus(webhook.id, wished, 'delivered');
  expect(await client.listDeliveries(webhook.id)).toHaveLength(1);
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([wished]);
  await removeAll([webhook.id]);
});

it('sends an endpoint everything that was published after its 201', async () => {
  const registered: string[] = [];
  // Each round registers one more; had any worker an old list, an endpoint would miss its first event.
  for (let round = 1; round <= 20; round += 1) {
    const webhook = await client.register(receiver.url);
    registered.push(webhook.id);
    const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
    const delivery = await client.waitForStatus(webhook.id, eventId, 'delivered');
    expect(delivery.attempt_count).toBe(1);
  }
  await removeAll(registered);
});

it('sends a deleted endpoint nothing that was published after its 204', async () => {
  for (let round = 1; round <= 20; round += 1) {
    const doomed = await Receiver.start();
    const webhook = await client.register(doomed.url);
    const witness = await client.register(receiver.url);
    await client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
    const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await client.waitForStatus(witness.id, eventId, 'delivered');
    await removeAll([witness.id]);
    expect(doomed.requests).toHaveLength(0);
    await doomed.stop();
  }
});

it('cancels what a deleted endpoint was still owed', async () => {
  const failing = await Receiver.start(() => 500);
  const webhook = await client.register(failing.url, ['*'], LATER);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await failing.waitFor(1);
  await client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);

  const response = await client.request('GET', `/v1/deliveries/${eventId}.${webhook.id}`);
  expect(response.status).toBe(404);
  expect(failing.requests).toHaveLength(1);
  await failing.stop();
});

it('cancels at once what waits for another attempt at a deleted endpoint', async () => {
  const failing = await Receiver.start(() => 500);
  const webhook = await client.register(failing.url, ['*'], LATER);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await until(async () => {
    const { attempt_count: made } = await client.readDelivery(`${eventId}.${webhook.id}`);
    return made === 1 || undefined;
  });
  await client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  await until(async () => {
    const { body } = await client.expect<{ data: readonly { status: string }[] }>(
      200,
      'GET',
      `/v1/events/${eventId}/deliveries`,
    );
    return body.data[0]?.status === 'cancelled' || undefined;
  });
  expect(failing.requests).toHaveLength(1);
  await failing.stop();
});

it("never sends an event to another account's endpoint", async () => {
  const other = await openAccount();
  const others = await other.register(receiver.url);
  const own = await client.register(receiver.url);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);

  await client.waitForStatus(own.id, eventId, 'delivered');
  expect(await other.listDeliveries(others.id)).toEqual([]);
  expect((await other.request('GET', `/v1/deliveries/${eventId}.${own.id}`)).status).toBe(404);
  expect(receiver.requests).toHaveLength(1);
  await removeAll([own.id]);
});

async function removeAll(ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => client.expect(204, 'DELETE', `/v1/webhooks/${id}`)));
}
