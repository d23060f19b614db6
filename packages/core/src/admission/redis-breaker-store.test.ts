import { keys } from '../redis/keys';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId } from '../testing/unique-ids';
import { CLOSED, FAILURES_TO_OPEN, FIRST_OPEN_MS, MAX_OPEN_MS, PROBE_MS } from './breaker';
import { type BreakerStore, createRedisBreakerStore } from './redis-breaker-store';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
let store: BreakerStore;
beforeAll(async () => {
  redis = await openTestRedis();
  store = createRedisBreakerStore(redis.client);
});
afterAll(() => redis.close());

async function fail(endpointId = uniqueEndpointId(), times = 1) {
  for (let count = 0; count < times; count += 1) await store.recordFailure(endpointId, CLOSED, NOW);
  return endpointId;
}

describe('the breaker', () => {
  it('is closed where nothing is known', async () => {
    expect(await store.readBreaker(uniqueEndpointId())).toEqual(CLOSED);
  });

  it('counts failures and stays closed as long as they are few', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN - 2);
    const state = { failures: FAILURES_TO_OPEN - 1, openUntil: 0 };
    expect(await store.recordFailure(id, CLOSED, NOW)).toMatchObject({ ...state, hasOpened: false });
    expect(await store.readBreaker(id)).toEqual(state);
  });

  it('opens with the failure that is one too many', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN - 1);
    const state = { failures: FAILURES_TO_OPEN, openUntil: NOW + FIRST_OPEN_MS };
    expect(await store.recordFailure(id, CLOSED, NOW)).toMatchObject({ ...state, hasOpened: true });
    expect(await store.readBreaker(id)).toEqual(state);
  });

  it('is open twice as long after each failed probe, up to a maximum, however many there are', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    const openTimes: number[] = [];
    let now = NOW + FIRST_OPEN_MS;
    for (let probes = 0; probes < 80; probes += 1) {
      const seen = await store.readBreaker(id);
      await store.claimProbe(id, now);
      const { openUntil } = await store.recordFailure(id, seen, now);
      openTimes.push(openUntil - now);
      now = openUntil;
    }
    expect(openTimes.slice(0, 5)).toEqual([2, 4, 8, 16, 32].map((times) => times * FIRST_OPEN_MS));
    expect(new Set(openTimes.slice(5))).toEqual(new Set([MAX_OPEN_MS]));
  });

  it('is open no longer when many attempts fail that were all under way as it opened', async () => {
    const id = uniqueEndpointId();
    const records = await Promise.all(Array.from({ length: 64 }, () => store.recordFailure(id, CLOSED, NOW)));
    expect(records.filter(({ hasOpened }) => hasOpened)).toHaveLength(1);
    expect(await store.readBreaker(id)).toEqual({
      failures: FAILURES_TO_OPEN,
      openUntil: NOW + FIRST_OPEN_MS,
    });
  });

  it('is closed again without a memory of failures', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    await store.closeBreaker(id);
    expect(await store.readBreaker(id)).toEqual(CLOSED);
    expect(await store.recordFailure(id, CLOSED, NOW)).toMatchObject({ failures: 1, openUntil: 0 });
  });

  it('is one for each endpoint', async () => {
    await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    expect(await store.readBreaker(uniqueEndpointId())).toEqual(CLOSED);
  });
});

describe('claimProbe', () => {
  const openUntil = NOW + FIRST_OPEN_MS;

  it('gives the probe to nobody before its time', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    expect(await store.claimProbe(id, openUntil - 1)).toBe(false);
  });

  it('gives the probe to exactly one of all who ask at the same time', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    const claims = await Promise.all(Array.from({ length: 50 }, () => store.claimProbe(id, openUntil)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await store.readBreaker(id)).toEqual({
      failures: FAILURES_TO_OPEN,
      openUntil: openUntil + PROBE_MS,
    });
  });

  it('gives it to another one when the first is not heard of again', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    await store.claimProbe(id, openUntil);
    expect(await store.claimProbe(id, openUntil + PROBE_MS - 1)).toBe(false);
    expect(await store.claimProbe(id, openUntil + PROBE_MS)).toBe(true);
  });
});

