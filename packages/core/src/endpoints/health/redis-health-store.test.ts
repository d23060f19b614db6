import { keys } from '../../domain/keys';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueEndpointId } from '../../testing/unique-ids';
import {
  addTallies,
  countDuration,
  decodeDurations,
  type EndedAttempt,
  HOURS_KEPT,
  hourOf,
  tallyOf,
} from './attempt-tally';
import { HealthStore } from './redis-health-store';

const HOUR_MS = 3_600_000;
const NOW = 472_236 * HOUR_MS;
const RETENTION_MS = 60_000;

let redis: TestRedis;
let store: HealthStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = new HealthStore(redis.client, RETENTION_MS);
});
afterAll(() => redis.close());

const success = (at: number): EndedAttempt => ({ delivered: true, at, durationMs: 40 });
const failure = (at: number): EndedAttempt => ({ delivered: false, at, durationMs: 5_000 });
function durationsOf(successes: number, failures: number) {
  return decodeDurations('').map(
    (_, i) => successes * (countDuration(40)[i] ?? 0) + failures * (countDuration(5_000)[i] ?? 0),
  );
}

const tallyFor = (attempts: readonly EndedAttempt[]) =>
  attempts.map((each) => tallyOf(each)).reduce(addTallies);

describe('the health store', () => {
  it('knows nothing of an endpoint that was never tried', async () => {
    const id = uniqueEndpointId();
    expect(await store.read(id, NOW)).toEqual({
      hours: [],
      lastSuccessAt: undefined,
      lastFailureAt: undefined,
      limits: [],
    });
    expect(await store.readLastSuccess(id)).toBeUndefined();
  });

  it('gives back what was added', async () => {
    const id = uniqueEndpointId();
    const tally = tallyFor([success(NOW - HOUR_MS), success(NOW), failure(NOW + 1)]);
    await store.add(id, tally, NOW + 1);
    expect(await store.read(id, NOW)).toEqual({ ...tally, limits: [] });
    expect(await store.readLastSuccess(id)).toBe(NOW);
  });

  it('adds up what several workers add at the same time', async () => {
    const id = uniqueEndpointId();
    const tallies = Array.from({ length: 50 }, (_, i) =>
      tallyFor([success(NOW + i), failure(NOW + 100 - i)]),
    );
    const workers = [store, new HealthStore(redis.client, RETENTION_MS)] as const;
    await Promise.all(tallies.map((tally, i) => workers[i % 2 === 0 ? 0 : 1].add(id, tally, NOW)));
    expect(await store.read(id, NOW)).toMatchObject({
      hours: [{ hour: hourOf(NOW), successes: 50, failures: 50, durations: durationsOf(50, 50) }],
      lastSuccessAt: NOW + 49,
      lastFailureAt: NOW + 100,
    });
  });

  it('drops the hours that no longer count, and remembers the last success', async () => {
    const id = uniqueEndpointId();
    await store.add(id, tallyFor([success(NOW), success(NOW + HOUR_MS)]), NOW + HOUR_MS);
    const later = NOW + HOURS_KEPT * HOUR_MS;
    await store.add(id, tallyFor([failure(later)]), later);
    expect(await store.read(id, later)).toMatchObject({
      hours: [
        { hour: hourOf(NOW) + 1, successes: 1, failures: 0, durations: durationsOf(1, 0) },
        { hour: hourOf(later), successes: 0, failures: 1, durations: durationsOf(0, 1) },
      ],
      lastSuccessAt: NOW + HOUR_MS,
      lastFailureAt: later,
    });
  });

  it('goes when nothing was tried for the retention, counted from the last time', async () => {
    const id = uniqueEndpointId();
    await store.add(id, tallyFor([success(NOW)]), NOW);
    await redis.client.pexpire(keys.health(id), 1_000);
    await store.add(id, tallyFor([success(NOW)]), NOW);
    const remainingMs = await redis.client.pttl(keys.health(id));
    expect(remainingMs).toBeGreaterThan(RETENTION_MS / 2);
    expect(remainingMs).toBeLessThanOrEqual(RETENTION_MS);
  });

  it('gives the last limit that each worker has said, for about a minute', async () => {
    const id = uniqueEndpointId();
    const say = async (workerId: string, limit: number, at: number) =>
      await store.add(id, tallyFor([success(at)]), at, { workerId, limit });
    await say('f00d42', 8, NOW);
    await say('c0ffee', 2, NOW);
    await say('f00d42', 16, NOW + 50_000);
    await store.add(id, tallyFor([success(NOW + 50_000)]), NOW + 50_000);
    expect((await store.read(id, NOW + 60_000)).limits).toEqual([16, 2]);
    expect((await store.read(id, NOW + 80_000)).limits).toEqual([16]);
    expect((await store.read(id, NOW + 130_000)).limits).toEqual([]);
  });

  it('keeps no more of workers than of the last minute, however many there were', async () => {
    const id = uniqueEndpointId();
    for (let i = 0; i < 20; i += 1) {
      const at = NOW + i * 60_000;
      await store.add(id, tallyFor([success(at)]), at, { workerId: `worker${i}`, limit: 1 });
    }
    expect((await redis.client.hget(keys.health(id), 'limits'))?.split(' ')).toHaveLength(2);
  });

  it('reads what a version wrote that knew of no limits', async () => {
    const id = uniqueEndpointId();
    const hour = hourOf(NOW);
    await redis.client.hset(keys.health(id), { [`s${hour}`]: 3, [`f${hour}`]: 1, 'last-success': NOW });
    expect(await store.read(id, NOW)).toMatchObject({ hours: [{ successes: 3, failures: 1 }], limits: [] });
  });

  it("forgets an endpoint, and nothing of another's", async () => {
    const [id, other] = [uniqueEndpointId(), uniqueEndpointId()];
    for (const each of [id, other]) await store.add(each, tallyFor([success(NOW)]), NOW);
    await store.remove(id);
    expect(await store.readLastSuccess(id)).toBeUndefined();
    expect(await store.readLastSuccess(other)).toBe(NOW);
  });
});
