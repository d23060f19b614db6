import { createRedisAccountStore } from '@hookferry/core/accounts/redis-account-store';
import { createRedisApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { type AccountId, hashKey, scopes } from '@hookferry/core/domain/account';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

let stack: Stack;
let receiver: Receiver;

beforeAll(async () => {
  stack = await Stack.start({ workers: 2, environment: { RETRY_SCHEDULE: '30s' } });
});
afterAll(() => stack.stop());
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(() => receiver.stop());

it('reaches the healthy endpoint at once while another one of the same event is down', async () => {
  const gone = await Receiver.start();
  await gone.stop();
  const down = await stack.client.register(gone.url);
  const healthy = await stack.client.register(receiver.url);
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);

  await stack.client.waitForStatus(healthy.id, eventId, 'delivered');
  const waiting = await stack.client.waitForStatus(down.id, eventId, 'pending');
  expect(waiting).toMatchObject({ status: 'pending', event_id: eventId });
  expect(receiver.requests).toHaveLength(1);
  await removeAll([down.id, healthy.id]);
});

it('sends an endpoint the types that it asked for, and no others', async () => {
  const webhook = await stack.client.register(receiver.url, ['brief.created']);
  await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const wished = await stack.client.publish(BRIEF.type, BRIEF.data);

  await stack.client.waitForStatus(webhook.id, wished, 'delivered');
  expect(await stack.client.listDeliveries(webhook.id)).toHaveLength(1);
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([wished]);
  await removeAll([webhook.id]);
});

it('sends an endpoint everything that was published after its 201', async () => {
  const registered: string[] = [];
  // Each round registers one more; had any worker an old list, an endpoint would miss its first event.
  for (let round = 1; round <= 20; round += 1) {
    const webhook = await stack.client.register(receiver.url);
    registered.push(webhook.id);
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    const delivery = await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
    expect(delivery.attempt_count).toBe(1);
  }
  await removeAll(registered);
});

it('sends a deleted endpoint nothing that was published after its 204', async () => {
  for (let round = 1; round <= 20; round += 1) {
    const doomed = await Receiver.start();
    const webhook = await stack.client.register(doomed.url);
    const witness = await stack.client.register(receiver.url);
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await stack.client.waitForStatus(witness.id, eventId, 'delivered');
    await removeAll([witness.id]);
    expect(doomed.requests).toHaveLength(0);
    await doomed.stop();
  }
});

it('cancels what a deleted endpoint was still owed', async () => {
  const failing = await Receiver.start(() => 500);
  const webhook = await stack.client.register(failing.url);
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await failing.waitFor(1);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);

  const answer = await stack.client.request('GET', `/v1/deliveries/${eventId}.${webhook.id}`);
  expect(answer.status).toBe(404);
  expect(failing.requests).toHaveLength(1);
  await failing.stop();
});

it("never sends an event to another account's endpoint", async () => {
  const unknownEndpoint = new ApiClient(stack.client.baseUrl, await keyOfAccount('stranger'));
  const unknownEndpoints = await unknownEndpoint.register(receiver.url);
  const own = await stack.client.register(receiver.url);
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);

  await stack.client.waitForStatus(own.id, eventId, 'delivered');
  expect(await unknownEndpoint.listDeliveries(unknownEndpoints.id)).toEqual([]);
  expect((await unknownEndpoint.request('GET', `/v1/deliveries/${eventId}.${own.id}`)).status).toBe(404);
  expect(receiver.requests).toHaveLength(1);
  await removeAll([own.id]);
});

async function keyOfAccount(name: string): Promise<string> {
  const { key } = buildApiKey();
  const accountId = name as AccountId;
  await createRedisAccountStore(stack.redis.client).create({ id: accountId, createdAt: Date.now() });
  await createRedisApiKeyStore(stack.redis.client).save({
    id: key.slice(4, 20),
    accountId,
    sha256: hashKey(key),
    scopes,
    name: 'test',
    createdAt: Date.now(),
  });
  return key;
}

async function removeAll(ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => stack.client.expect(204, 'DELETE', `/v1/webhooks/${id}`)));
}
