import { setTimeout as wait } from 'node:timers/promises';
import { FAILURES_TO_OPEN } from '../../domain/breaker';
import { type Endpoint, lineOf } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { keys } from '../../domain/keys';
import { oneShard } from '../../domain/queues';
import { atomicAsOne, atomicOneByOne } from '../../platform/redis-atomic';
import { OldestEvents } from '../../queue/bullmq-oldest-events';
import { buildEndpoint } from '../../testing/build-endpoint';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueEventId } from '../../testing/unique-ids';
import { AdmissionStore } from '../admission/redis-admission-store';
import { BesideLanes } from '../admission/redis-beside-lanes';
import { FormerOrder } from './redis-former-order';

const NOW = 1_700_000_000_000;
// All of them begin within it, also on a busy machine.
const WINDOW_MS = 500;
// What is not the newest waits for longer than the window.
const AFTER_MS = 300;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/** Deliveries that wait at an endpoint, accepted one after the other. Those of groups are all of one. */
async function arrange(given: Partial<Endpoint>, count: number, order = atomicAsOne) {
  const { client } = redis;
  const endpoint = buildEndpoint(given);
  const { id, accountId, ordering } = endpoint;
  const formerOrder = new FormerOrder(client, order(client));
  const besideLanes = new BesideLanes(client);
  const admissionStore = new AdmissionStore(client);
  const oldestEvents = new OldestEvents(client, oneShard('bull'));
  const group = ordering === 'group' ? 'a' : undefined;
  const line = group === undefined ? undefined : lineOfA(endpoint);
  const built = (acceptedAt: number) => ({ accountId, id: uniqueEventId(), acceptedAt, group });
  const events = Array.from({ length: count }, (_, i) => built(NOW + i));
  const join = async (...some: typeof events) => {
    const places = some.map(({ id: eventId, acceptedAt }) => ({ eventId, acceptedAt, line }));
    await besideLanes.join(id, places)(client);
  };
  await join(...events);
  const at = (index: number) => events[index] ?? built(NOW);
  return {
    id,
    endpoint,
    formerOrder,
    besideLanes,
    events,
    at,
    ids: events.map((event) => event.id),
    older: () => built(NOW - 1),
    join,
    begin: async (event: ReturnType<typeof built>, rateLimit?: number) => {
      const limits = { rateLimit, attemptKey: uniqueEventId(), leaseMs: 20_000, hasWaited: true };
      const admitted = admissionStore.admit(id, limits, NOW);
      return await formerOrder.admit(endpoint, event, oldestEvents, admitted);
    },
    allow: async () => await formerOrder.allow(endpoint, 8, oldestEvents),
    free: async () => (await admissionStore.stand(id, 1)).rate.free,
    leave: async (eventId: EventId) => await besideLanes.leave(id, eventId)(client),
    ready: async () => await client.zrange(keys.ready(id), '0', '-1'),
    turn: async () => await client.get(keys.turn(id)),
    left: async () => (await client.keys(`*{${id}}*`)).filter((key) => !key.startsWith('lines-look')),
  };
}

function lineOfA(endpoint: Endpoint): string {
  const line = lineOf(endpoint, 'a');
  if (line === undefined) throw new Error('It has no groups.');
  return line;
}

describe.each([
  ['on one server', atomicAsOne],
  ['in a Cluster', atomicOneByOne],
])('in strict order, %s', (_where, order) => {
  const strict = (count: number) => arrange({ ordering: 'strict' }, count, order);

  it('lets one begin, however many ask', async () => {
    const { begin, at } = await strict(2);
    const answers = await Promise.all([at(1), at(0), at(1)].map((event) => begin(event)));
    expect(answers.map(({ kind }) => kind)).toEqual(['ordering', 'admitted', 'ordering']);
  });

  it('stays the turn of one that has begun until it has left, also when an earlier one comes', async () => {
    const { begin, at, older, join, leave, turn } = await strict(1);
    const earlier = older();
    expect((await begin(at(0))).kind).toBe('admitted');
    await join(earlier);
    expect((await begin(earlier)).kind).toBe('ordering');
    expect((await begin(at(0))).kind).toBe('admitted');
    await leave(at(0).id);
    expect((await begin(earlier)).kind).toBe('admitted');
    // Not that of another one.
    await leave(at(0).id);
    expect(await turn()).toBe(earlier.id);
  });

  it('gives none a turn that the limits admit no attempt of, and takes nothing of them for others', async () => {
    const { begin, at, free, turn, id } = await strict(2);
    expect((await begin(at(1), 1)).kind).toBe('ordering');
    expect(await free()).toBe(1);
    await redis.client.zadd(keys.recentAttempts(id), Date.now() + 20_000, 'another one');
    expect((await begin(at(0), 1)).kind).toBe('rate_limited');
    await redis.client.set(keys.breaker(id), `${FAILURES_TO_OPEN} ${NOW + 1} ${NOW} 0`);
    expect((await begin(at(0))).kind).toBe('breaker_open');
    expect(await turn()).toBeNull();
  });

  it('is void: the turn of one that is in the order no more', async () => {
    const { begin, at, id } = await strict(2);
    await begin(at(0));
    await redis.client.zrem(keys.order(id), at(0).id);
    expect((await begin(at(1))).kind).toBe('admitted');
  });
});

