import type { EventId } from '../domain/event';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId } from '../testing/unique-ids';
import { addToEach, type EventMark, type Retention, readIndex } from './redis-event-index';

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
  await addToEach(redis.client, [{ index, entries: [entry] }], retention);
}

async function fill(key: string, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) await add(key, markOf(number));
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
    await add(key, markOf(50), { ageMs: 1_000, count: 5 });
    expect((await idsIn(key)).length).toBe(41);
    for (let i = 51; i < 60; i += 1) await add(key, markOf(i), { ageMs: 1_000, count: 5 });
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
    const pruned = await addToEach(redis.client, additions, { ageMs: 1_000, count: 3 });
    expect(pruned).toEqual([[], [0, 1].map((number) => ({ ...markOf(number), logBytes: undefined })), []]);
    expect(await Promise.all(indexes.map(idsIn))).toEqual([
      ['evt_10'],
      ['evt_11', 'evt_10', 'evt_2'],
      ['evt_12', 'evt_11', 'evt_10'],
    ]);
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
