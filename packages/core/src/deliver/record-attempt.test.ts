import type { Attempt } from '../domain/attempt';
import { CLOSED } from '../domain/breaker';
import type { DeliveryRun } from '../domain/delivery';
import type { AttemptedFact, DeliveryFact } from '../domain/delivery-fact';
import { readSummary } from '../domain/delivery-log';
import { keys } from '../domain/keys';
import { oneShard } from '../domain/queues';
import type { SendResult } from '../domain/transport';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import type { EndedAttempt } from '../endpoints/health/attempt-tally';
import type { HealthRecorder } from '../endpoints/health/health-recorder';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EndedList } from '../events/redis-ended-list';
import { atomicAsOne, atomicOneByOne } from '../platform/redis-atomic';
import { connectRedis } from '../platform/redis-connect';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { DeliveryScene, NOW, refused, responded, SEND_MS } from '../testing/arrange-delivery';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { fake } from '../testing/fake';
import { testRetention } from '../testing/test-retention';
import type { Decision } from './decide-next';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { recordAttempt } from './record-attempt';
import { AttemptStore } from './redis-attempt-store';

let scene: DeliveryScene;
beforeEach(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.close());

/**
 * As a worker does it: all that is asked for within one turn of the event loop goes to Redis as one batch.
 */
async function arrange({ hasHistory = false, isListed = true } = {}) {
  const connection = {
    url: scene.redis.url,
    role: 'working',
    name: 'test',
    emit: () => {},
  } as const;
  const client = connectRedis(connection);
  scene.willClose({ close: () => client.disconnect() });
  const event = buildEvent();
  const { accountId, id: eventId } = event;
  const endpoint = buildEndpoint({ accountId });
  const run: DeliveryRun = {
    accountId,
    eventId,
    endpointId: endpoint.id,
    hasWaited: false,
    wasTakenOver: false,
    ownedUntil: Number.POSITIVE_INFINITY,
  };
  const deliveryStore = new DeliveryStore(client, testRetention);
  const list = buildNewDeliveries(eventId, [endpoint.id], event.acceptedAt);
  if (isListed) await deliveryStore.enlistAll(list)(client);
  const health: EndedAttempt[] = [];
  const time = { now: NOW };
  const deliveryQueue = new DeliveryQueue(client, oneShard('bull'));
  const endedList = new EndedList(client);
  const parts = fake<AttemptParts>({
    attemptStore: new AttemptStore(testRetention),
    deliveryStore,
    atomic: atomicAsOne(client),
    endedList: hasHistory ? endedList : undefined,
    deliveryQueue,
    admissionStore: new AdmissionStore(client),
    healthRecorder: fake<HealthRecorder>({
      record: (_endpointId, attempt) => void health.push(attempt),
    }),
    clock: () => time.now,
  });

  /** What a worker knows when it begins an attempt. */
  async function prepare(): Promise<ReadyDelivery> {
    const { state, length, breaker } = await deliveryStore.readWithBreaker(run);
    return {
      kind: 'ready',
      readAt: 0,
      run,
      event,
      endpoint,
      breaker,
      logLength: length,
      roundNumber: state.round.number,
      attemptNumber: state.attempts.length + 1,
      trigger: state.round.trigger,
      isTest: false,
      scheduledAttempt: state.round.attempts + 1,
      wasDelivered: state.status === 'delivered',
      begunAt: event.acceptedAt,
      openUntil: Number.POSITIVE_INFINITY,
    };
  }

  /** An attempt that was begun with that knowledge. */
  const recordOf = async (
    ready: ReadyDelivery,
    change: Partial<Attempt>,
    decision: Decision,
    atomic = parts.atomic,
  ) => {
    const attempt = buildAttempt({ number: ready.attemptNumber, ...change });
    const input = { ready, attempt, decision, attemptKey: undefined };
    return await recordAttempt({ ...parts, atomic }, input);
  };

  return {
    run,
    event,
    client,
    time,
    health,
    deliveryStore,
    deliveryQueue,
    readEnded: async () => (await endedList.claim(Number.POSITIVE_INFINITY, 10, NOW)(client)).entries,
    prepare,
    recordOf,
    record: async (change: Partial<Attempt>, decision: Decision) =>
      await recordOf(await prepare(), change, decision),
    eraseAnswers: () => deliveryStore.eraseAnswersOf(run, NOW),
    append: (fact: DeliveryFact) => deliveryStore.append(run, fact),
    readText: async () => (await client.get(keys.delivery(run.endpointId, run.eventId))) ?? '',
    request: (requestId: string) =>
      deliveryStore.append(run, { kind: 'requested', requestId, trigger: 'manual', requestedAt: NOW }),
    read: async () => (await deliveryStore.readWithLength(run.endpointId, run.eventId)).state,
    readBreaker: async () => (await deliveryStore.readWithBreaker(run)).breaker,
  };
}

