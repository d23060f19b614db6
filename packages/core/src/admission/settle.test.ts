import { tallyOf } from '../endpoints/attempt-tally';
import type { Endpoint } from '../endpoints/endpoint';
import { keys } from '../redis/keys';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildGate } from '../testing/build-gate';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEventId } from '../testing/unique-ids';
import { CLOSED, FAILURES_TO_OPEN, FIRST_OPEN_MS } from './breaker';
import type { SettleInput } from './settle';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

interface Arrangement {
  readonly endpoint?: Endpoint;
  /** Failed attempts in a row before this one, the last of them so long ago that its breaker may be probed. */
  readonly failures?: number;
  /** How many deliveries wait at the gate. */
  readonly waiting?: number;
}

async function arrange({ endpoint = buildEndpoint(), failures = 0, waiting = 0 }: Arrangement = {}) {
  const gate = buildGate({ redis: redis.client, clock: () => NOW });
  await gate.endpointStore.create(endpoint);
  for (let count = 0; count < failures; count += 1) {
    await gate.breakerStore.recordFailure(endpoint.id, CLOSED, NOW - FIRST_OPEN_MS);
  }
  for (let count = 0; count < waiting; count += 1) {
    await gate.parkedStore.park(endpoint.id, { eventId: uniqueEventId(), side: 'second' }, NOW + count);
  }
  const breaker = await gate.breakerStore.readBreaker(endpoint.id);
  const wakeAt = (at: number) => ({ accountId: endpoint.accountId, endpointId: endpoint.id, at });
  const input: SettleInput = {
    endpoint,
    breaker,
    delivered: true,
    disabledBy: undefined,
    tellsOfFailing: false,
    wasReleased: false,
  };
  return {
    ...gate,
    endpoint,
    wakeAt,
    succeed: (change: Partial<SettleInput> = {}) => gate.settle({ ...input, ...change }),
    fail: (change: Partial<SettleInput> = {}) => gate.settle({ ...input, delivered: false, ...change }),
    readBreaker: () => gate.breakerStore.readBreaker(endpoint.id),
    readEndpoint: () => gate.endpointStore.find(endpoint.accountId, endpoint.id),
  };
}

describe('a success', () => {
  it('writes nothing at an endpoint that is well', async () => {
    const { succeed, endpoint, wakes, releases } = await arrange({ waiting: 1 });
    await succeed();
    expect(await redis.client.exists(keys.breaker(endpoint.id))).toBe(0);
    expect(wakes.asked).toEqual([]);
    expect(releases.released).toEqual([]);
  });

  it('ends a row of failures that was too short to open the breaker, and wakes nobody', async () => {
    const { succeed, readBreaker, wakes, signals } = await arrange({ failures: FAILURES_TO_OPEN - 1 });
    await succeed();
    expect(await readBreaker()).toEqual(CLOSED);
    expect(wakes.asked).toEqual([]);
    expect(signals.named('breaker.closed')).toEqual([]);
  });

  it('of a probe closes the breaker, and has the gate looked at now', async () => {
    const { succeed, readBreaker, wakes, wakeAt, signals, endpoint } = await arrange({
      failures: FAILURES_TO_OPEN,
    });
    await succeed();
    expect(await readBreaker()).toEqual(CLOSED);
    expect(wakes.asked).toEqual([wakeAt(NOW)]);
    expect(signals.named('breaker.closed')).toEqual([{ name: 'breaker.closed', endpointId: endpoint.id }]);
  });
});

