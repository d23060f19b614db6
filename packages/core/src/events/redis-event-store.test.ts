import { keys } from '../redis/keys';
import { buildEvent } from '../testing/build-event';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEventId } from '../testing/unique-ids';
import { createRedisEventStore } from './redis-event-store';

const RETENTION_MS = 60_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const openStore = () => createRedisEventStore(redis.client, RETENTION_MS);

describe('createRedisEventStore', () => {
  it.each([
    ['plain', '{"type":"keyword.quick_win","data":{}}'],
    ['beyond ASCII', '{"data":"Zoë 🚀 \\n"}'],
    ['with line feeds and spaces', '{ "data":\n\n 1 }\n'],
    ['long', `{"data":"${'x'.repeat(100_000)}"}`],
  ])('gives a body that is %s back byte for byte, to every process', async (_what, body) => {
    const event = buildEvent({ body });
    const store = openStore();
    await store.save(event);
    expect(await store.find(event.accountId, event.id)).toEqual(event);
    expect(await openStore().find(event.accountId, event.id)).toEqual(event);
  });

  it('gives the head alone, whatever the body', async () => {
    const event = buildEvent({ body: `{"data":"${'🚀'.repeat(1_000)}"}` });
    await openStore().save(event);
    expect(await openStore().findHead(event.accountId, event.id)).toEqual({
      type: event.type,
      acceptedAt: event.acceptedAt,
    });
  });

  it("finds neither what is not there nor another account's event", async () => {
    const { accountId, id } = buildEvent();
    const store = openStore();
    await store.save(buildEvent({ accountId, id }));
    for (const [account, event] of [
      [accountId, uniqueEventId()],
      [uniqueAccountId(), id],
    ] as const) {
      expect(await store.find(account, event)).toBeUndefined();
      expect(await store.findHead(account, event)).toBeUndefined();
    }
  });

  it('keeps an event for the retention, counted from the first time it was saved', async () => {
    const event = buildEvent();
    const key = keys.event(event.accountId, event.id);
    await openStore().save(event);
    const remainingMs = await redis.client.pttl(key);
    expect(remainingMs).toBeGreaterThan(RETENTION_MS / 2);
    expect(remainingMs).toBeLessThanOrEqual(RETENTION_MS);

    await redis.client.pexpire(key, 1_000);
    await openStore().save(event);
    expect(await redis.client.pttl(key)).toBeLessThanOrEqual(1_000);
  });

  it('keeps the first body under an id, so that every attempt of every worker sends the same bytes', async () => {
    const event = buildEvent();
    const store = openStore();
    await store.save(event);
    for (const worker of [store, openStore()]) {
      await worker.save({ ...event, body: '{"other":true}' });
      expect(await worker.find(event.accountId, event.id)).toEqual(event);
    }
  });

  it('lets accounts use the same event id', async () => {
    const first = buildEvent({ body: '{"of":"first"}' });
    const second = buildEvent({ id: first.id, body: '{"of":"second"}' });
    const store = openStore();
    await store.save(first);
    await store.save(second);
    expect(await store.find(first.accountId, first.id)).toEqual(first);
    expect(await store.find(second.accountId, second.id)).toEqual(second);
  });
});
