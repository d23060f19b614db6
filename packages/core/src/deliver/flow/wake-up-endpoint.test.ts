import { eventJobId } from '@hookferry/producer/contract';
import { Queue } from 'bullmq';
import { FAILURES_TO_OPEN } from '../../domain/breaker';
import type { Endpoint } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { keys } from '../../domain/keys';
import { EVENTS_QUEUE } from '../../domain/queues';
import type { RecordForm } from '../../domain/record-form';
import type { EndpointStore } from '../../endpoints/redis-endpoint-store';
import type { EndedList } from '../../events/redis-ended-list';
import { buildAdmission } from '../../testing/build-admission';
import { buildEndpoint } from '../../testing/build-endpoint';
import { buildEvent } from '../../testing/build-event';
import { fake } from '../../testing/fake';
import { readHeld } from '../../testing/read-held';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueEventId } from '../../testing/unique-ids';
import { takeFromWaiting } from '../../testing/waiting-jobs';
import { wakeUpEndpoint } from './releaser';

const NOW = 1_700_000_000_000;
const jobs = { toKey: (name: string) => `bull:deliveries:${name}` };

let redis: TestRedis;
const opened: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(async () => {
  await Promise.all(opened.map((each) => each.close()));
  await redis.close();
});

interface Arrangement {
  readonly endpoint?: Endpoint;
  /** How many deliveries are held. */
  readonly held?: number;
  /** Until when its breaker is open. */
  readonly openUntil?: number;
  /** Whether events that were accepted earlier are not fanned out yet. */
  readonly hasOlderEvents?: boolean;
  readonly form?: RecordForm;
}

async function arrange({
  endpoint = buildEndpoint(),
  held = 0,
  openUntil,
  hasOlderEvents = false,
  form,
}: Arrangement = {}) {
  const admission = buildAdmission({ redis: redis.client, clock: () => NOW, form });
  opened.push(admission);
  if (hasOlderEvents) {
    const queue = new Queue(EVENTS_QUEUE, { connection: redis.client });
    opened.push(queue);
    const jobId = eventJobId(endpoint.accountId, uniqueEventId());
    await queue.add('brief.created', {}, { jobId, timestamp: NOW - 1 });
  }
  const { endpointStore, heldDeliveries, deliveryQueue, besideLanes } = admission;
  const address = { accountId: endpoint.accountId, endpointId: endpoint.id };
  await endpointStore.create(endpoint);
  const deliveries = Array.from({ length: held }, (_, i) => ({
    eventId: uniqueEventId(),
    acceptedAt: NOW + i,
  }));
  const partsOf = (eventId: EventId) => ({ ...address, eventId });
  // Held in another order than they are to be released. A job that waits is released by forgetting its entry.
  await deliveryQueue.addAll(deliveries.map(({ eventId }) => partsOf(eventId)));
  for (const each of deliveries.toReversed()) await heldDeliveries.enter(address, each, NOW, 'busy');
  if (endpoint.ordering === 'strict' && held > 0)
    await besideLanes.join(endpoint.id, deliveries)(redis.client);
  if (openUntil !== undefined) {
    await redis.client.set(keys.breaker(endpoint.id), `${FAILURES_TO_OPEN} ${openUntil} ${NOW} 0`);
  }
  return {
    ...admission,
    endpoint,
    address,
    partsOf,
    eventIds: deliveries.map(({ eventId }) => eventId),
    wakeUp: (permits: number) => wakeUpEndpoint(admission, address, permits),
    stillHeld: () => readHeld(heldDeliveries, endpoint.id),
    wakeUpDueAt: () => heldDeliveries.wakeUpDueAt(address),
  };
}

it('finds nothing to do where nothing is held', async () => {
  const { wakeUp, wakeUpDueAt } = await arrange();
  expect(await wakeUp(2)).toMatchObject({ left: 0 });
  expect(await wakeUpDueAt()).toBeUndefined();
});

