import { setTimeout as wait } from 'node:timers/promises';
import { laneOf } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { keys } from '../../domain/keys';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { AdmissionStore } from './redis-admission-store';

const NOW = 1_700_000_000_000;
const LEASE_MS = 20_000;
// All of them begin within it, also on a busy machine.
const WINDOW_MS = 500;
// What is not the newest waits for longer than the window.
const AFTER_MS = 300;

let redis: TestRedis;
let store: AdmissionStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = new AdmissionStore(redis.client);
});
afterAll(() => redis.close());

/** Events of one group, accepted one after the other, that wait at an endpoint. */
async function arrange(count: number, windowMs = 0) {
  const id = uniqueEndpointId();
  const lane = laneOf({ ordering: 'group' }, { id: '', group: 'a' }) ?? '';
  const places = Array.from({ length: count }, (_, i) => ({
    eventId: uniqueEventId(),
    acceptedAt: NOW + i,
    lane,
  }));
  await store.joinOrder(id, places)(redis.client);
  const at = (index: number) => places[index] ?? { eventId: uniqueEventId(), acceptedAt: NOW, lane };
  return {
    id,
    places,
    at,
    ids: places.map(({ eventId }) => eventId),
    begin: async (index: number) =>
      await store.admit(
        id,
        {
          ...at(index),
          rateLimit: undefined,
          attemptKey: uniqueEventId(),
          leaseMs: LEASE_MS,
          hasWaited: true,
          ordering: 'begin',
          windowMs,
        },
        NOW,
      )(redis.client),
    leave: async (index: number) => await store.leaveOrder(id, at(index).eventId)(redis.client),
    ready: async () => (await store.stand(id, undefined, 100)).ready,
    /** Of the lanes. */
    left: async () =>
      (
        await Promise.all(
          ['order', 'turn', 'lines', 'ready', 'coalescing'].map((name) =>
            redis.client.keys(`${name}:{${id}}*`),
          ),
        )
      ).flat(),
  };
}

it('marks the one that is held ready if no other one goes before it, and no other', async () => {
  const { id, at, ready } = await arrange(2);
  for (const each of [at(1), at(0)]) await store.markReady(id, each);
  expect(await ready()).toEqual([at(0).eventId]);
});

it('marks the one that has the turn ready, whoever came before it meanwhile', async () => {
  const { id, at, begin, ready, places } = await arrange(2);
  await begin(0);
  const older = { ...at(0), eventId: uniqueEventId(), acceptedAt: NOW - 1 };
  await store.joinOrder(id, [older])(redis.client);
  for (const each of [older, ...places]) await store.markReady(id, each);
  expect(await ready()).toEqual([at(0).eventId]);
});

it('marks one ready that is in no lane: it waits for nobody', async () => {
  const { id, ready } = await arrange(1);
  const lone = { eventId: uniqueEventId(), acceptedAt: NOW };
  await store.markReady(id, lone);
  expect(await ready()).toEqual([lone.eventId]);
});

it('forgets one that leaves, also if it is in no lane any more', async () => {
  const { id, ready } = await arrange(1);
  const lone = { eventId: uniqueEventId(), acceptedAt: NOW };
  await store.markReady(id, lone);
  expect(await store.leaveOrder(id, lone.eventId)(redis.client)).toBe(false);
  expect(await ready()).toEqual([]);
});

it('leaves nothing behind when all have ended, in whatever order', async () => {
  for (const windowMs of [0, WINDOW_MS]) {
    const { id, ids, begin, left } = await arrange(5, windowMs);
    await begin(0);
    for (const index of [3, 0, 4, 2, 1]) await store.leaveOrder(id, ids[index] as EventId)(redis.client);
    expect(await left()).toEqual([]);
  }
});