const ACCEPTED = { outcome: 'delivered', responseStatus: 204 } as const;
const THEIRS = { worker: 'another' } as const;
const RETRY = { kind: 'retry', delayMs: 5_000 } as const;

it("records the event's type once, from the first attempt on", async () => {
  const { record, run, event, client } = await arrange();
  await record({}, RETRY);
  await record({}, RETRY);
  const log = await client.get(keys.delivery(run.endpointId, run.eventId));
  expect(readSummary(log ?? '')).toMatchObject({ attemptCount: 2, eventType: event.type });
  expect(log?.split(event.type)).toHaveLength(2);
});

it('rejects when the record can not be written, and counts nothing', async () => {
  const { prepare, recordOf, run, client, health } = await arrange();
  const ready = await prepare();
  await client.rpush(keys.delivery(run.endpointId, run.eventId), 'no log');
  await expect(recordOf(ready, ACCEPTED, { kind: 'delivered' })).rejects.toThrow('WRONGTYPE');
  expect(health).toEqual([]);
});

describe('with a history', () => {
  it.each<Decision>([
    { kind: 'delivered' },
    { kind: 'exhausted' },
    { kind: 'aborted' },
    { kind: 'stays_delivered' },
  ])('notes a delivery that is over in the script of its record: %j', async (decision) => {
    const { record, run, readEnded } = await arrange({ hasHistory: true });
    const { accountId, eventId, endpointId } = run;
    await record({}, decision);
    expect(await readEnded()).toEqual([{ accountId, eventId, endpointId, endedAt: NOW }]);
  });

  it('notes nothing while another attempt follows', async () => {
    const { record, readEnded } = await arrange({ hasHistory: true });
    await record({}, RETRY);
    expect(await readEnded()).toEqual([]);
  });

  it('notes nothing of an attempt that another worker has overtaken', async () => {
    const { prepare, record, recordOf, readEnded } = await arrange({ hasHistory: true });
    const ready = await prepare();
    await record(THEIRS, RETRY);
    await recordOf(ready, ACCEPTED, { kind: 'delivered' });
    expect(await readEnded()).toEqual([]);
  });

  it('notes nothing if the end can not be recorded', async () => {
    const { prepare, recordOf, run, client, readEnded } = await arrange({ hasHistory: true });
    const ready = await prepare();
    await client.rpush(keys.delivery(run.endpointId, run.eventId), 'no log');
    await expect(recordOf(ready, ACCEPTED, { kind: 'delivered' })).rejects.toThrow('WRONGTYPE');
    expect(await readEnded()).toEqual([]);
  });

  /** As when it has moved: nothing of it is left. */
  async function move({ client, run }: Awaited<ReturnType<typeof arrange>>) {
    await client.zrem(keys.deliveries(run.endpointId), run.eventId);
    await client.del(keys.delivery(run.endpointId, run.eventId));
  }

  it.each<[string, number]>([
    ['a first attempt', 0],
    ['a later one', 1],
  ])('does not begin a delivery anew that has moved meanwhile, by %s', async (_which, before) => {
    const arranged = await arrange({ hasHistory: true });
    const { prepare, record, recordOf, run, client, readEnded } = arranged;
    for (let i = 0; i < before; i += 1) await record({}, RETRY);
    const ready = await prepare();
    await record(ACCEPTED, { kind: 'delivered' });
    await move(arranged);
    await readEnded();
    const recorded = await recordOf(ready, {}, RETRY);
    expect(recorded).toMatchObject({ effect: undefined, nextAttemptAt: undefined });
    expect(await client.exists(keys.delivery(run.endpointId, run.eventId))).toBe(0);
  });

  it('records a first attempt whose delivery is in no list, if its job is there', async () => {
    const { record, run, deliveryQueue, read, readEnded } = await arrange({
      hasHistory: true,
      isListed: false,
    });
    await deliveryQueue.addAll([run]);
    const { effect } = await record(ACCEPTED, { kind: 'delivered' });
    expect(effect).toBeDefined();
    expect(await read()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(await readEnded()).toMatchObject([{ eventId: run.eventId }]);
  });
});

it.each([0, 1])(
  'records nothing of an account that was erased meanwhile, after %i attempts',
  async (before) => {
    const { prepare, record, recordOf, run, client } = await arrange();
    for (let i = 0; i < before; i += 1) await record({}, RETRY);
    const ready = await prepare();
    await client.del(keys.deliveries(run.endpointId), keys.delivery(run.endpointId, run.eventId));
    const recorded = await recordOf(ready, { ...ACCEPTED, responseBody: 'personal' }, { kind: 'delivered' });
    expect(recorded).toEqual({ effect: undefined, letsOthersGo: false, nextAttemptAt: undefined });
    expect(await client.exists(keys.delivery(run.endpointId, run.eventId))).toBe(0);
  },
);

it('notes nothing of ends without a history', async () => {
  const { record, run, client } = await arrange();
  await record(ACCEPTED, { kind: 'delivered' });
  expect(await client.exists(keys.ended)).toBe(0);
  expect(await client.exists(keys.delivery(run.endpointId, run.eventId))).toBe(1);
});

describe('an attempt whose job can not be ended', () => {
  const refuses = async () => {
    throw new Error('OOM');
  };

  it('is recorded, with its effect: the job is ended when the run has ended', async () => {
    const { prepare, recordOf, read, client } = await arrange();
    const ready = await prepare();
    // As in a Cluster, where the queue may be on another node than the log.
    const run = { ...ready.run, stepsToEnd: () => [refuses] };
    const recorded = await recordOf({ ...ready, run }, {}, RETRY, atomicOneByOne(client));
    expect(recorded).toMatchObject({ effect: { failures: 1 }, nextAttemptAt: NOW + 5_000 });
    expect((await read()).attempts).toHaveLength(1);
  });
});

describe("an attempt that somebody else's came before, which was begun at the same time", () => {
  it('is recorded as a late one, and takes nothing back', async () => {
    const { prepare, recordOf, read, readBreaker } = await arrange();
    const [mine, theirs] = [await prepare(), await prepare()];
    await recordOf(theirs, THEIRS, { kind: 'retry', delayMs: 60_000 });
    const breaker = await readBreaker();
    const recorded = await recordOf(mine, { responseStatus: 503 }, { kind: 'exhausted' });
    expect(recorded).toMatchObject({ effect: undefined, nextAttemptAt: NOW + 60_000 });
    expect(await read()).toMatchObject({
      status: 'pending',
      nextAttemptAt: NOW + 60_000,
      round: { attempts: 1 },
      attempts: [{ number: 1 }, { number: 2, responseStatus: 503 }],
    });
    expect(await readBreaker()).toEqual(breaker);
  });

  it('does not take back that the other one was delivered', async () => {
    const { prepare, recordOf, read } = await arrange();
    const [mine, theirs] = [await prepare(), await prepare()];
    await recordOf(theirs, { ...ACCEPTED, ...THEIRS }, { kind: 'delivered' });
    const recorded = await recordOf(mine, {}, RETRY);
    expect(recorded).toMatchObject({ effect: undefined, nextAttemptAt: undefined });
    expect(await read()).toMatchObject({ status: 'delivered', isOpen: false, attempts: [{}, {}] });
  });

  it('has the delivery delivered when it was accepted', async () => {
    const { prepare, recordOf, read } = await arrange();
    const [mine, theirs] = [await prepare(), await prepare()];
    await recordOf(theirs, THEIRS, RETRY);
    const recorded = await recordOf(mine, ACCEPTED, { kind: 'delivered' });
    expect(recorded).toMatchObject({ effect: undefined });
    expect(await read()).toMatchObject({ status: 'delivered', isOpen: false, attempts: [{}, {}] });
  });

  it('is late also when somebody has opened the delivery again since the other one has ended it', async () => {
    const { prepare, recordOf, request, read } = await arrange();
    const [mine, theirs] = [await prepare(), await prepare()];
    await recordOf(theirs, THEIRS, { kind: 'exhausted' });
    await request('rdl_1');
    await recordOf(mine, {}, { kind: 'aborted' });
    expect(await read()).toMatchObject({
      status: 'pending',
      isOpen: true,
      round: { number: 2, attempts: 0 },
    });
  });

  it('counts for the health of its endpoint', async () => {
    const { prepare, recordOf, health } = await arrange();
    const [mine, theirs] = [await prepare(), await prepare()];
    await recordOf(theirs, THEIRS, RETRY);
    await recordOf(mine, ACCEPTED, { kind: 'delivered' });
    expect(health.map(({ failed }) => failed?.outcome)).toEqual(['http_5xx', undefined]);
  });

  it('does not make another one late that knew of the one before', async () => {
    const { prepare, recordOf, read } = await arrange();
    const [late, first] = [await prepare(), await prepare()];
    await recordOf(first, THEIRS, RETRY);
    const next = await prepare();
    await recordOf(late, {}, RETRY);
    const recorded = await recordOf(next, { ...ACCEPTED, startedAt: NOW }, { kind: 'delivered' });
    expect(recorded.effect).toBeDefined();
    expect(await read()).toMatchObject({
      status: 'delivered',
      round: { attempts: 2 },
      attempts: [{ number: 1 }, { number: 2 }, { number: 3 }],
    });
  });
});

describe('an attempt of an earlier round', () => {
  it.each<[string, Partial<Attempt>, Decision]>([
    ['a success', ACCEPTED, { kind: 'delivered' }],
    ['a failure', {}, { kind: 'exhausted' }],
  ])('ends no request that was acknowledged meanwhile: %s', async (_what, change, decision) => {
    const { prepare, recordOf, request, read, readText } = await arrange();
    const [mine, theirs] = [await prepare(), await prepare()];
    await recordOf(theirs, { ...ACCEPTED, ...THEIRS }, { kind: 'delivered' });
    await request('rdl_1');
    const recorded = await recordOf(mine, change, decision);
    // Its job, if it still had one, is not to end.
    expect(recorded).toMatchObject({ effect: undefined, nextAttemptAt: NOW });
    expect(await read()).toMatchObject({
      status: 'delivered',
      isOpen: true,
      round: { number: 2, attempts: 0 },
    });
    // By its end, Redis knows that the log is still needed.
    expect(await readText()).toMatch(/"r":\d+}\n$/);
    await recordOf(await prepare(), { ...ACCEPTED, startedAt: NOW + 1 }, { kind: 'delivered' });
    expect(await read()).toMatchObject({ isOpen: false, attempts: [{}, {}, { number: 3 }] });
  });

  it('decides nothing, though no attempt has decided the later round yet', async () => {
    const { prepare, recordOf, append, request, read } = await arrange();
    const mine = await prepare();
    await append({ kind: 'cancelled', reason: 'dropped' });
    await request('rdl_1');
    const recorded = await recordOf(mine, ACCEPTED, { kind: 'delivered' });
    expect(recorded).toMatchObject({ effect: undefined });
    expect(await read()).toMatchObject({ status: 'delivered', isOpen: true, round: { attempts: 0 } });
  });
});