it('keeps the one that is held until its job is put off: a worker is at it', async () => {
  const { wakeUp, eventIds, stillHeld, wakeUpDueAt, address } = await arrange({ held: 1 });
  const jobId = `${eventIds[0]}.${address.endpointId}`;
  await takeFromWaiting(redis.client, jobs, jobId);
  await redis.client.lpush('bull:deliveries:active', jobId);
  await wakeUp(2);
  expect(await stillHeld()).toEqual(eventIds);
  expect(await wakeUpDueAt()).toBe(NOW + 100);
  await redis.client.lrem('bull:deliveries:active', 1, jobId);
});

// A worker that stood still may hold a delivery that another one has ended meanwhile.
describe('with a history, one that is held and has no job', () => {
  async function arrangeLost() {
    const { heldDeliveries, eventStore, deliveryQueue, address, partsOf, ...admission } = await arrange();
    const event = buildEvent({ accountId: address.accountId, acceptedAt: NOW });
    await eventStore.save(event, [address.endpointId])(redis.client);
    await heldDeliveries.enter(address, { eventId: event.id, acceptedAt: NOW }, NOW, 'busy');
    const context = {
      ...admission,
      heldDeliveries,
      eventStore,
      deliveryQueue,
      endedList: fake<EndedList>({}),
    };
    return {
      event,
      address,
      wakeUp: () => wakeUpEndpoint(context, address, 2),
      jobOf: () => deliveryQueue.requestOf(partsOf(event.id)),
    };
  }

  it.each(['its event', 'it alone'])('is not sent again when %s has moved', async (what) => {
    const { event, address, wakeUp, jobOf } = await arrangeLost();
    const { accountId, id } = event;
    await redis.client.zrem(keys.receivers(accountId, id), address.endpointId);
    if (what === 'its event') await redis.client.del(keys.event(accountId, id));
    await wakeUp();
    expect(await jobOf()).toBe('no_job');
  });

  it('gets its job again when it has not begun', async () => {
    const { wakeUp, jobOf } = await arrangeLost();
    await wakeUp();
    expect(await jobOf()).toBe('no_request');
  });
});

it('does nothing at a disabled endpoint, and wakes up again much later, should the process that enables it die before asking', async () => {
  const endpoint = buildEndpoint({ status: 'disabled', disabledReason: 'client' });
  const { wakeUp, eventIds, stillHeld, wakeUpDueAt } = await arrange({ endpoint, held: 2 });
  expect(await wakeUp(8)).toEqual({ left: 2, wakeUpAgainAt: NOW + 600_000 });
  expect(await stillHeld()).toEqual(eventIds);
  expect(await wakeUpDueAt()).toBe(NOW + 600_000);
});

it('releases what is held for a deleted endpoint, so that each ends as cancelled', async () => {
  const { wakeUp, endpointStore, address, stillHeld, wakeUpDueAt } = await arrange({ held: 3 });
  await endpointStore.remove(address.accountId, address.endpointId);
  expect(await wakeUp(0)).toMatchObject({ left: 0 });
  expect(await stillHeld()).toEqual([]);
  expect(await wakeUpDueAt()).toBeUndefined();
});

it('releases nothing while the breaker is open, and wakes up again at its time', async () => {
  const { wakeUp, eventIds, stillHeld, wakeUpDueAt } = await arrange({ held: 2, openUntil: NOW + 700 });
  await wakeUp(8);
  expect(await stillHeld()).toEqual(eventIds);
  expect(await wakeUpDueAt()).toBe(NOW + 700);
});

it('does not take a wake-up away that is asked for while it has the endpoint in hand', async () => {
  const endpoint = buildEndpoint({ status: 'disabled', disabledReason: 'client' });
  const { endpointStore, heldDeliveries, address, wakeUpDueAt, ...admission } = await arrange({
    endpoint,
    held: 1,
  });
  const store = fake<EndpointStore>({
    async find(...args) {
      const found = await endpointStore.find(...args);
      // Somebody enables it now.
      await heldDeliveries.askForWakeUp(address, NOW);
      return found;
    },
  });
  await wakeUpEndpoint({ ...admission, heldDeliveries, endpointStore: store }, address, 2);
  expect(await wakeUpDueAt()).toBeLessThanOrEqual(NOW);
});

it('wakes up again soon when this process has no room: another one may have some', async () => {
  const { wakeUp, wakeUpDueAt } = await arrange({ held: 2 });
  expect(await wakeUp(0)).toEqual({ left: 2, wakeUpAgainAt: NOW + 1_000 });
  expect(await wakeUpDueAt()).toBe(NOW + 1_000);
});

