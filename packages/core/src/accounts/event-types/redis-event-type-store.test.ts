import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { EventTypeStore } from './redis-event-type-store';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
beforeEach(async () => {
  redis = await openTestRedis();
});
afterEach(() => redis.close());

const paid = {
  name: 'invoice.paid',
  description: 'An invoice was paid.',
  schema: { type: 'object', required: ['id'] },
  example: { id: 'inv_1' },
  deprecated: false,
  updatedAt: NOW,
};

it('gives back what was put in, with a version that counts its replacements', async () => {
  const store = new EventTypeStore(redis.client);
  expect(await store.find(paid.name)).toBeUndefined();
  expect(await store.replace(paid)).toEqual({ ...paid, version: 1 });
  expect(await store.replace({ ...paid, deprecated: true })).toEqual({
    ...paid,
    deprecated: true,
    version: 2,
  });
  expect(await store.find(paid.name)).toMatchObject({ deprecated: true, version: 2 });
});

it('keeps a version that is put in again as it is', async () => {
  const store = new EventTypeStore(redis.client);
  await store.replace(paid);
  expect(await store.replace({ ...paid, updatedAt: NOW + 1 })).toEqual({ ...paid, version: 1 });
});

it('has a replacement in force at once in every process', async () => {
  const [here, elsewhere] = [new EventTypeStore(redis.client), new EventTypeStore(redis.client)];
  await here.replace(paid);
  expect((await elsewhere.find(paid.name))?.check({})).toHaveLength(1);
  await here.replace({ ...paid, schema: true });
  expect((await elsewhere.find(paid.name))?.check({})).toEqual([]);
});

it('lists types by name', async () => {
  const store = new EventTypeStore(redis.client);
  for (const name of ['b.one', 'a.two', 'a.one']) await store.replace({ ...paid, name });
  expect((await store.list()).map(({ name }) => name)).toEqual(['a.one', 'a.two', 'b.one']);
  expect([...(await store.names())].sort()).toEqual(['a.one', 'a.two', 'b.one']);
});