describe('giveProbeBack', () => {
  const openUntil = NOW + FIRST_OPEN_MS;

  it('lets the next one probe at once', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    const admittedWith = await store.readBreaker(id);
    await store.claimProbe(id, openUntil);
    await store.giveProbeBack(id, admittedWith, openUntil + 1);
    expect(await store.readBreaker(id)).toEqual(admittedWith);
    expect(await store.claimProbe(id, openUntil + 1)).toBe(true);
  });

  it('changes nothing when the breaker was closed meanwhile', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    const admittedWith = await store.readBreaker(id);
    await store.claimProbe(id, openUntil);
    await store.closeBreaker(id);
    await store.giveProbeBack(id, admittedWith, openUntil + 1);
    expect(await store.readBreaker(id)).toEqual(CLOSED);
  });

  it('keeps what else is known of the row of failures', async () => {
    const id = uniqueEndpointId();
    await store.recordFailure(id, CLOSED, NOW - 1, { telling: true });
    await fail(id, FAILURES_TO_OPEN);
    const admittedWith = await store.readBreaker(id);
    await store.claimProbe(id, admittedWith.openUntil);
    await store.giveProbeBack(id, admittedWith, admittedWith.openUntil + 1);
    expect(await store.closeBreaker(id)).toEqual({ wasOpen: true, toldFailingSince: NOW - 1 });
  });
});

describe('a row of failures', () => {
  it('is known since its first one', async () => {
    const id = uniqueEndpointId();
    expect(await store.recordFailure(id, CLOSED, NOW)).toMatchObject({ failingSince: NOW });
    expect(await store.recordFailure(id, CLOSED, NOW + 5_000)).toMatchObject({ failingSince: NOW });
    await store.closeBreaker(id);
    expect(await store.recordFailure(id, CLOSED, NOW + 9_000)).toMatchObject({ failingSince: NOW + 9_000 });
  });

  it('is known since its first one also when the breaker has been open and probed', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    const seen = await store.readBreaker(id);
    await store.claimProbe(id, NOW + FIRST_OPEN_MS);
    expect(await store.recordFailure(id, seen, NOW + FIRST_OPEN_MS)).toMatchObject({ failingSince: NOW });
  });

  it('counts from now on when its record was written before there was such a time', async () => {
    const id = uniqueEndpointId();
    await redis.client.set(keys.breaker(id), '3 0');
    expect(await store.readBreaker(id)).toEqual({ failures: 3, openUntil: 0 });
    expect(await store.recordFailure(id, CLOSED, NOW)).toMatchObject({ failures: 4, failingSince: NOW });
  });
});

describe('closeBreaker', () => {
  it.each([
    ['no failure', 0, false],
    ['fewer failures than open it', FAILURES_TO_OPEN - 1, false],
    ['enough failures to open it', FAILURES_TO_OPEN, true],
  ])('after %s says whether it was open', async (_what, failures, wasOpen) => {
    const id = await fail(uniqueEndpointId(), failures);
    expect(await store.closeBreaker(id)).toEqual({ wasOpen, toldFailingSince: undefined });
  });

  it('says to exactly one of all who ask that the account was told, and since when it has failed', async () => {
    const id = uniqueEndpointId();
    await store.recordFailure(id, CLOSED, NOW);
    await store.recordFailure(id, CLOSED, NOW + 1, { telling: true });
    await store.recordFailure(id, CLOSED, NOW + 2);
    const closed = await Promise.all(Array.from({ length: 20 }, () => store.closeBreaker(id)));
    expect(closed.filter(({ toldFailingSince }) => toldFailingSince !== undefined)).toEqual([
      { wasOpen: false, toldFailingSince: NOW },
    ]);
  });

  it('knows that the account was told also by a failure that came when the breaker was open', async () => {
    const id = await fail(uniqueEndpointId(), FAILURES_TO_OPEN);
    await store.recordFailure(id, CLOSED, NOW, { telling: true });
    expect(await store.closeBreaker(id)).toEqual({ wasOpen: true, toldFailingSince: NOW });
  });

  it('knows it also after a probe', async () => {
    const id = uniqueEndpointId();
    await store.recordFailure(id, CLOSED, NOW, { telling: true });
    await fail(id, FAILURES_TO_OPEN);
    await store.claimProbe(id, NOW + FIRST_OPEN_MS);
    expect(await store.closeBreaker(id)).toMatchObject({ toldFailingSince: NOW });
  });
});

it('goes a month after it was last written: its endpoint may be deleted while an attempt is under way', async () => {
  const id = uniqueEndpointId();
  const daysLeft = async () => Math.ceil((await redis.client.pttl(keys.breaker(id))) / 86_400_000);
  await fail(id, FAILURES_TO_OPEN);
  expect(await daysLeft()).toBe(30);
  const opened = await store.readBreaker(id);
  await store.claimProbe(id, opened.openUntil);
  expect(await daysLeft()).toBe(30);
  await store.giveProbeBack(id, opened, opened.openUntil);
  expect(await store.readBreaker(id)).toEqual(opened);
  expect(await daysLeft()).toBe(30);
});