it('is the last one of its round when a late one of an earlier round has delivered its delivery meanwhile', async () => {
  const { prepare, recordOf, request, read, readText } = await arrange();
  const [late, theirs] = [await prepare(), await prepare()];
  await recordOf(theirs, THEIRS, { kind: 'exhausted' });
  await request('rdl_1');
  const mine = await prepare();
  await recordOf(late, ACCEPTED, { kind: 'delivered' });
  const recorded = await recordOf(mine, { startedAt: NOW }, RETRY);
  expect(recorded).toMatchObject({ effect: { failures: 2 }, nextAttemptAt: undefined });
  expect(await read()).toMatchObject({ status: 'delivered', isOpen: false, round: { attempts: 1 } });
  expect(await readText()).not.toMatch(/"r":\d+}\n$/);
});

it('has the job of its delivery end at once when it ends the round late, though that waits for a retry', async () => {
  const { prepare, recordOf, deliveryQueue, run } = await arrange();
  const promote = jest.spyOn(deliveryQueue, 'promote');
  const [mine, theirs] = [await prepare(), await prepare()];
  await recordOf(theirs, THEIRS, RETRY);
  await recordOf(mine, ACCEPTED, { kind: 'delivered' });
  expect(promote).toHaveBeenCalledWith(run.endpointId, [run.eventId]);
});

