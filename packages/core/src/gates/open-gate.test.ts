import type { Endpoint } from '../endpoints/endpoint';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildGate } from '../testing/build-gate';
import { readParked } from '../testing/read-parked';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEventId } from '../testing/unique-ids';
import { CLOSED, FAILURES_TO_OPEN, FIRST_OPEN_MS } from './breaker';
import { createOpenGate } from './open-gate';
import type { Parked } from './parked';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

interface Arrangement {
  readonly endpoint?: Endpoint;
  /** How many deliveries wait at the gate. */
  readonly waiting?: number;
  /** When the breaker opened. */
  readonly openedAt?: number;
  /** Whether events that were accepted earlier are not fanned out yet. */
  readonly hasOlderEvents?: boolean;
}

async function arrange({
  endpoint = buildEndpoint(),
  waiting = 0,
  openedAt,
  hasOlderEvents = false,
}: Arrangement = {}) {
  const gate = buildGate({
    redis: redis.client,
    clock: () => NOW,
    eventHorizon: { hasOlder: async () => hasOlderEvents },
  });
  const { endpointStore, breakerStore, parkedStore, waitingHere } = gate;
  await endpointStore.create(endpoint);
  const parked = Array.from(
    { length: waiting },
    (): Parked => ({ eventId: uniqueEventId(), side: 'second' }),
  );
  // Parked in another order than they are to be released.
  for (const [index, each] of [...parked.entries()].toReversed()) {
    await parkedStore.park(endpoint.id, each, NOW + index);
  }
  for (let failures = 0; failures < (openedAt === undefined ? 0 : FAILURES_TO_OPEN); failures += 1) {
    await breakerStore.recordFailure(endpoint.id, CLOSED, openedAt ?? NOW);
  }
  waitingHere.add(endpoint.id);
  return {
    ...gate,
    parked,
    endpoint,
    openGate: (places: number) => gate.openGate(endpoint.accountId, endpoint.id, places),
    released: () => gate.releases.released.map((release) => release.parked),
    stillParked: () => readParked(redis.client, endpoint.id),
  };
}

it('lets as many through as there are places, the longest waiting first', async () => {
  const { openGate, released, stillParked, parked } = await arrange({ waiting: 5 });
  await openGate(2);
  expect(released()).toEqual(parked.slice(0, 2));
  expect(await stillParked()).toEqual(parked.slice(2));
});

it('looks again later, in case that this worker dies before it has let them through', async () => {
  const { openGate, wakes, waitingHere, endpoint } = await arrange({ waiting: 3 });
  await openGate(2);
  expect(wakes.asked).toEqual([{ accountId: endpoint.accountId, endpointId: endpoint.id, at: NOW + 10_000 }]);
  expect(waitingHere.has(endpoint.id)).toBe(true);
});

it('has nothing more to do once nobody waits', async () => {
  const { openGate, wakes, waitingHere, released, stillParked, parked } = await arrange({ waiting: 2 });
  await openGate(3);
  expect(released()).toEqual(parked);
  expect(await stillParked()).toEqual([]);
  expect(waitingHere.size).toBe(0);
  await openGate(3);
  expect(wakes.asked).toHaveLength(1);
});

it('lets nothing through without a place, and remembers who waits', async () => {
  const { openGate, released, stillParked, parked, waitingHere } = await arrange({ waiting: 2 });
  await openGate(0);
  expect(released()).toEqual([]);
  expect(await stillParked()).toEqual(parked);
  expect(waitingHere.size).toBe(1);
});

it('lets nothing through at a disabled endpoint, nor looks again', async () => {
  const endpoint = buildEndpoint({ status: 'disabled', disabledReason: 'client' });
  const { openGate, released, stillParked, parked, wakes, waitingHere } = await arrange({
    endpoint,
    waiting: 2,
  });
  await openGate(2);
  expect(released()).toEqual([]);
  expect(await stillParked()).toEqual(parked);
  expect(wakes.asked).toEqual([]);
  expect(waitingHere.size).toBe(0);
});

it('does nothing for an endpoint that was deleted', async () => {
  const { openGate, endpoint, endpointStore, released, wakes, waitingHere } = await arrange({ waiting: 1 });
  await endpointStore.remove(endpoint.accountId, endpoint.id);
  await openGate(2);
  expect(released()).toEqual([]);
  expect(wakes.asked).toEqual([]);
  expect(waitingHere.size).toBe(0);
});

it('lets nothing through while the breaker is open, and looks again at its time', async () => {
  const { openGate, released, stillParked, parked, wakes, endpoint } = await arrange({
    waiting: 2,
    openedAt: NOW - FIRST_OPEN_MS + 1,
  });
  await openGate(2);
  expect(released()).toEqual([]);
  expect(await stillParked()).toEqual(parked);
  expect(wakes.asked).toEqual([{ accountId: endpoint.accountId, endpointId: endpoint.id, at: NOW + 1 }]);
});

it('lets one through while the breaker is half-open: the probe', async () => {
  const { openGate, released, stillParked, parked } = await arrange({
    waiting: 3,
    openedAt: NOW - FIRST_OPEN_MS,
  });
  await openGate(2);
  expect(released()).toEqual(parked.slice(0, 1));
  expect(await stillParked()).toEqual(parked.slice(1));
});

it('keeps what the queue did not take', async () => {
  const { endpoint, stillParked, parked, ...gate } = await arrange({ waiting: 2 });
  const openGate = createOpenGate({
    ...gate,
    releaseQueue: {
      release: async () => {
        throw new Error('The queue is away.');
      },
    },
  });
  await expect(openGate(endpoint.accountId, endpoint.id, 2)).rejects.toThrow('The queue is away.');
  expect(await stillParked()).toEqual(parked);
});