describe('a failure', () => {
  it('is counted, and wakes nobody as long as the breaker is closed', async () => {
    const { fail, readBreaker, wakes, signals } = await arrange();
    await fail();
    expect(await readBreaker()).toEqual({ failures: 1, openUntil: 0 });
    expect(wakes.asked).toEqual([]);
    expect(signals.named('breaker.opened')).toEqual([]);
  });

  it('that opens the breaker is announced, and has the gate looked at when it half-opens', async () => {
    const { fail, wakes, wakeAt, signals, endpoint } = await arrange({ failures: FAILURES_TO_OPEN - 1 });
    await fail();
    expect(wakes.asked).toEqual([wakeAt(NOW + FIRST_OPEN_MS)]);
    expect(signals.named('breaker.opened')).toEqual([
      {
        name: 'breaker.opened',
        endpointId: endpoint.id,
        failures: FAILURES_TO_OPEN,
        openForMs: FIRST_OPEN_MS,
      },
    ]);
  });

  it('is not announced when others have opened the breaker while it was under way', async () => {
    const { fail, signals, wakes } = await arrange();
    await Promise.all(Array.from({ length: 2 * FAILURES_TO_OPEN }, () => fail()));
    expect(signals.named('breaker.opened')).toHaveLength(1);
    expect(wakes.asked).toHaveLength(1);
  });

  it('of a probe opens the breaker for twice as long', async () => {
    const { fail, wakes, wakeAt } = await arrange({ failures: FAILURES_TO_OPEN });
    await fail();
    expect(wakes.asked).toEqual([wakeAt(NOW + 2 * FIRST_OPEN_MS)]);
  });
});

describe('a receiver that wants nothing any more', () => {
  it.each(['gone', 'receiver'] as const)('disables its endpoint, and says why: %s', async (disabledBy) => {
    const { fail, readEndpoint, endpoint, signals } = await arrange();
    await fail({ disabledBy });
    expect(await readEndpoint()).toEqual({
      ...endpoint,
      status: 'disabled',
      disabledReason: disabledBy,
      updatedAt: endpoint.updatedAt + 1,
    });
    expect(signals.named('endpoint.disabled')).toEqual([
      { name: 'endpoint.disabled', endpointId: endpoint.id, reason: disabledBy },
    ]);
  });

  it('disables its endpoint also with a success', async () => {
    const { succeed, readEndpoint } = await arrange();
    await succeed({ disabledBy: 'receiver' });
    expect(await readEndpoint()).toMatchObject({ status: 'disabled', disabledReason: 'receiver' });
  });

  it('changes no endpoint that was deleted meanwhile', async () => {
    const { fail, readEndpoint, endpoint, endpointStore } = await arrange();
    await endpointStore.remove(endpoint.accountId, endpoint.id);
    await fail({ disabledBy: 'gone' });
    expect(await readEndpoint()).toBeUndefined();
  });

  it('is not any that fails', async () => {
    const { fail, readEndpoint, endpoint } = await arrange();
    await fail();
    expect(await readEndpoint()).toEqual(endpoint);
  });
});

describe('whoever waits at the gate', () => {
  it('is let through as one that had waited comes to its end', async () => {
    const { succeed, releases } = await arrange({ waiting: 1 });
    await succeed({ wasReleased: true });
    expect(releases.released).toHaveLength(1);
  });

  it('is let through as any other comes to its end, once this process knows of them', async () => {
    const { succeed, releases, waitingHere, endpoint } = await arrange({ waiting: 1 });
    waitingHere.add(endpoint.id);
    await succeed();
    expect(releases.released).toHaveLength(1);
    expect(waitingHere.size).toBe(0);
  });

  it('goes on waiting when the failure has opened the breaker', async () => {
    const { fail, releases } = await arrange({ failures: FAILURES_TO_OPEN - 1, waiting: 1 });
    await fail({ wasReleased: true });
    expect(releases.released).toEqual([]);
  });

  it('goes when the turn is passed, not before, where they go one at a time', async () => {
    const endpoint = buildEndpoint({ ordering: 'strict' });
    const { succeed, releases } = await arrange({ endpoint, waiting: 1 });
    await succeed({ wasReleased: true });
    expect(releases.released).toEqual([]);
  });
});

const DAY_MS = 86_400_000;