describe('an attempt that is recorded again, since nobody knows that it is', () => {
  const FAILED = { responseStatus: 503, responseBody: 'personal' } as const;
  type Arranged = Awaited<ReturnType<typeof arrange>>;

  it.each<[string, (arranged: Arranged) => Promise<unknown>]>([
    ['nothing else', async () => {}],
    ['a request', ({ request }) => request('rdl_1')],
    ['an erasure', ({ eraseAnswers }) => eraseAnswers()],
    [
      'both, and a late attempt',
      async ({ eraseAnswers, request, append }) => {
        await request('rdl_1');
        await append({ kind: 'attempted', attempt: buildAttempt(THEIRS), nextAttemptAt: NOW, isLate: true });
        await eraseAnswers();
      },
    ],
  ])('stands in the log once, and has its effect, after %s', async (_what, meanwhile) => {
    const arranged = await arrange();
    const { prepare, recordOf, read, time } = arranged;
    const ready = await prepare();
    await recordOf(ready, FAILED, RETRY);
    await meanwhile(arranged);
    const before = await read();
    // The next attempt would be due later now.
    time.now += 2_000;
    const recorded = await recordOf(ready, FAILED, RETRY);
    expect(recorded).toMatchObject({ effect: { failures: 1 }, nextAttemptAt: NOW + 5_000 });
    expect(await read()).toEqual(before);
  });

  // A run whose lock was lost, and the one that took its job over: one process, and a clock that has not moved.
  it('is not taken for another one of the same worker at the same time that ended otherwise', async () => {
    const { prepare, recordOf, read } = await arrange();
    const [first, second] = [await prepare(), await prepare()];
    await recordOf(first, FAILED, RETRY);
    await recordOf(second, ACCEPTED, { kind: 'delivered' });
    expect(await read()).toMatchObject({ status: 'delivered', isOpen: false, attemptCount: 2 });
  });

  // The delivery was asked for once more within the same millisecond.
  it('is not taken for one of an earlier round that ended alike', async () => {
    const { prepare, recordOf, request, read } = await arrange();
    const [late, theirs] = [await prepare(), await prepare()];
    await recordOf(theirs, ACCEPTED, { kind: 'delivered' });
    await request('rdl_1');
    const mine = await prepare();
    await recordOf(late, THEIRS, RETRY);
    await recordOf(mine, ACCEPTED, { kind: 'delivered' });
    expect(await read()).toMatchObject({ isOpen: false, attemptCount: 3, round: { number: 2, attempts: 1 } });
  });

  it('stands there once as a late one, wherever that is', async () => {
    const { prepare, recordOf, request, read } = await arrange();
    const [mine, theirs] = [await prepare(), await prepare()];
    await recordOf(theirs, { ...ACCEPTED, ...THEIRS }, { kind: 'delivered' });
    await recordOf(mine, ACCEPTED, { kind: 'delivered' });
    await request('rdl_1');
    const before = await read();
    expect(await recordOf(mine, ACCEPTED, { kind: 'delivered' })).toMatchObject({ effect: undefined });
    expect(await read()).toEqual(before);
  });
});

