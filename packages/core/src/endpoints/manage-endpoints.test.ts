import { createRedisDeliveryStore } from '../deliveries/redis-delivery-store';
import { CLOSED } from '../gates/breaker';
import { createRedisGateStore } from '../gates/redis-gate-store';
import type { Clock } from '../runtime/clock';
import { createNewId } from '../runtime/ids';
import { recordWakes } from '../testing/record-queues';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { createManageEndpoints } from './manage-endpoints';
import { createRedisEndpointStore } from './redis-endpoint-store';
import { newSecret } from './secret';

const MAX_ENDPOINTS = 5;
const NOW = 1_700_000_000_000;
const NOT_FOUND = { code: 'not_found', message: 'There is no webhook with this id.' };

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

function build(clock: Clock = () => NOW) {
  const deliveryStore = createRedisDeliveryStore(redis.client, { ageMs: 60_000, count: 10 });
  const gateStore = createRedisGateStore(redis.client);
  const wakes = recordWakes();
  const manage = createManageEndpoints({
    endpointStore: createRedisEndpointStore(redis.client),
    deliveryStore,
    gateStore,
    wakeQueue: wakes.queue,
    newId: createNewId(clock),
    newSecret,
    maxEndpoints: MAX_ENDPOINTS,
    clock,
  });
  return { ...manage, deliveryStore, gateStore, wakes, accountId: uniqueAccountId() };
}

const input = { url: 'https://receiver.example.com/', events: ['*'] };

describe('create', () => {
  it('makes an endpoint with an id and a secret of its own', async () => {
    const { create, read, accountId } = build();
    const endpoint = await create(accountId, { ...input, description: 'mine' });
    expect(endpoint).toEqual({
      ...input,
      id: expect.stringMatching(/^wh_[0-9a-z]{22}$/),
      accountId,
      description: 'mine',
      status: 'enabled',
      ordering: 'none',
      secret: expect.stringMatching(/^whsec_/),
      createdAt: NOW,
      updatedAt: NOW,
    });
    expect(await read(accountId, endpoint.id)).toEqual(endpoint);
  });

  it('keeps the secret that the client brought along', async () => {
    const { create, accountId } = build();
    const secret = newSecret();
    expect(await create(accountId, { ...input, secret })).toMatchObject({ secret });
  });
});

describe('update', () => {
  it('changes what the patch names, removes what it sets to null, and leaves the rest', async () => {
    const { create, update, accountId } = build();
    const endpoint = await create(accountId, { ...input, description: 'mine' });
    const url = 'https://new.example.com/';
    const moved = await update(accountId, endpoint.id, { url });
    expect(moved).toEqual({ ...endpoint, url, updatedAt: NOW + 1 });
    const narrowed = await update(accountId, endpoint.id, { events: ['brief.*'], description: null });
    const { description: _description, ...rest } = moved;
    expect(narrowed).toEqual({ ...rest, events: ['brief.*'], updatedAt: NOW + 2 });
  });

  it('tells the time of the change', async () => {
    let now = NOW;
    const { create, update, accountId } = build(() => now);
    const { id } = await create(accountId, input);
    now += 5_000;
    expect(await update(accountId, id, {})).toMatchObject({ createdAt: NOW, updatedAt: NOW + 5_000 });
  });
});

describe('disable', () => {
  it("is the client's doing, and in force at once", async () => {
    const { create, disable, read, accountId, wakes } = build();
    const endpoint = await create(accountId, input);
    const disabled = await disable(accountId, endpoint.id);
    expect(disabled).toEqual({
      ...endpoint,
      status: 'disabled',
      disabledReason: 'client',
      updatedAt: NOW + 1,
    });
    expect(await read(accountId, endpoint.id)).toEqual(disabled);
    expect(wakes.asked).toEqual([]);
  });

  it('changes nothing the second time', async () => {
    const { create, disable, accountId } = build();
    const { id } = await create(accountId, input);
    expect(await disable(accountId, id)).toEqual(await disable(accountId, id));
  });
});

describe('enable', () => {
  it('lets what was held flow now, whatever the breaker thought of the receiver', async () => {
    const { create, disable, enable, read, accountId, gateStore, wakes } = build();
    const { id } = await create(accountId, input);
    await disable(accountId, id);
    await gateStore.recordFailure(id, CLOSED, NOW);
    const enabled = await enable(accountId, id);
    expect(enabled).toMatchObject({ status: 'enabled' });
    expect(enabled).not.toHaveProperty('disabledReason');
    expect(await read(accountId, id)).toEqual(enabled);
    expect(await gateStore.readBreaker(id)).toEqual(CLOSED);
    expect(wakes.asked).toEqual([{ accountId, endpointId: id, at: NOW }]);
  });

  // A client whose first try was cut short between the record and the wake can only try again.
  it('wakes the gate also of an endpoint that is enabled, and changes nothing of it', async () => {
    const { create, enable, accountId, wakes } = build();
    const endpoint = await create(accountId, input);
    expect(await enable(accountId, endpoint.id)).toEqual(endpoint);
    expect(wakes.asked).toHaveLength(1);
  });
});

describe('remove', () => {
  it('takes the list of its deliveries along', async () => {
    const { create, remove, read, accountId, deliveryStore } = build();
    const { id } = await create(accountId, input);
    await deliveryStore.enlist(uniqueEventId(), [id], NOW);
    await remove(accountId, id);
    await expect(read(accountId, id)).rejects.toMatchObject(NOT_FOUND);
    expect(await deliveryStore.list(id, 10)).toMatchObject({ deliveries: [] });
  });

  it('takes along what its gate knows and holds', async () => {
    const { create, remove, accountId, gateStore } = build();
    const { id } = await create(accountId, input);
    await gateStore.park(id, { eventId: uniqueEventId(), side: 'second' }, NOW);
    await gateStore.recordFailure(id, CLOSED, NOW);
    await remove(accountId, id);
    expect(await gateStore.countParked(id)).toBe(0);
    expect(await gateStore.readBreaker(id)).toEqual(CLOSED);
  });

  it("leaves another account's deliveries alone", async () => {
    const { create, remove, accountId, deliveryStore } = build();
    const { id } = await create(accountId, input);
    await deliveryStore.enlist(uniqueEventId(), [id], NOW);
    await expect(remove(uniqueAccountId(), id)).rejects.toMatchObject(NOT_FOUND);
    expect((await deliveryStore.list(id, 10)).deliveries).toHaveLength(1);
  });
});

it("answers for another account's endpoint as for one that is not there", async () => {
  const { create, read, update, enable, disable, remove, accountId, gateStore, wakes } = build();
  const { id } = await create(accountId, input);
  await gateStore.recordFailure(id, CLOSED, NOW);
  for (const [account, endpointId] of [
    [uniqueAccountId(), id],
    [accountId, uniqueEndpointId()],
  ] as const) {
    await expect(read(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
    await expect(update(account, endpointId, {})).rejects.toMatchObject(NOT_FOUND);
    await expect(enable(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
    await expect(disable(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
    await expect(remove(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
  }
  expect(wakes.asked).toEqual([]);
  expect(await gateStore.readBreaker(id)).toMatchObject({ failures: 1 });
});

it('makes no more endpoints than an account may have, however many are asked for at the same time', async () => {
  const { create, list, accountId } = build();
  const results = await Promise.allSettled(Array.from({ length: 12 }, () => create(accountId, input)));
  const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason.code);
  expect(refused).toEqual(Array(12 - MAX_ENDPOINTS).fill('limit_reached'));
  expect((await list(accountId, {}, 50)).endpoints).toHaveLength(MAX_ENDPOINTS);
});