describe('with jobs that are put off', () => {
  /** As the consumer leaves them. */
  async function putOff({
    partsOf,
    eventIds,
    deliveryQueue,
  }: Awaited<ReturnType<typeof arrange>>): Promise<void> {
    for (const eventId of eventIds) {
      const { endpointId } = partsOf(eventId);
      const jobId = `${eventId}.${endpointId}`;
      await takeFromWaiting(redis.client, jobs, jobId);
      await redis.client.zadd('bull:deliveries:delayed', (Date.now() + 3_600_000) * 0x1000, jobId);
    }
    expect(await deliveryQueue.requestOf(partsOf(eventIds[0] ?? uniqueEventId()))).not.toBe('no_job');
  }
  async function arrangePutOff(arrangement: Arrangement) {
    const arranged = await arrange(arrangement);
    await putOff(arranged);
    return arranged;
  }

  it('releases as many as there are permits, the first accepted ones', async () => {
    const { wakeUp, eventIds, stillHeld } = await arrangePutOff({ held: 5 });
    await wakeUp(2);
    expect(await stillHeld()).toEqual(eventIds.slice(2));
  });

  it('wakes up again later while some are held, whatever becomes of the released ones', async () => {
    const { wakeUp, wakeUpDueAt } = await arrangePutOff({ held: 2 });
    expect(await wakeUp(1)).toEqual({ left: 1, wakeUpAgainAt: NOW + 10_000 });
    expect(await wakeUpDueAt()).toBe(NOW + 10_000);
  });

  it('loses none and releases none twice, however many wake it up at once', async () => {
    const { wakeUp, stillHeld } = await arrangePutOff({ held: 6 });
    const wokenUp = await Promise.all([1, 2, 3].map(() => wakeUp(2)));
    expect(wokenUp.map(({ left }) => left).toSorted()).toEqual([0, 2, 4]);
    expect(await stillHeld()).toEqual([]);
  });

  it('releases one while the breaker is half-open: the probe', async () => {
    const { wakeUp, eventIds, stillHeld } = await arrangePutOff({ held: 3, openUntil: NOW });
    await wakeUp(2);
    expect(await stillHeld()).toEqual(eventIds.slice(1));
  });

  it('releases no more than the rate limit allows', async () => {
    const { wakeUp, eventIds, stillHeld, endpoint } = await arrangePutOff({
      endpoint: buildEndpoint({ rateLimit: 2 }),
      held: 4,
    });
    await redis.client.zadd(keys.recentAttempts(endpoint.id), Date.now() + 500, 'another one');
    const { wakeUpAgainAt } = await wakeUp(8);
    expect(await stillHeld()).toEqual(eventIds.slice(1));
    expect(wakeUpAgainAt).toBeLessThanOrEqual(NOW + 501);
  });

  it('ends the wait for the rate limit with the last that is held', async () => {
    const { wakeUp, endpoint } = await arrangePutOff({ endpoint: buildEndpoint({ rateLimit: 2 }), held: 3 });
    await redis.client.set(keys.rateWaiting(endpoint.id), '1');
    await wakeUp(2);
    expect(await redis.client.exists(keys.rateWaiting(endpoint.id))).toBe(1);
    await wakeUp(2);
    expect(await redis.client.exists(keys.rateWaiting(endpoint.id))).toBe(0);
  });

  describe.each(['strict', 'group'] as const)('at an endpoint with the order %s', (ordering) => {
    const line = ordering === 'group' ? 'a' : undefined;
    async function arrangeOrder(held: number) {
      const arranged = await arrangePutOff({ endpoint: buildEndpoint({ ordering }), held });
      const { besideLanes, endpoint, eventIds } = arranged;
      const join = async (eventId: EventId, acceptedAt: number) =>
        await besideLanes.join(endpoint.id, [{ eventId, acceptedAt, line }])(redis.client);
      for (const [i, eventId] of eventIds.entries()) await join(eventId, NOW + i);
      return { ...arranged, join };
    }

    it('releases all that have jobs beside its lanes, so that they join these', async () => {
      const { wakeUp, stillHeld } = await arrangeOrder(3);
      await wakeUp(8);
      expect(await stillHeld()).toEqual([]);
    });

    it('gives the first one a job again that has lost it, or a lane would wait for ever', async () => {
      const { wakeUp, join, deliveryQueue, partsOf } = await arrangeOrder(1);
      const lost = uniqueEventId();
      await join(lost, NOW - 1);
      expect(await wakeUp(1)).toMatchObject({ wakeUpAgainAt: NOW + 10 });
      expect(await deliveryQueue.requestOf(partsOf(lost))).not.toBe('no_job');
    });

    it('takes one that has ended out of the order, and wakes up again at once: there may be many like it', async () => {
      const { wakeUp, join, deliveryStore, besideLanes, endpoint, partsOf, eventIds } = await arrangeOrder(1);
      for (const ago of [2, 1]) {
        const ended = uniqueEventId();
        await deliveryStore.append(partsOf(ended), { kind: 'cancelled', reason: 'event_expired' });
        await join(ended, NOW - ago);
      }
      expect(await wakeUp(1)).toMatchObject({ wakeUpAgainAt: NOW + 10 });
      // Others may be behind it that nothing else would look at.
      expect(await wakeUp(1)).toEqual({ left: 1, wakeUpAgainAt: NOW + 10 });
      expect(await besideLanes.first(endpoint.id, line)).toMatchObject({ eventId: eventIds[0] });
    });
  });

  // With `RECORD_FORM=former`.
  describe('at an endpoint with strict ordering of jobs', () => {
    const endpoint = () => buildEndpoint({ ordering: 'strict' });
    const form = 'former';

    it('releases one, whatever permits there are, and no other until that has ended', async () => {
      const {
        wakeUp,
        eventIds,
        stillHeld,
        besideLanes,
        endpoint: at,
      } = await arrangePutOff({
        endpoint: endpoint(),
        form,
        held: 3,
      });
      const [first = uniqueEventId()] = eventIds;
      await wakeUp(8);
      await wakeUp(8);
      expect(await stillHeld()).toEqual(eventIds.slice(1));
      await besideLanes.leave(at.id, first)(redis.client);
      await wakeUp(8);
      expect(await stillHeld()).toEqual(eventIds.slice(2));
    });

    it('lets nobody overtake an event that is not fanned out yet, and wakes up again soon', async () => {
      const { wakeUp, eventIds, stillHeld, wakeUpDueAt } = await arrangePutOff({
        endpoint: endpoint(),
        form,
        held: 2,
        hasOlderEvents: true,
      });
      await wakeUp(8);
      expect(await stillHeld()).toEqual(eventIds);
      expect(await wakeUpDueAt()).toBe(NOW + 100);
    });

    it('releases one that has begun, whatever is not fanned out yet', async () => {
      const {
        wakeUp,
        eventIds,
        stillHeld,
        endpoint: at,
      } = await arrangePutOff({
        endpoint: endpoint(),
        form,
        held: 2,
        hasOlderEvents: true,
      });
      await redis.client.set(keys.turn(at.id), eventIds[0] ?? '');
      await wakeUp(8);
      expect(await stillHeld()).toEqual(eventIds.slice(1));
    });

    // Nobody has refused these their turn: they were held for another reason.
    it('asks the end of one that goes first and is not held to wake it up, and looks once more whether that has ended', async () => {
      const {
        wakeUp,
        besideLanes,
        endpoint: at,
        deliveryQueue,
        partsOf,
        stillHeld,
        eventIds,
      } = await arrangePutOff({ endpoint: endpoint(), form, held: 2 });
      const first = { eventId: uniqueEventId(), acceptedAt: NOW - 1 };
      await deliveryQueue.addAll([partsOf(first.eventId)]);
      await besideLanes.join(at.id, [first])(redis.client);
      expect(await wakeUp(8)).toEqual({ left: 2, wakeUpAgainAt: NOW + 10 });
      expect(await wakeUp(8)).toEqual({ left: 2, wakeUpAgainAt: NOW + 10_000 });
      expect(await stillHeld()).toEqual(eventIds);
    });

    it('gives the one whose turn it is a job again when it has lost it, or all others would wait for ever', async () => {
      const {
        wakeUp,
        besideLanes,
        endpoint: at,
        deliveryQueue,
        partsOf,
      } = await arrangePutOff({
        endpoint: endpoint(),
        form,
        held: 1,
      });
      const lost = { eventId: uniqueEventId(), acceptedAt: NOW - 1 };
      await besideLanes.join(at.id, [lost])(redis.client);
      await wakeUp(1);
      expect(await deliveryQueue.requestOf(partsOf(lost.eventId))).not.toBe('no_job');
    });

    it('takes one that has ended out of the order, and wakes up again at once: there may be many like it', async () => {
      const {
        wakeUp,
        besideLanes,
        deliveryStore,
        endpoint: at,
        partsOf,
        eventIds,
        stillHeld,
      } = await arrangePutOff({ endpoint: endpoint(), form, held: 1 });
      const ended = { eventId: uniqueEventId(), acceptedAt: NOW - 1 };
      await deliveryStore.append(partsOf(ended.eventId), { kind: 'cancelled', reason: 'event_expired' });
      await besideLanes.join(at.id, [ended])(redis.client);
      expect(await wakeUp(1)).toEqual({ left: 1, wakeUpAgainAt: NOW + 10 });
      expect(await besideLanes.first(at.id)).toMatchObject({ eventId: eventIds[0] });
      await wakeUp(1);
      expect(await stillHeld()).toEqual([]);
    });

    // The model found it: they would have been held until their jobs came back by themselves, an hour or two
    // later.
    it('releases what was held before there was an order, one at a time', async () => {
      const {
        wakeUp,
        besideLanes,
        endpoint: at,
        stillHeld,
        eventIds,
      } = await arrangePutOff({
        endpoint: endpoint(),
        form,
        held: 3,
      });
      await besideLanes.clear(at.id);
      await wakeUp(8);
      expect(await stillHeld()).toEqual(eventIds.slice(1));
    });
  });

  describe('at an endpoint with the order of jobs within groups', () => {
    const LINE = 'a';
    async function arrangeGroup(held: number) {
      const endpoint = buildEndpoint({ ordering: 'group' });
      const arranged = await arrangePutOff({ endpoint, held, form: 'former' });
      const { besideLanes, eventIds } = arranged;
      const places = eventIds.map((eventId, i) => ({ eventId, acceptedAt: NOW + i, line: LINE }));
      await besideLanes.join(endpoint.id, places)(redis.client);
      return {
        ...arranged,
        join: async (eventId: EventId) =>
          await besideLanes.join(endpoint.id, [{ eventId, acceptedAt: NOW - 1, line: LINE }])(redis.client),
      };
    }

    it('releases the first of a group, although nobody has said that it may go', async () => {
      const { wakeUp, stillHeld, eventIds } = await arrangeGroup(3);
      await wakeUp(8);
      await wakeUp(8);
      expect(await stillHeld()).toEqual(eventIds.slice(1));
    });

    it('gives the one whose turn it is a job again when it has lost it, or its group would wait for ever', async () => {
      const { wakeUp, join, endpoint, deliveryQueue, partsOf } = await arrangeGroup(1);
      const lost = uniqueEventId();
      await join(lost);
      await redis.client.set(`${keys.turn(endpoint.id)}:${LINE}`, lost);
      await wakeUp(1);
      expect(await deliveryQueue.requestOf(partsOf(lost))).not.toBe('no_job');
    });

    it('gives the first of a group a job again that has lost it before it began', async () => {
      const { wakeUp, join, deliveryQueue, partsOf } = await arrangeGroup(1);
      const lost = uniqueEventId();
      await join(lost);
      await wakeUp(1);
      expect(await deliveryQueue.requestOf(partsOf(lost))).not.toBe('no_job');
    });

    it('takes one that has ended out of its group, and lets the next one go', async () => {
      const { wakeUp, join, deliveryStore, partsOf, stillHeld } = await arrangeGroup(1);
      const ended = uniqueEventId();
      await deliveryStore.append(partsOf(ended), { kind: 'cancelled', reason: 'event_expired' });
      await join(ended);
      await wakeUp(1);
      await wakeUp(1);
      await wakeUp(1);
      expect(await stillHeld()).toEqual([]);
    });
  });
});
