import type { EndpointId } from '../endpoints/endpoint';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import type { Parked } from './parked';
import { createRedisParkedStore, type ParkedStore } from './redis-parked-store';
import { createRedisTurnStore, type TurnStore } from './redis-turn-store';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
let store: TurnStore;
let parkedStore: ParkedStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = createRedisTurnStore(redis.client);
  parkedStore = createRedisParkedStore(redis.client, { retentionMs: 60_000, clock: () => NOW });
});
afterAll(() => redis.close());

/** So many deliveries that wait, in order of acceptance. */
async function line(length: number): Promise<{ id: EndpointId; waiting: Parked[] }> {
  const id = uniqueEndpointId();
  const waiting = Array.from({ length }, (): Parked => ({ eventId: uniqueEventId(), side: 'first' }));
  for (const each of waiting) await parkedStore.park(id, each, NOW);
  return { id, waiting };
}

async function release(id: EndpointId, delivery: Parked): Promise<void> {
  await store.give(id, delivery);
  await parkedStore.forget(id, await parkedStore.claimOne(id, delivery));
}

it('has nobody next where nobody waits', async () => {
  expect(await store.findNext(uniqueEndpointId())).toEqual({ kind: 'nobody' });
});

it('has the one that was accepted first next, and of one millisecond the one whose id was made first', async () => {
  const { id, waiting } = await line(3);
  expect(await store.findNext(id)).toEqual({ kind: 'first_in_line', delivery: waiting[0], acceptedAt: NOW });
  const older: Parked = { eventId: uniqueEventId(), side: 'second' };
  await parkedStore.park(id, older, NOW - 1);
  expect(await store.findNext(id)).toEqual({ kind: 'first_in_line', delivery: older, acceptedAt: NOW - 1 });
});

it('gives the turn to one, however many ask', async () => {
  const { id, waiting } = await line(2);
  const [first = never(), second = never()] = waiting;
  expect(await Promise.all([store.give(id, first), store.give(id, first)])).toEqual([true, false]);
  expect(await store.give(id, second)).toBe(false);
  expect(await store.isTurnOf(id, first.eventId)).toBe(true);
  expect(await store.isTurnOf(id, second.eventId)).toBe(false);
});

it('gives it to none that somebody who was accepted earlier has come before meanwhile', async () => {
  const { id, waiting } = await line(1);
  const [first = never()] = waiting;
  await parkedStore.park(id, { eventId: uniqueEventId(), side: 'first' }, NOW - 1);
  expect(await store.give(id, first)).toBe(false);
  expect(await store.isTurnOf(id, first.eventId)).toBe(false);
});

it('is kept while the delivery is under way', async () => {
  const { id, waiting } = await line(2);
  const [first = never(), second = never()] = waiting;
  await release(id, first);
  expect(await store.findNext(id)).toEqual({ kind: 'under_way', delivery: first });
  expect(await store.give(id, second)).toBe(false);
});

it('is kept while the delivery is parked for another reason, to be released by its other job', async () => {
  const { id, waiting } = await line(2);
  const [first = never()] = waiting;
  await release(id, first);
  const again: Parked = { ...first, side: 'second' };
  await parkedStore.park(id, again, NOW);
  expect(await store.findNext(id)).toEqual({ kind: 'parked', delivery: again });
  await parkedStore.forget(id, await parkedStore.claimOne(id, again));
  expect(await store.findNext(id)).toEqual({ kind: 'under_way', delivery: again });
});

it('passes to the next one, once', async () => {
  const { id, waiting } = await line(3);
  const [first = never(), second = never()] = waiting;
  await release(id, first);
  await store.pass(id, first.eventId);
  expect(await store.findNext(id)).toMatchObject({ kind: 'first_in_line', delivery: second });
  await release(id, second);
  await store.pass(id, first.eventId);
  expect(await store.isTurnOf(id, second.eventId)).toBe(true);
});

it('does not come back to one that has ended before it was taken out of the line', async () => {
  const { id, waiting } = await line(2);
  const [first = never(), second = never()] = waiting;
  await store.give(id, first);
  await store.pass(id, first.eventId);
  expect(await store.findNext(id)).toMatchObject({ delivery: second });
});

it('is nobody else’s when it is cleared', async () => {
  const { id, waiting } = await line(1);
  const [first = never()] = waiting;
  await release(id, first);
  await store.clear(id);
  expect(await store.findNext(id)).toEqual({ kind: 'nobody' });
});

function never(): never {
  throw new Error('There are fewer than that.');
}
