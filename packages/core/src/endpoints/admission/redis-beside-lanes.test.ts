import type { EndpointId } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { BesideLanes, type BesidePlace } from './redis-beside-lanes';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
let besideLanes: BesideLanes;
beforeAll(async () => {
  redis = await openTestRedis();
  besideLanes = new BesideLanes(redis.client);
});
afterAll(() => redis.close());

function placeAt(ms: number, line?: string): BesidePlace {
  return { eventId: uniqueEventId(), acceptedAt: NOW + ms, ...(line !== undefined && { line }) };
}

const join = async (id: EndpointId, ...places: BesidePlace[]) =>
  await besideLanes.join(id, places)(redis.client);
const leave = async (id: EndpointId, { eventId }: BesidePlace) =>
  await besideLanes.leave(id, eventId)(redis.client);
const keysOf = async (id: EndpointId) => await redis.client.keys(`*{${id}}*`);

it('has nobody first where there is nobody', async () => {
  expect(await besideLanes.first(uniqueEndpointId())).toBeUndefined();
});

it('has the one that was accepted first first, and of one millisecond the one whose id was made first', async () => {
  const id = uniqueEndpointId();
  const [first, twin, second] = [placeAt(0), placeAt(0), placeAt(1)];
  await join(id, second, twin, first);
  expect(await besideLanes.first(id)).toEqual(first);
  const older = placeAt(-1);
  await join(id, older);
  expect(await besideLanes.first(id)).toEqual(older);
  expect(await besideLanes.findFirstBefore(id, first.eventId)).toBe(older.eventId);
  expect(await besideLanes.findFirstBefore(id, older.eventId)).toBeUndefined();
});

it('keeps the place of one that joins again', async () => {
  const id = uniqueEndpointId();
  const [first, second] = [placeAt(0), placeAt(1)];
  await join(id, first, second);
  await join(id, { ...second, acceptedAt: NOW - 1 });
  expect(await besideLanes.first(id)).toEqual(first);
});

it('puts a new one behind all others, also when it was accepted at an earlier time', async () => {
  const id = uniqueEndpointId();
  const places = [0, -3_600_000, -3_599_999, 0, 1, 3_600_000, 5].map((ms) => {
    return { ...placeAt(ms), isNew: true };
  });
  for (const place of places) await join(id, place);
  // An accept that was repeated: each keeps its place.
  await join(id, ...places.slice(0, 2));
  expect(await redis.client.zrange(keys.order(id), '0', '-1')).toEqual(places.map(({ eventId }) => eventId));
});

it('tells of one that leaves whether it had a place, and leaves nothing behind with the last one', async () => {
  const id = uniqueEndpointId();
  const places = [placeAt(0), placeAt(1), placeAt(0, 'a'), placeAt(1, 'a'), placeAt(0, 'b')];
  await join(id, ...places);
  expect(await leave(id, placeAt(0))).toBe(false);
  for (const place of places) expect(await leave(id, place)).toBe(true);
  for (const place of places) expect(await leave(id, place)).toBe(false);
  expect(await keysOf(id)).toEqual([]);
});

it('has an order for each group', async () => {
  const id = uniqueEndpointId();
  const [first, second, other] = [placeAt(0, 'a'), placeAt(1, 'a'), placeAt(2, 'b')];
  await join(id, second, other, first);
  expect(await besideLanes.first(id)).toBeUndefined();
  expect(await besideLanes.first(id, 'a')).toMatchObject({ eventId: first.eventId });
  const behind = [first, second, other].map(({ eventId }) => besideLanes.findFirstBefore(id, eventId));
  expect(await Promise.all(behind)).toEqual([undefined, first.eventId, undefined]);
});

// What processes of a version before have left of these, which are taken over.
it('forgets the turn of one that leaves, and all of an endpoint that is cleared', async () => {
  const [id, other] = [uniqueEndpointId(), uniqueEndpointId()];
  for (const each of [id, other]) {
    const [first, second, inGroup] = [placeAt(0), placeAt(1), placeAt(0, 'a')];
    await join(each, first, second, inGroup);
    await redis.client.set(keys.turn(each), first.eventId);
    await redis.client.set(`${keys.turn(each)}:a`, inGroup.eventId);
    await redis.client.zadd(keys.ready(each), NOW, inGroup.eventId);
    await redis.client.hset(keys.coalescing(each), ':a sent', `${NOW} ${inGroup.eventId}`);
    await redis.client.set(keys.orderWaiting(each), '1');
    if (each === id) await leave(each, first);
  }
  expect(await redis.client.exists(keys.turn(id))).toBe(0);
  const before = await keysOf(other);
  await besideLanes.clear(id);
  expect(await keysOf(id)).toEqual([]);
  expect(await keysOf(other)).toEqual(before);
});

describe('a look', () => {
  it('finds those that lanes may wait for: of groups once in a while, however many ask', async () => {
    const id = uniqueEndpointId();
    const [first, inA, inB] = [placeAt(0), placeAt(0, 'a'), placeAt(0, 'b')];
    await join(id, first, placeAt(1), inA, placeAt(1, 'a'), inB);
    const looks = await Promise.all([1, 2, 3].map(() => besideLanes.look(id)));
    const found = looks.flat().toSorted();
    const ids = [first, first, first, inA, inB].map(({ eventId }) => eventId);
    expect(found).toEqual(ids.toSorted());
    expect(await redis.client.pttl(keys.lanesLook(id))).toBeGreaterThan(0);
  });

  it('comes to all of thousands of groups, one part after the other', async () => {
    const id = uniqueEndpointId();
    const places = Array.from({ length: 3_000 }, (_, i) => placeAt(0, String(i)));
    await join(id, ...places);
    const found = new Set<string>();
    let looks = 0;
    while (found.size < places.length && looks < 50) {
      for (const eventId of await besideLanes.look(id)) found.add(eventId);
      // As it is ten seconds later.
      await redis.client.hdel(keys.lanesLook(id), 'at');
      looks += 1;
    }
    expect(found.size).toBe(places.length);
    expect(looks).toBeGreaterThan(3);
  });

  it('forgets the group of one that is in none any more', async () => {
    const id = uniqueEndpointId();
    await join(id, placeAt(0, 'a'));
    await redis.client.del(`${keys.order(id)}:a`);
    expect(await besideLanes.look(id)).toEqual([]);
    expect(await redis.client.exists(keys.lanes(id))).toBe(0);
  });
});
