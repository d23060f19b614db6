import { Redis, ReplyError } from 'ioredis';
import type { EndpointId } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { buildFailedAttempt } from '../../testing/build-attempt';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueEndpointId } from '../../testing/unique-ids';
import {
  type AttemptTally,
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

const success = (at: number): EndedAttempt => ({ at, durationMs: 40 });
const failure = (at: number, failed = buildFailedAttempt()): EndedAttempt => ({
  failed,
  at,
  durationMs: 5_000,
});
function durationsOf(successes: number, failures: number) {
  return decodeDurations('').map(
    (_, i) => successes * (countDuration(40)[i] ?? 0) + failures * (countDuration(5_000)[i] ?? 0),
  );
}

const tallyFor = (attempts: readonly EndedAttempt[]) =>
  attempts.map((each) => tallyOf(each)).reduce(addTallies);

async function add(endpointId: EndpointId, tally: AttemptTally, now: number): Promise<void> {
  expect(await store.addAll([{ endpointId, tally }], now)).toEqual([]);
}

describe('the health store', () => {
  it('knows nothing of an endpoint that was never tried', async () => {
    const id = uniqueEndpointId();
    expect(await store.read(id, NOW)).toEqual({
      hours: [],
      lastSuccessAt: undefined,
      lastFailure: undefined,
      limits: [],
    });
    expect(await store.readLastSuccess(id)).toBeUndefined();
  });

  it('gives back what was added', async () => {
    const id = uniqueEndpointId();
    const tally = tallyFor([success(NOW - HOUR_MS), success(NOW), failure(NOW + 1)]);
    await add(id, tally, NOW + 1);
    expect(await store.read(id, NOW)).toEqual({ ...tally, limits: [] });
    expect(await store.readLastSuccess(id)).toBe(NOW);
  });

  it('adds up what several workers add at the same time', async () => {
    const id = uniqueEndpointId();
    const tallies = Array.from({ length: 50 }, (_, i) =>
      tallyFor([success(NOW + i), failure(NOW + 100 - i)]),
    );
    const workers = [store, new HealthStore(redis.client, RETENTION_MS)] as const;
    await Promise.all(
      tallies.map((tally, i) => workers[i % 2 === 0 ? 0 : 1].addAll([{ endpointId: id, tally }], NOW)),
    );
    expect(await store.read(id, NOW)).toMatchObject({
      hours: [{ hour: hourOf(NOW), successes: 50, failures: 50, durations: durationsOf(50, 50) }],
      lastSuccessAt: NOW + 49,
      lastFailure: { at: NOW + 100, attempt: expect.anything() },
    });
  });

  it('drops the hours that no longer count, and remembers the last success', async () => {
    const id = uniqueEndpointId();
    await add(id, tallyFor([success(NOW), success(NOW + HOUR_MS)]), NOW + HOUR_MS);
    const later = NOW + HOURS_KEPT * HOUR_MS;
    await add(id, tallyFor([failure(later)]), later);
    expect(await store.read(id, later)).toMatchObject({
      hours: [
        { hour: hourOf(NOW) + 1, successes: 1, failures: 0, durations: durationsOf(1, 0) },
        { hour: hourOf(later), successes: 0, failures: 1, durations: durationsOf(0, 1) },
      ],
      lastSuccessAt: NOW + HOUR_MS,
      lastFailure: { at: later, attempt: expect.anything() },
    });
  });

  it('goes when nothing was tried for the retention, counted from the hour of the last time', async () => {
    const id = uniqueEndpointId();
    const isKept = async () => {
      const remainingMs = await redis.client.pttl(keys.health(id));
      expect(remainingMs).toBeGreaterThan(HOUR_MS + RETENTION_MS / 2);
      expect(remainingMs).toBeLessThanOrEqual(HOUR_MS + RETENTION_MS);
    };
    await add(id, tallyFor([success(NOW)]), NOW);
    await isKept();
    await redis.client.pexpire(keys.health(id), 1_000);
    await add(id, tallyFor([success(NOW + HOUR_MS)]), NOW + HOUR_MS);
    await isKept();
    await redis.client.pexpire(keys.health(id), 1_000);
    await add(id, { ...tallyFor([success(NOW)]), hours: [] }, NOW);
    await isKept();
  });

  it('adds to many at once, each with hours and a limit of its own', async () => {
    const added = Array.from({ length: 40 }, (_, i) => ({
      endpointId: uniqueEndpointId(),
      tally: tallyFor([success(NOW), ...(i % 3 === 0 ? [failure(NOW - HOUR_MS)] : [])]),
      limit: i % 2 === 0 ? i + 1 : undefined,
    }));
    expect(await store.addAll(added, NOW, 'f00d42')).toEqual([]);
    for (const { endpointId, tally, limit } of added) {
      const limits = limit === undefined ? [] : [limit];
      expect(await store.read(endpointId, NOW)).toEqual({ ...tally, limits });
    }
  });

  it('gives those that it could not add to, and adds to all others', async () => {
    const [first, bad, last] = [uniqueEndpointId(), uniqueEndpointId(), uniqueEndpointId()];
    await redis.client.set(keys.health(bad), 'no hash');
    const added = [first, bad, last].map((endpointId) => ({ endpointId, tally: tallyFor([success(NOW)]) }));
    const notAdded = await store.addAll(added, NOW);
    expect(notAdded).toEqual([{ added: added[1], error: expect.any(ReplyError) }]);
    expect(String(notAdded[0]?.error)).toContain('WRONGTYPE');
    for (const id of [first, last]) expect(await store.readLastSuccess(id)).toBe(NOW);
  });

  it('gives all of them when Redis is away', async () => {
    const closed = new Redis(1, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    closed.on('error', () => {});
    const added = [uniqueEndpointId(), uniqueEndpointId()].map((endpointId) => ({
      endpointId,
      tally: tallyFor([success(NOW)]),
    }));
    const notAdded = await new HealthStore(closed, RETENTION_MS).addAll(added, NOW);
    expect(notAdded).toEqual(added.map((each) => ({ added: each, error: expect.any(Error) })));
  });

  it('gives the last limit that each worker has said, for about a minute', async () => {
    const id = uniqueEndpointId();
    const say = async (workerId: string, limit: number, at: number) =>
      await store.addAll([{ endpointId: id, tally: tallyFor([success(at)]), limit }], at, workerId);
    await say('f00d42', 8, NOW);
    await say('c0ffee', 2, NOW);
    await say('f00d42', 16, NOW + 50_000);
    await add(id, tallyFor([success(NOW + 50_000)]), NOW + 50_000);
    expect((await store.read(id, NOW + 60_000)).limits).toEqual([16, 2]);
    expect((await store.read(id, NOW + 80_000)).limits).toEqual([16]);
    expect((await store.read(id, NOW + 130_000)).limits).toEqual([]);
  });

  it('keeps no more of workers than of the last minute, however many there were', async () => {
    const id = uniqueEndpointId();
    for (let i = 0; i < 20; i += 1) {
      const at = NOW + i * 60_000;
      await store.addAll([{ endpointId: id, tally: tallyFor([success(at)]), limit: 1 }], at, `worker${i}`);
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
    for (const each of [id, other]) await add(each, tallyFor([success(NOW)]), NOW);
    await store.remove(id);
    expect(await store.readLastSuccess(id)).toBeUndefined();
    expect(await store.readLastSuccess(other)).toBe(NOW);
  });
});
