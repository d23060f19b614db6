import type { Endpoint } from '../endpoints/endpoint';
import { keys } from '../redis/keys';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildGate, MAX_STRANGERS } from '../testing/build-gate';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import type { AdmitInput, Ticket } from './admit';
import { CLOSED, FAILURES_TO_OPEN, FIRST_OPEN_MS } from './breaker';
import type { Lanes } from './lanes';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

interface Arrangement {
  readonly endpoint?: Endpoint;
  /** Whether its breaker has opened, and lets one attempt through by now. */
  readonly isHalfOpen?: boolean;
}

async function arrange({ endpoint = buildEndpoint(), isHalfOpen = false }: Arrangement = {}) {
  const gate = buildGate({ redis: redis.client, clock: () => NOW });
  for (let failures = 0; failures < (isHalfOpen ? FAILURES_TO_OPEN : 0); failures += 1) {
    await gate.breakerStore.recordFailure(endpoint.id, CLOSED, NOW - FIRST_OPEN_MS);
  }
  const breaker = await gate.breakerStore.readBreaker(endpoint.id);
  const input: AdmitInput = { endpoint, breaker, eventId: uniqueEventId(), wasReleased: false, lane: 'slow' };
  return {
    ...gate,
    endpoint,
    breaker,
    input,
    admit: (change: Partial<AdmitInput> = {}) =>
      gate.admit({ ...input, eventId: uniqueEventId(), ...change }),
    handBack: (ticket: Ticket, wasInterrupted: boolean) =>
      gate.handBack({ endpoint, breaker, ticket, wasInterrupted }),
    freePlaces: () => gate.windows.freePlaces(endpoint.id),
    countStrangers: () => countStrangersLetIn(gate.lanes),
  };
}

async function ticketOf(
  admission: ReturnType<Awaited<ReturnType<typeof arrange>>['admit']>,
): Promise<Ticket> {
  const admitted = await admission;
  if (admitted.kind !== 'admitted') throw new Error(`It has to wait: ${admitted.reason}.`);
  return admitted.ticket;
}

/** How many more strangers find room in the fast lane. */
function countStrangersLetIn(lanes: Lanes): number {
  let letIn = 0;
  while (lanes.enter('fast', uniqueEndpointId(), false).kind === 'admitted') letIn += 1;
  return letIn;
}

describe('what was entered on the way', () => {
  it('is left when there is no permit', async () => {
    const endpoint = buildEndpoint({ rateLimit: 1 });
    const { admit, permitStore, freePlaces, countStrangers } = await arrange({ endpoint });
    await permitStore.take(endpoint.id, { permit: 'other', limit: 1, leaseMs: 60_000, hasWaited: true });
    const before = freePlaces();
    expect(await admit({ lane: 'fast' })).toMatchObject({ kind: 'wait', reason: 'rate_limited' });
    expect(freePlaces()).toBe(before);
    expect(countStrangers()).toBe(MAX_STRANGERS);
  });

  it('is left when Redis refuses to give a permit', async () => {
    const endpoint = buildEndpoint({ rateLimit: 1 });
    const { admit, freePlaces, countStrangers } = await arrange({ endpoint });
    // To a key that holds something else than permits, none can be added.
    await redis.client.set(keys.permits(endpoint.id), 'x');
    const before = freePlaces();
    await expect(admit({ lane: 'fast' })).rejects.toThrow('WRONGTYPE');
    expect(freePlaces()).toBe(before);
    expect(countStrangers()).toBe(MAX_STRANGERS);
  });

  it('is no permit and no place when the delivery goes over to the slow lane', async () => {
    const endpoint = buildEndpoint({ rateLimit: 1 });
    const { admit, lanes, permitStore, freePlaces } = await arrange({ endpoint });
    lanes.learn(endpoint.id, { outcome: 'response_timeout', durationMs: 15_000 });
    const before = freePlaces();
    expect(await admit({ lane: 'fast' })).toEqual({ kind: 'move', reason: 'slow' });
    expect(freePlaces()).toBe(before);
    expect((await permitStore.countFree(endpoint.id, 1)).free).toBe(1);
  });
});

