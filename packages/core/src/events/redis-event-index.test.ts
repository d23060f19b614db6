import { type DeliveryFact, encodeFact, encodeFactIn } from '../domain/delivery-fact';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { buildAttempt } from '../testing/build-attempt';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId } from '../testing/unique-ids';
import { addToEach, type EventMark, keepListed, type Retention, readIndex } from './redis-event-index';

const NOW = 1_700_000_000_000;
const RETENTION = { ageMs: 1_000, count: 100 };

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const newIndex = () => `index:{${uniqueEndpointId()}}`;
const markOf = (number: number) => ({ eventId: `evt_${number}` as EventId, createdAt: NOW + number });

async function add(index: string, entry: EventMark, retention: Retention = RETENTION): Promise<void> {
  await addToEach([{ index, entries: [entry] }], retention)(redis.client);
}

const ENDED = '{"c":"x"}\n';
const OPEN = '{"q":"rdl_1","r":1}\n';

async function setLog(index: string, { eventId }: EventMark, log: string): Promise<void> {
  const endpointId = index.slice(index.indexOf('{') + 1, -1) as EndpointId;
  await redis.client.set(keys.delivery(endpointId, eventId), log);
}

/** Deliveries that have ended. */
async function fill(key: string, numbers: readonly number[], retention = RETENTION): Promise<void> {
  for (const number of numbers) {
    await setLog(key, markOf(number), ENDED);
    await add(key, markOf(number), retention);
  }
}

async function idsIn(key: string): Promise<string[]> {
  return (await readIndex(redis.client, key, 1_000)).marks.map(({ eventId }) => eventId);
}

describe('an index', () => {
  it('drops what is older than the retention when something is added', async () => {
    const key = newIndex();
    await fill(key, [0, 500, 1_400]);
    expect(await idsIn(key)).toEqual(['evt_1400', 'evt_500']);
  });

  it('shrinks by a few at a time when the retention was made smaller', async () => {
    const key = newIndex();
    const numbers = Array.from({ length: 50 }, (_, i) => i);
    await fill(key, numbers);
    await fill(key, [50], { ageMs: 1_000, count: 5 });
    expect((await idsIn(key)).length).toBe(41);
    for (let i = 51; i < 60; i += 1) await fill(key, [i], { ageMs: 1_000, count: 5 });
    expect(await idsIn(key)).toEqual(['evt_59', 'evt_58', 'evt_57', 'evt_56', 'evt_55']);
  });

  it('is pruned beside others, each with entries of its own', async () => {
    const indexes = [newIndex(), newIndex(), newIndex()];
    const full = indexes[1] as string;
    await fill(full, [0, 1, 2]);
    const additions = indexes.map((index, i) => ({
      index,
      entries: Array.from({ length: i + 1 }, (_, j) => markOf(10 + j)),
    }));
    const pruned = await addToEach(additions, { ageMs: 1_000, count: 3 })(redis.client);
    expect(pruned).toEqual([[], [0, 1].map((number) => ({ ...markOf(number), logBytes: ENDED.length })), []]);
    expect(await Promise.all(indexes.map(idsIn))).toEqual([
      ['evt_10'],
      ['evt_11', 'evt_10', 'evt_2'],
      ['evt_12', 'evt_11', 'evt_10'],
    ]);
  });

  it('keeps deliveries that are open, however many came after them, and lets go of those that have ended', async () => {
    const key = newIndex();
    const few = { ageMs: 1_000_000, count: 10 };
    const tried = [0, 1, 2].map(markOf);
    for (const mark of tried) await setLog(key, mark, OPEN);
    for (const mark of [...tried, ...[3, 4, 5].map(markOf)]) await add(key, mark, few);
    for (let number = 6; number < 300; number += 1) await fill(key, [number], few);
    const left = await idsIn(key);
    for (let number = 0; number < 6; number += 1) expect(left).toContain(`evt_${number}`);
    expect(left).toContain('evt_299');
    expect(left.length).toBeLessThan(6 + 10 + 10);
    for (let number = 0; number < 6; number += 1) await setLog(key, markOf(number), ENDED);
    for (let number = 300; number < 310; number += 1) await add(key, markOf(number), few);
    expect(await idsIn(key)).not.toContain('evt_0');
  });

  const MADE: DeliveryFact = { kind: 'transformed', transformed: { version: 1, body: '"x"', headers: {} } };
  const REUSED: DeliveryFact = { kind: 'reused', version: 1 };
  it.each([
    ['was made', encodeFact(MADE)],
    ['was made before', encodeFact(REUSED)],
    ['was made before, in the former form', encodeFactIn('former', REUSED)],
  ])('keeps deliveries that are about to send what %s, until they have ended', async (_what, line) => {
    const key = newIndex();
    const few = { ageMs: 1_000_000, count: 3 };
    const [first, second] = [0, 1].map(markOf) as [EventMark, EventMark];
    await setLog(key, first, line);
    await setLog(key, second, OPEN + line);
    for (const mark of [first, second]) await add(key, mark, few);
    await fill(key, [2, 3, 4, 5], few);
    expect(await idsIn(key)).toEqual(expect.arrayContaining([first.eventId, second.eventId]));
    const transformed = { version: 1, body: '"x"', headers: {} };
    const attempt = buildAttempt({ outcome: 'delivered', transformed });
    const sent = encodeFact({ kind: 'attempted', attempt, nextAttemptAt: undefined });
    for (const mark of [first, second]) await setLog(key, mark, line + sent);
    await fill(key, [6, 7, 8, 9], few);
    expect(await idsIn(key)).toEqual(['evt_9', 'evt_8', 'evt_7']);
  });

  it('shows an entry for longer than its age says, as long as it is to, and forgets it then', async () => {
    const key = newIndex();
    const old = markOf(-5_000);
    await setLog(key, old, ENDED);
    await keepListed(key, old, 60_000)(redis.client);
    await fill(key, [0, 1, 2]);
    expect(await idsIn(key)).toContain(old.eventId);
    const kept = key.replace('index', 'kept-longer');
    expect(await redis.client.pttl(kept)).toBeGreaterThan(0);
    await redis.client.zadd(kept, 1, old.eventId);
    await fill(key, [3]);
    expect(await idsIn(key)).toEqual(['evt_3', 'evt_2', 'evt_1', 'evt_0']);
    expect(await redis.client.exists(kept)).toBe(0);
  });

  it('is gone when nothing was added for as long as the retention', async () => {
    const key = newIndex();
    await fill(key, [0]);
    const remainingMs = await redis.client.pttl(key);
    expect(remainingMs).toBeGreaterThan(0);
    expect(remainingMs).toBeLessThanOrEqual(1_000);
  });

  it('gives those from a time on, and before another', async () => {
    const key = newIndex();
    await fill(key, [1, 2, 3, 4]);
    const range = { since: NOW + 2, until: NOW + 4 };
    const first = await readIndex(redis.client, key, 1, range);
    expect(first).toEqual({ marks: [markOf(3)], nextCursor: markOf(3) });
    expect(await readIndex(redis.client, key, 1, range, first.nextCursor)).toEqual({
      marks: [markOf(2)],
      nextCursor: undefined,
    });
  });
});