describe('an endpoint that has failed for too long', () => {
  // Created in days long past, and failing for a day.
  async function arrangeFailing(change: Partial<Endpoint> = {}) {
    const arranged = await arrange({ endpoint: buildEndpoint({ createdAt: NOW - 50 * DAY_MS, ...change }) });
    await arranged.breakerStore.recordFailure(arranged.endpoint.id, CLOSED, NOW - DAY_MS);
    return arranged;
  }

  it('is disabled by the next failure, which says so', async () => {
    const { fail, readEndpoint, signals, endpoint } = await arrangeFailing();
    expect(await fail()).toEqual({ disabledAs: 'failing', recoveredFrom: undefined });
    expect(await readEndpoint()).toMatchObject({ status: 'disabled', disabledReason: 'failing' });
    expect(signals.named('endpoint.disabled')).toEqual([
      { name: 'endpoint.disabled', endpointId: endpoint.id, reason: 'failing' },
    ]);
  });

  it('is disabled once, however many attempts fail at the same time', async () => {
    const { fail, signals } = await arrangeFailing();
    const settled = await Promise.all(Array.from({ length: 10 }, () => fail()));
    expect(settled.filter(({ disabledAs }) => disabledAs === 'failing')).toHaveLength(1);
    expect(signals.named('endpoint.disabled')).toHaveLength(1);
  });

  it('is not disabled while its last success is not long ago', async () => {
    const { fail, readEndpoint, healthStore, endpoint } = await arrangeFailing();
    await healthStore.add(endpoint.id, tallyOf({ delivered: true, at: NOW - 2 * DAY_MS }), NOW);
    expect(await fail()).toEqual({ disabledAs: undefined, recoveredFrom: undefined });
    expect(await readEndpoint()).toEqual(endpoint);
  });

  it('has a new period from when it was enabled', async () => {
    const { fail, readEndpoint, endpoint } = await arrangeFailing({ enabledAt: NOW - 2 * DAY_MS });
    await fail();
    expect(await readEndpoint()).toEqual(endpoint);
  });

  it('stays enabled when that was done while the attempt was under way', async () => {
    const { fail, readEndpoint, endpointStore, endpoint } = await arrangeFailing();
    const enabledMeanwhile = { ...endpoint, enabledAt: NOW };
    await endpointStore.update(endpoint.accountId, endpoint.id, () => enabledMeanwhile);
    expect(await fail()).toMatchObject({ disabledAs: undefined });
    expect(await readEndpoint()).toEqual(enabledMeanwhile);
  });
});

describe('trouble of which the account was told', () => {
  it('is over with the first success, which says so once', async () => {
    const { fail, succeed } = await arrange();
    await fail();
    await fail({ tellsOfFailing: true });
    const breaker = { failures: 2, openUntil: 0 };
    const settled = await Promise.all([succeed({ breaker }), succeed({ breaker })]);
    expect(settled.map(({ recoveredFrom }) => recoveredFrom).toSorted()).toEqual([NOW, undefined]);
  });

  it('is none where failures were few', async () => {
    const { succeed } = await arrange({ failures: 3 });
    expect(await succeed()).toEqual({ disabledAs: undefined, recoveredFrom: undefined });
  });
});

it('a success ends a row of failures that began after it was admitted', async () => {
  const { fail, succeed, readBreaker } = await arrange();
  await fail();
  await fail();
  await succeed();
  expect(await readBreaker()).toEqual(CLOSED);
});

it('lets the next one wait for some seconds when an attempt at a slow endpoint has failed', async () => {
  const { fail, succeed, endpoint, lanes, waitingHere, wakes, wakeAt, releases } = await arrange({
    waiting: 2,
  });
  waitingHere.add(endpoint.id);
  lanes.learn(endpoint.id, { outcome: 'response_timeout', durationMs: 15_000 });
  await fail();
  expect(releases.released).toEqual([]);
  expect(wakes.asked).toEqual([wakeAt(NOW + 5_000)]);
  await succeed();
  expect(releases.released).toHaveLength(2);
});