describe('an endpoint with a rate limit', () => {
  const limited = () => buildEndpoint({ rateLimit: 2 });

  it('admits as many as it has permits, and has the others wait without a place', async () => {
    const { admit, windows, endpoint, freePlaces } = await arrange({ endpoint: limited() });
    for (let count = 0; count < 2; count += 1) {
      expect((await admit()).kind).toBe('admitted');
      windows.leave(endpoint.id, 'succeeded');
    }
    const before = freePlaces();
    expect(await admit()).toEqual({ kind: 'wait', reason: 'rate_limited', wakeAt: undefined });
    expect(freePlaces()).toBe(before);
  });

  it('leases a permit for longer than the attempt may take', async () => {
    const endpoint = buildEndpoint({ rateLimit: 2, timeoutMs: 60_000 });
    const { admit, permitStore } = await arrange({ endpoint });
    await admit();
    await admit();
    const { nextInMs } = await permitStore.countFree(endpoint.id, 2);
    expect(nextInMs).toBeGreaterThan(60_000);
    expect(nextInMs).toBeLessThanOrEqual(65_001);
  });

  it('has a permit back one second after the attempt has ended, and looks at its gate then if others wait', async () => {
    const { admit, handBack, parkedStore, permitStore, wakes, endpoint } = await arrange({
      endpoint: limited(),
    });
    const tickets = [await ticketOf(admit()), await ticketOf(admit())] as const;
    await handBack(tickets[0], false);
    expect(wakes.asked).toEqual([]);
    await parkedStore.park(endpoint.id, { eventId: uniqueEventId(), side: 'second' }, NOW);
    await handBack(tickets[1], true);
    expect(wakes.asked.map(({ at }) => at)).toEqual([NOW + 1_001]);
    expect((await permitStore.countFree(endpoint.id, 2)).nextInMs).toBeLessThanOrEqual(1_001);
  });
});

it('costs no permit where there is no rate limit', async () => {
  const { admit, handBack, endpoint } = await arrange();
  const ticket = await ticketOf(admit());
  await handBack(ticket, false);
  expect(ticket).toEqual({ permit: undefined, isProbe: false });
  expect(await redis.client.exists(keys.permits(endpoint.id))).toBe(0);
});

describe('an endpoint with strict ordering', () => {
  it('admits the delivery whose turn it is, and no other', async () => {
    const endpoint = buildEndpoint({ ordering: 'strict' });
    const { admit, parkedStore, turnStore, freePlaces } = await arrange({ endpoint });
    const parked = { eventId: uniqueEventId(), side: 'first' } as const;
    await parkedStore.park(endpoint.id, parked, NOW);
    await turnStore.give(endpoint.id, parked);
    const before = freePlaces();
    expect(await admit()).toEqual({ kind: 'wait', reason: 'out_of_turn', wakeAt: undefined });
    expect(freePlaces()).toBe(before);
    expect(await admit({ eventId: parked.eventId })).toMatchObject({ kind: 'admitted' });
  });
});

describe('a half-open breaker', () => {
  it('lets one through as its probe, and another one at once when nothing came of the first', async () => {
    const { admit, handBack, windows, endpoint, breaker, breakerStore } = await arrange({ isHalfOpen: true });
    const probe = await ticketOf(admit());
    windows.leave(endpoint.id, 'unused');
    expect(probe.isProbe).toBe(true);
    expect(await admit()).toMatchObject({ kind: 'wait', reason: 'breaker_open' });

    await handBack(probe, true);
    expect(await breakerStore.readBreaker(endpoint.id)).toEqual(breaker);
    expect(await ticketOf(admit())).toMatchObject({ isProbe: true });
  });

  it('does not let another one through because the first has ended', async () => {
    const { admit, handBack, windows, endpoint } = await arrange({ isHalfOpen: true });
    const probe = await ticketOf(admit());
    windows.leave(endpoint.id, 'succeeded');
    await handBack(probe, false);
    expect(await admit()).toMatchObject({ kind: 'wait', reason: 'breaker_open' });
  });

  it('keeps no permit of one that is not its probe', async () => {
    const endpoint = buildEndpoint({ rateLimit: 5 });
    const { admit, permitStore, windows } = await arrange({ endpoint, isHalfOpen: true });
    await admit();
    windows.leave(endpoint.id, 'unused');
    expect(await admit()).toMatchObject({ kind: 'wait', reason: 'breaker_open' });
    expect((await permitStore.countFree(endpoint.id, 5)).nextInMs).toBeLessThanOrEqual(1_001);
  });
});

it('keeps no slot waiting for a place at an endpoint that is slow', async () => {
  const { admit, lanes, windows, endpoint, freePlaces } = await arrange();
  lanes.learn(endpoint.id, { outcome: 'response_timeout', durationMs: 15_000 });
  while (freePlaces() > 0) await admit();
  const wait = jest.spyOn(windows, 'enter');
  expect(await admit({ lane: 'fast' })).toMatchObject({ kind: 'wait', reason: 'busy' });
  expect(wait).not.toHaveBeenCalled();
});