describe('looking at the lines', () => {
  it('finds who has the turn in each, and marks who may go in the others', async () => {
    const { id, at, begin, ready } = await arrange(2);
    const other = { eventId: uniqueEventId(), acceptedAt: NOW, lane: ':other' };
    await store.joinOrder(id, [other, { ...other, eventId: uniqueEventId(), acceptedAt: NOW + 1 }])(
      redis.client,
    );
    await begin(0);
    expect(await store.lookAtLanes(id)).toEqual([at(0).eventId, other.eventId]);
    expect(await ready()).toEqual([other.eventId]);
  });

  it('is done once in a while, however many ask', async () => {
    const { id, begin } = await arrange(1);
    await begin(0);
    const found = await Promise.all([1, 2, 3].map(() => store.lookAtLanes(id)));
    expect(found.flat()).toHaveLength(1);
    expect(await redis.client.pttl(keys.lanesLook(id))).toBeGreaterThan(0);
  });

  it('comes to all of thousands of lanes, one part after the other', async () => {
    const id = uniqueEndpointId();
    const places = Array.from({ length: 3_000 }, (_, i) => ({
      eventId: uniqueEventId(),
      acceptedAt: NOW,
      lane: `:${i}`,
    }));
    await store.joinOrder(id, places)(redis.client);
    let looks = 0;
    while ((await redis.client.zcard(keys.ready(id))) < places.length && looks < 50) {
      await store.lookAtLanes(id);
      // As it is ten seconds later.
      await redis.client.hdel(keys.lanesLook(id), 'at');
      looks += 1;
    }
    expect(await redis.client.zcard(keys.ready(id))).toBe(places.length);
    expect(looks).toBeGreaterThan(3);
  });

  it('forgets the lane of one that is in none any more', async () => {
    const { id, at } = await arrange(1);
    await redis.client.del(keys.order(id) + at(0).lane);
    expect(await store.lookAtLanes(id)).toEqual([]);
    expect(await redis.client.exists(keys.lanes(id))).toBe(0);
  });
});

describe('in a lane that coalesces', () => {
  it('supersedes none before a newer one has begun', async () => {
    const { at, begin } = await arrange(3, WINDOW_MS);
    for (const index of [0, 1, 2]) expect((await begin(index)).kind).toBe('coalescing');
    await wait(WINDOW_MS + 5);
    expect((await begin(0)).kind).toBe('coalescing');
    expect((await begin(2)).kind).toBe('admitted');
    expect(await begin(0)).toEqual({ kind: 'superseded', by: at(2).eventId });
    expect(await begin(1)).toEqual({ kind: 'superseded', by: at(2).eventId });
  });

  it('takes the one that came last for the newest, also when it was accepted at an earlier time', async () => {
    const { id, places, begin, at } = await arrange(2, WINDOW_MS);
    await store.clearOrder(id);
    for (const [i, place] of places.entries()) {
      await store.joinOrder(id, [{ ...place, acceptedAt: NOW - 3_600_000 * i, isNew: true }])(redis.client);
    }
    await begin(0);
    await wait(WINDOW_MS + AFTER_MS);
    expect((await begin(1)).kind).toBe('admitted');
    expect(await begin(0)).toEqual({ kind: 'superseded', by: at(1).eventId });
  });

  it('sends the next newest when the newest has nothing to send any more', async () => {
    const { at, begin, leave, ready } = await arrange(3, WINDOW_MS);
    await begin(0);
    await wait(WINDOW_MS + AFTER_MS);
    expect(await leave(2)).toBe(true);
    expect(await ready()).toContain(at(1).eventId);
    expect((await begin(1)).kind).toBe('admitted');
    expect(await begin(0)).toEqual({ kind: 'superseded', by: at(1).eventId });
  });

  it('lets the newest go that could not when its window was over', async () => {
    const { at, begin, ready } = await arrange(3, WINDOW_MS);
    await begin(0);
    await wait(WINDOW_MS + AFTER_MS);
    expect(await begin(0)).toEqual({ kind: 'ordering', isSoon: true });
    expect(await ready()).toEqual([at(2).eventId]);
  });

  it('lets the newest go, and those that it has left behind, when one under way has ended', async () => {
    const { ids, begin, leave, ready } = await arrange(2, WINDOW_MS);
    await begin(1);
    await wait(WINDOW_MS + 5);
    await begin(1);
    expect(await leave(1)).toBe(true);
    expect(await ready()).toEqual([ids[0]]);
    expect(await begin(0)).toEqual({ kind: 'superseded', by: ids[1] });
  });

  it('lets the oldest go when it does not coalesce any more', async () => {
    const { id, at, begin, leave, ready } = await arrange(3, WINDOW_MS);
    await begin(0);
    await store.clearCoalescing(id);
    await leave(0);
    expect(await ready()).toEqual([at(1).eventId]);
  });
});
