import { createRedisDeliveryStore } from '../deliveries/redis-delivery-store';
import type { Clock } from '../runtime/clock';
import { createNewId } from '../runtime/ids';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { createManageEndpoints } from './manage-endpoints';
import { createRedisEndpointStore } from './redis-endpoint-store';
import { newSecret } from './secret';

const NOW = 1_700_000_000_000;
const NOT_FOUND = { code: 'not_found', message: 'There is no webhook with this id.' };

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

function build(clock: Clock = () => NOW) {
  const deliveryStore = createRedisDeliveryStore(redis.client, { ageMs: 60_000, count: 10 });
  const manage = createManageEndpoints({
    endpointStore: createRedisEndpointStore(redis.client),
    deliveryStore,
    newId: createNewId(clock),
    newSecret,
    clock,
  });
  return { ...manage, deliveryStore, accountId: uniqueAccountId() };
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

describe('remove', () => {
  it('takes the list of its deliveries along', async () => {
    const { create, remove, read, accountId, deliveryStore } = build();
    const { id } = await create(accountId, input);
    await deliveryStore.enlist(uniqueEventId(), [id], NOW);
    await remove(accountId, id);
    await expect(read(accountId, id)).rejects.toMatchObject(NOT_FOUND);
    expect(await deliveryStore.list(id, 10)).toMatchObject({ deliveries: [] });
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
  const { create, read, update, remove, accountId } = build();
  const { id } = await create(accountId, input);
  for (const [account, endpointId] of [
    [uniqueAccountId(), id],
    [accountId, uniqueEndpointId()],
  ] as const) {
    await expect(read(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
    await expect(update(account, endpointId, {})).rejects.toMatchObject(NOT_FOUND);
    await expect(remove(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
  }
});