describe('an attempt that something else came before', () => {
  it.each<[string, (arranged: Awaited<ReturnType<typeof arrange>>) => Promise<unknown>]>([
    ['the answers of its receiver were erased', ({ eraseAnswers }) => eraseAnswers()],
    ['somebody has asked for the delivery', ({ request }) => request('rdl_1')],
  ])('is no late one: %s', async (_what, meanwhile) => {
    const arranged = await arrange();
    const { prepare, recordOf, read } = arranged;
    const ready = await prepare();
    await meanwhile(arranged);
    const recorded = await recordOf(ready, { responseStatus: 503 }, RETRY);
    expect(recorded).toMatchObject({ effect: { failures: 1 }, nextAttemptAt: NOW + 5_000 });
    expect(await read()).toMatchObject({
      status: 'pending',
      nextAttemptAt: NOW + 5_000,
      round: { attempts: 1 },
      attempts: [{ number: 1, responseStatus: 503 }],
    });
  });

  it.each([false, true])('records no response once these were erased, late: %s', async (isLate) => {
    const { prepare, recordOf, eraseAnswers, read, readText } = await arrange();
    const [mine, theirs] = [await prepare(), await prepare()];
    if (isLate) await recordOf(theirs, THEIRS, RETRY);
    await eraseAnswers();
    await recordOf(mine, { responseBody: 'personal', responseHeaders: { via: 'personal' } }, RETRY);
    expect((await read()).attempts).toHaveLength(isLate ? 2 : 1);
    expect(await readText()).not.toContain('personal');
  });
});

