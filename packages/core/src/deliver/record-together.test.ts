import { CLOSED } from '../domain/breaker';
import type { JobEnd, MemberEnd } from '../domain/delivery';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { oneShard } from '../domain/queues';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import type { HealthRecorder } from '../endpoints/health/health-recorder';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EndedList } from '../events/redis-ended-list';
import { type Atomic, atomicAsOne, atomicOneByOne } from '../platform/redis-atomic';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { buildGuard } from '../testing/build-atomic';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { openTestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import type { Decision } from './decide-next';
import type { AttemptParts } from './open-delivery';
import type { RecordInput } from './record-attempt';
import { recordTogether } from './record-together';
import { AttemptStore } from './redis-attempt-store';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const NOW = 1_700_000_000_000;
const DELIVERED: Decision = { kind: 'delivered' };
const RETRY: Decision = { kind: 'retry', delayMs: 5_000 };
const LATE_LINE = '{"n":1,"t":1,"d":1}\n';
const REQUEST_LINE = '{"q":"rdl_1","g":"manual","t":1}\n';

/** Deliveries of one request. */
async function arrange(count: number, order: typeof atomicAsOne) {
  const { client } = willClose(await openTestRedis());
  const deliveryStore = new DeliveryStore(client, testRetention);
  const endedList = new EndedList(client);
  const attemptStore = new AttemptStore(testRetention);
  const endpoint = buildEndpoint();
  const { accountId, id: endpointId } = endpoint;
  const counted: [boolean, number][] = [];
  const ended: string[] = [];
  const atomic: Atomic = order(client);
  const time = { now: NOW, tickMs: 0 };
  const parts = fake<AttemptParts>({
    attemptStore,
    deliveryStore,
    atomic,
    endedList,
    deliveryQueue: new DeliveryQueue(client, oneShard('bull')),
    admissionStore: new AdmissionStore(client),
    healthRecorder: fake<HealthRecorder>({
      record: (_, { failed }, times: number) => void counted.push([failed === undefined, times]),
    }),
    clock: () => {
      time.now += time.tickMs;
      return time.now;
    },
  });
  const attempt = buildAcceptedAttempt({ number: 1 });
  const inputs: RecordInput[] = Array.from({ length: count }, () => {
    const event = buildEvent({ accountId });
    const run = {
      accountId,
      endpointId,
      eventId: event.id,
      hasWaited: false,
      wasTakenOver: false,
      ownedUntil: Number.POSITIVE_INFINITY,
      // One by one, where it is recorded by itself.
      stepsToEnd: (end: JobEnd) => stepsToEnd([{ eventId: event.id, end }]),
    };
    const ready = {
      kind: 'ready',
      readAt: 0,
      run,
      event,
      endpoint,
      breaker: CLOSED,
      logLength: 0,
      roundNumber: 1,
      attemptNumber: 1,
      trigger: 'schedule',
      isTest: false,
      scheduledAttempt: 1,
      wasDelivered: false,
      begunAt: NOW,
      openUntil: Number.POSITIVE_INFINITY,
    } as const;
    return { ready, attempt, decision: DELIVERED, attemptKey: undefined };
  });
  const stepsToEnd = (ends: readonly MemberEnd[]) => [
    async () => void ended.push(...ends.map(({ eventId, end }) => `${end.kind} ${eventId}`)),
  ];
  const events = inputs.map(({ ready }) => ready.event.id);
  await deliveryStore.enlistAll([
    { endpointId, marks: events.map((eventId) => ({ eventId, createdAt: NOW })) },
  ])(client);
  return {
    events,
    counted,
    inputs,
    /** Of jobs, in a Cluster: there the steps come one by one. */
    ended,
    time,
    logOf: (event: EventId | undefined) => keys.delivery(endpointId, event as EventId),
    client,
    attemptStore,
    readBreaker: () => parts.admissionStore.readBreaker(endpointId),
    record: (of: readonly RecordInput[] = inputs) => recordTogether(parts, { inputs: of, stepsToEnd }),
    stateOf: async (eventId: EventId) => (await deliveryStore.readWithLength(endpointId, eventId)).state,
    statusOf: async (eventId: EventId) =>
      (await deliveryStore.readWithLength(endpointId, eventId)).state.status,
    readEnded: async () =>
      (await endedList.claim(Number.POSITIVE_INFINITY, 100, NOW)(client)).entries.map(
        ({ eventId }) => eventId,
      ),
  };
}

describe.each([
  ['on one server', atomicAsOne],
  ['in a Cluster', atomicOneByOne],
])('the attempts of one request, %s', (_name, order) => {
  it('are recorded and ended, and counted, each of them', async () => {
    const { events, record, statusOf, readEnded, counted } = await arrange(3, order);
    const recorded = await record();
    expect([...recorded.keys()].toSorted()).toEqual(events.toSorted());
    for (const { effect, nextAttemptAt } of recorded.values()) {
      expect([effect?.failures, nextAttemptAt]).toEqual([0, undefined]);
    }
    expect(await Promise.all(events.map(statusOf))).toEqual(['delivered', 'delivered', 'delivered']);
    expect((await readEnded()).toSorted()).toEqual(events.toSorted());
    expect(counted).toEqual([[true, 3]]);
  });

  it('may differ, and a failure counts once for the receiver', async () => {
    const { inputs, record, statusOf, readEnded, readBreaker, ended } = await arrange(4, order);
    const failed = { attempt: buildAttempt({ number: 1 }), decision: RETRY };
    const all = inputs.map((input, i) => (i === 3 ? input : { ...input, ...failed }));
    const recorded = await record(all);
    const [first, second, third, fourth] = all.map(({ ready }) => ready.event.id);
    expect(recorded.get(first as EventId)).toMatchObject({ effect: { failures: 1 } });
    expect(recorded.get(second as EventId)?.nextAttemptAt).toBe(NOW + RETRY.delayMs);
    expect(await Promise.all([third, fourth].map((event) => statusOf(event as EventId)))).toEqual([
      'pending',
      'delivered',
    ]);
    expect(await readBreaker()).toMatchObject({ failures: 1 });
    expect(await readEnded()).toEqual([fourth]);
    expect(ended).toEqual([...[first, second, third].map((event) => `delayed ${event}`), `done ${fourth}`]);
  });

  it.each([0, 1, 2])(
    'are recorded but for one that another worker has continued, which is late: the %i.',
    async (i) => {
      const { events, record, client, logOf, statusOf, readEnded, counted } = await arrange(3, order);
      await client.set(logOf(events[i]), LATE_LINE);
      const recorded = await record();
      for (const [j, event] of events.entries()) {
        expect([j, recorded.get(event)?.effect === undefined]).toEqual([j, j === i]);
        expect(await statusOf(event)).toBe('delivered');
      }
      expect(await client.get(logOf(events[i]))).toMatch(/"l":1/);
      expect((await readEnded()).toSorted()).toEqual(events.filter((_, j) => j !== i).toSorted());
      expect(counted).toEqual([[true, 3]]);
    },
  );

  it('that are tried again are recorded once, although another worker has continued one of them', async () => {
    const { inputs, record, events, client, logOf, time } = await arrange(3, order);
    time.tickMs = 1;
    await client.set(logOf(events[2]), LATE_LINE);
    const attempt = buildAttempt({ number: 1 });
    const recorded = await record(inputs.map((input) => ({ ...input, attempt, decision: RETRY })));
    const logs = await client.mget(events.map(logOf));
    expect(logs.map((log) => log?.trimEnd().split('\n').length)).toEqual([1, 1, 2]);
    const [first, second] = events.map((event) => recorded.get(event)?.nextAttemptAt);
    expect(second).toBe(first);
    for (const log of logs.slice(0, 2)) expect(log).toContain(`"r":${first}}`);
  });

  it('leave a request open that was acknowledged since another worker has continued one of them', async () => {
    const { events, record, client, logOf, stateOf } = await arrange(3, order);
    await client.set(logOf(events[1]), LATE_LINE + REQUEST_LINE);
    const recorded = await record();
    expect(recorded.get(events[1] as EventId)?.effect).toBeUndefined();
    const open = (await Promise.all(events.map(stateOf))).map(({ isOpen }) => isOpen);
    expect(open).toEqual([false, true, false]);
  });

  it('leave the same when all of it is repeated, though others have appended since', async () => {
    const { events, record, client, logOf, time } = await arrange(3, order);
    await record();
    for (const event of events.slice(0, 2)) await client.append(logOf(event), REQUEST_LINE);
    time.tickMs = 1;
    const before = await client.mget(events.map(logOf));
    const recorded = await record();
    expect(await client.mget(events.map(logOf))).toEqual(before);
    for (const { effect } of recorded.values()) expect(effect).toBeDefined();
  });
});

it('let go of no job before all are recorded', async () => {
  const { record, attemptStore, ended, events } = await arrange(3, atomicOneByOne);
  const recordOthers = attemptStore.recordOthers.bind(attemptStore);
  const seen: number[] = [];
  attemptStore.recordOthers = (...args) =>
    buildGuard(async (target) => {
      seen.push(ended.length);
      return await recordOthers(...args)(target);
    });
  await record();
  expect(seen).toEqual([0]);
  expect(ended).toEqual(events.map((event) => `done ${event}`));
});

it('rejects when a record can not be written, and counts nothing', async () => {
  const { record, events, client, logOf, counted } = await arrange(3, atomicAsOne);
  await client.rpush(logOf(events[1]), 'no log');
  await expect(record()).rejects.toThrow('WRONGTYPE');
  expect(counted).toEqual([]);
});