describe('in strict order', () => {
  it('lets the one that has the turn go, or the first one, and has its end wake the endpoint up', async () => {
    const { begin, at, older, join, allow, id, ids } = await arrange({ ordering: 'strict' }, 2);
    expect(await allow()).toEqual({ most: 1, only: [ids[0]], againInMs: 10 });
    expect(await redis.client.exists(keys.orderWaiting(id))).toBe(1);
    await begin(at(0));
    await join(older());
    expect(await allow()).toEqual({ most: 1, only: [ids[0]] });
  });

  it('lets one go where nobody has a place', async () => {
    const { allow } = await arrange({ ordering: 'strict' }, 0);
    expect(await allow()).toEqual({ most: 1 });
  });

  // A process of the version before tells them when the one before them ends.
  it('notes that one is refused its turn', async () => {
    const { begin, at, id } = await arrange({ ordering: 'strict' }, 2);
    await begin(at(1));
    expect(await redis.client.exists(keys.orderWaiting(id))).toBe(1);
  });
});

describe('in groups', () => {
  const inGroups = (count: number, windowMs?: number) => {
    const coalesce = windowMs === undefined ? undefined : { window_ms: windowMs };
    return arrange({ ordering: 'group', coalesce }, count);
  };
  const heldOf = ({ id: eventId, acceptedAt }: { id: EventId; acceptedAt: number }) => {
    return { eventId, acceptedAt };
  };

  it('lets one go that waits for none, and leaves nothing of it', async () => {
    const { begin, at, left } = await inGroups(0);
    expect(await begin({ ...at(0), group: undefined })).toMatchObject({ kind: 'admitted' });
    expect(await left()).toEqual([]);
  });

  it('marks the one that is held ready if no other one goes before it, and no other', async () => {
    const { endpoint, formerOrder, at, ready } = await inGroups(2);
    await formerOrder.markReady(endpoint, [at(1), at(0)].map(heldOf));
    expect(await ready()).toEqual([at(0).id]);
  });

  it('marks the one that has the turn ready, whoever came before it meanwhile', async () => {
    const { endpoint, formerOrder, at, begin, ready, older, join, events } = await inGroups(2);
    await begin(at(0));
    const earlier = older();
    await join(earlier);
    await formerOrder.markReady(endpoint, [earlier, ...events].map(heldOf));
    expect(await ready()).toEqual([at(0).id]);
  });

  it('marks one ready that has no place: it waits for nobody', async () => {
    const { endpoint, formerOrder, ready, older, leave } = await inGroups(1);
    const lone = older();
    await formerOrder.markReady(endpoint, [heldOf(lone)]);
    expect(await ready()).toEqual([lone.id]);
    await leave(lone.id);
    expect(await ready()).toEqual([]);
  });

  it('leaves nothing behind when all have ended, in whatever order', async () => {
    for (const windowMs of [undefined, WINDOW_MS]) {
      const { ids, at, begin, leave, left } = await inGroups(5, windowMs);
      await begin(at(0));
      for (const index of [3, 0, 4, 2, 1]) await leave(ids[index] as EventId);
      expect(await left()).toEqual([]);
    }
  });

  it('looks seldom who may go, although nobody has said so', async () => {
    const { at, allow, ready, begin } = await inGroups(2);
    expect(await allow()).toEqual({ most: 8, only: [at(0).id] });
    expect(await ready()).toEqual([at(0).id]);
    await begin(at(0));
    // None is ready.
    expect(await allow()).toEqual({ most: 8 });
  });

  describe('that coalesce', () => {
    const coalescing = (count: number) => inGroups(count, WINDOW_MS);

    it('supersedes none before a newer one has begun', async () => {
      const { at, begin } = await coalescing(3);
      for (const index of [0, 1, 2]) expect((await begin(at(index))).kind).toBe('coalescing');
      await wait(WINDOW_MS + 5);
      expect((await begin(at(0))).kind).toBe('coalescing');
      expect((await begin(at(2))).kind).toBe('admitted');
      expect(await begin(at(0))).toEqual({ kind: 'superseded', by: at(2).id });
      expect(await begin(at(1))).toEqual({ kind: 'superseded', by: at(2).id });
    });

    it('supersedes none by one that the limits admit no attempt of', async () => {
      const { id, at, begin } = await coalescing(2);
      await begin(at(1));
      await wait(WINDOW_MS + AFTER_MS);
      await redis.client.set(keys.breaker(id), `${FAILURES_TO_OPEN} ${NOW + 1} ${NOW} 0`);
      expect((await begin(at(1))).kind).toBe('breaker_open');
      expect((await begin(at(0))).kind).toBe('ordering');
    });

    it('sends the next newest when the newest has nothing to send any more', async () => {
      const { at, begin, leave, ready } = await coalescing(3);
      await begin(at(0));
      await wait(WINDOW_MS + AFTER_MS);
      await leave(at(2).id);
      expect(await ready()).toContain(at(1).id);
      expect((await begin(at(1))).kind).toBe('admitted');
      expect(await begin(at(0))).toEqual({ kind: 'superseded', by: at(1).id });
    });

    it('lets the newest go that could not when its window was over', async () => {
      const { at, begin, ready } = await coalescing(3);
      await begin(at(0));
      await wait(WINDOW_MS + AFTER_MS);
      expect(await begin(at(0))).toEqual({ kind: 'ordering', isSoon: true });
      expect(await ready()).toEqual([at(2).id]);
    });

    it('lets the newest go, and those that it has left behind, when one under way has ended', async () => {
      const { at, begin, leave, ready } = await coalescing(2);
      await begin(at(1));
      await wait(WINDOW_MS + 5);
      await begin(at(1));
      await leave(at(1).id);
      expect(await ready()).toEqual([at(0).id]);
      expect(await begin(at(0))).toEqual({ kind: 'superseded', by: at(1).id });
    });

    it('lets the oldest go when it does not coalesce any more', async () => {
      const { id, at, begin, leave, ready, formerOrder } = await coalescing(3);
      await begin(at(0));
      await formerOrder.forgetWindows(id);
      await leave(at(0).id);
      expect(await ready()).toEqual([at(1).id]);
    });
  });
});