describe("an attempt counts for its endpoint's health", () => {
  it.each([
    ['as a success', responded(204), undefined],
    ['as a failure', refused, { eventId: expect.any(String), number: 1, outcome: 'connect_refused' }],
  ])('%s', async (_what, result, failed) => {
    const { deliver, recorded, endpoint } = await scene.arrange({ results: [result] });
    await deliver();
    expect(recorded).toEqual([[endpoint.id, { failed, at: NOW + SEND_MS, durationMs: SEND_MS }]]);
  });
});

describe('the timings of an attempt', () => {
  const timings = { dnsMs: 1, connectMs: 2, tlsMs: 3, firstByteMs: 4 };

  it.each<[string, SendResult]>([
    ['accepted', responded(204, { timings })],
    ['failed', { ...refused, timings }],
  ])('that %s are recorded, and announced', async (_what, result) => {
    const { deliver, readRecord, signals } = await scene.arrange({ results: [result] });
    await deliver();
    expect(await readRecord()).toMatchObject({ attempts: [{ timings }] });
    expect(signals.named('delivery.attempted')).toMatchObject([timings]);
  });
});

describe('an attempt that another worker has gone on after', () => {
  const someoneElses = (fact: Partial<AttemptedFact>) => (run: DeliveryRun) =>
    scene.deliveryStore.append(run, {
      kind: 'attempted',
      attempt: buildAttempt(),
      nextAttemptAt: undefined,
      ...fact,
    });

  it('is announced and recorded, and nothing follows from it', async () => {
    const { deliver, readRecord, readBreaker, signals, raised } = await scene.arrange({
      results: [responded(410)],
      whileSending: someoneElses({ nextAttemptAt: NOW + 60_000 }),
    });
    expect(await deliver()).toMatchObject({ kind: 'retry', delayMs: 60_000 - SEND_MS });
    expect(await readRecord()).toMatchObject({
      status: 'pending',
      nextAttemptAt: NOW + 60_000,
      attempts: [{ number: 1 }, { number: 2, responseStatus: 410 }],
    });
    expect(signals.named('delivery.attempted')).toHaveLength(1);
    expect(signals.named('delivery.attempted')[0]).not.toHaveProperty('nextDelayMs');
    expect(signals.named('delivery.ended')).toEqual([]);
    expect(signals.named('endpoint.disabled')).toEqual([]);
    expect(raised.events).toEqual([]);
    expect(await readBreaker()).toEqual(CLOSED);
  });

  it('is done when the other one has ended the delivery', async () => {
    const { deliver, readRecord } = await scene.arrange({
      results: [responded(500)],
      whileSending: someoneElses({ attempt: buildAcceptedAttempt() }),
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{}, {}] });
  });
});