describe('at an endpoint with a rate limit', () => {
  const limited = () => buildEndpoint({ rateLimit: 2 });

  async function takePermit({ permitStore, endpoint }: Awaited<ReturnType<typeof arrange>>, permit: string) {
    await permitStore.take(endpoint.id, { permit, limit: 2, leaseMs: 60_000, hasWaited: true });
  }

  it('lets no more through than there are permits', async () => {
    const gate = await arrange({ endpoint: limited(), waiting: 4 });
    await takePermit(gate, 'a');
    await gate.openGate(8);
    expect(gate.released()).toEqual(gate.parked.slice(0, 1));
  });

  it('lets nothing through without a permit, and looks again no later than when the next one is due', async () => {
    const gate = await arrange({ endpoint: limited(), waiting: 4 });
    for (const permit of ['a', 'b']) await takePermit(gate, permit);
    await gate.permitStore.giveBack(gate.endpoint.id, 'a');
    await gate.openGate(8);
    expect(gate.released()).toEqual([]);
    const [wake] = gate.wakes.asked;
    expect(wake?.at).toBeGreaterThan(NOW);
    expect(wake?.at).toBeLessThanOrEqual(NOW + 1_001);
  });
});

describe('at an endpoint with strict ordering', () => {
  const strict = () => buildEndpoint({ ordering: 'strict' });

  it('lets one through, whatever places there are, and gives it the turn', async () => {
    const { openGate, released, parked, stillParked, turnStore, endpoint } = await arrange({
      endpoint: strict(),
      waiting: 3,
    });
    await openGate(8);
    await openGate(8);
    const [first] = parked;
    expect(released()).toEqual([first]);
    expect(await stillParked()).toEqual(parked.slice(1));
    expect(first && (await turnStore.isTurnOf(endpoint.id, first.eventId))).toBe(true);
  });

  it('looks again later, in case that the one whose turn it is gets lost', async () => {
    const { openGate, wakes } = await arrange({ endpoint: strict(), waiting: 1 });
    await openGate(1);
    await openGate(1);
    expect(wakes.asked.map(({ at }) => at)).toEqual([NOW + 60_000, NOW + 60_000]);
  });

  it('lets nobody overtake an event that is not fanned out yet, and looks again soon', async () => {
    const { openGate, released, turnStore, endpoint, wakes } = await arrange({
      endpoint: strict(),
      waiting: 2,
      hasOlderEvents: true,
    });
    await openGate(1);
    expect(released()).toEqual([]);
    expect(await turnStore.findNext(endpoint.id)).toMatchObject({ kind: 'first_in_line' });
    expect(wakes.asked.map(({ at }) => at)).toEqual([NOW + 100]);
  });

  it('lets the one whose turn it is through again after it was parked for another reason', async () => {
    const { openGate, released, parked, parkedStore, endpoint } = await arrange({
      endpoint: strict(),
      waiting: 2,
      hasOlderEvents: false,
    });
    await openGate(1);
    const [first] = parked;
    if (!first) throw new Error('Nobody waits.');
    const again: Parked = { ...first, side: 'first' };
    await parkedStore.park(endpoint.id, again, NOW);
    await openGate(1);
    expect(released()).toEqual([first, again]);
  });

  it('has nothing to do when nobody waits', async () => {
    const { openGate, released, wakes } = await arrange({ endpoint: strict() });
    await openGate(1);
    expect(released()).toEqual([]);
    expect(wakes.asked).toEqual([]);
  });

  it('lets the next one through, once, when the turn is passed', async () => {
    const { openGate, passTurn, released, parked, endpoint } = await arrange({
      endpoint: strict(),
      waiting: 3,
    });
    await openGate(1);
    for (const { eventId } of parked.slice(0, 1)) {
      await passTurn(endpoint, eventId);
      await passTurn(endpoint, eventId);
    }
    expect(released()).toEqual(parked.slice(0, 2));
  });

  it('gives the one whose turn it is a job again when a look finds it on its way, for it may be lost', async () => {
    const { lookAtGate, openGate, released, parked, endpoint } = await arrange({
      endpoint: strict(),
      waiting: 2,
    });
    await openGate(1);
    await lookAtGate(endpoint.accountId, endpoint.id);
    expect(released()).toEqual([parked[0], parked[0]]);
  });
});

describe('a look', () => {
  it('lets two through', async () => {
    const { lookAtGate, released, parked, endpoint } = await arrange({ waiting: 3 });
    await lookAtGate(endpoint.accountId, endpoint.id);
    expect(released()).toEqual(parked.slice(0, 2));
  });

  it('lets one through at a slow endpoint', async () => {
    const { lookAtGate, lanes, released, parked, endpoint } = await arrange({ waiting: 3 });
    lanes.learn(endpoint.id, { outcome: 'response_timeout', durationMs: 15_000 });
    await lookAtGate(endpoint.accountId, endpoint.id);
    expect(released()).toEqual(parked.slice(0, 1));
  });

  it('lets none through that would find no place here, and comes again', async () => {
    const { lookAtGate, windows, released, wakes, endpoint } = await arrange({ waiting: 3 });
    while (windows.enterAtOnce(endpoint.id, false));
    await lookAtGate(endpoint.accountId, endpoint.id);
    expect(released()).toEqual([]);
    expect(wakes.asked).toEqual([
      { accountId: endpoint.accountId, endpointId: endpoint.id, at: NOW + 10_000 },
    ]);
  });
});
