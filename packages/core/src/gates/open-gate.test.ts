import type { Endpoint } from '../endpoints/endpoint';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildGate } from '../testing/build-gate';
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
}

async function arrange({ endpoint = buildEndpoint(), waiting = 0, openedAt }: Arrangement = {}) {
  const gate = buildGate({ redis: redis.client, clock: () => NOW });
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
    stillParked: () => parkedStore.listParked(endpoint.id, 100),
  };
}

it('lets as many through as there are places, the longest waiting first', async () => {
  const { openGate, released, stillParked, parked } = await arrange({ waiting: 5 });
  await openGate(2);
  expect(released()).toEqual(parked.slice(0, 2));
  expect(await stillParked()).toEqual(parked.slice(2));
});

it('looks again later while there may be more, in case that the worker dies who would let them through', async () => {
  const { openGate, wakes, waitingHere, endpoint } = await arrange({ waiting: 2 });
  await openGate(2);
  expect(wakes.asked).toEqual([{ accountId: endpoint.accountId, endpointId: endpoint.id, at: NOW + 10_000 }]);
  expect(waitingHere.has(endpoint.id)).toBe(true);
});

it('has nothing more to do once nobody waits', async () => {
  const { openGate, wakes, waitingHere, released, stillParked, parked } = await arrange({ waiting: 2 });
  await openGate(3);
  expect(released()).toEqual(parked);
  expect(await stillParked()).toEqual([]);
  expect(wakes.asked).toEqual([]);
  expect(waitingHere.size).toBe(0);
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
