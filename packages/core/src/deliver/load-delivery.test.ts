import { AccountStore } from '../accounts/redis-account-store';
import type { DeliveryFact } from '../domain/delivery-fact';
import { keys } from '../domain/keys';
import { TransformationStore } from '../endpoints/redis-transformation-store';
import { graceOf } from '../events/redis-event-index';
import { EventStore } from '../events/redis-event-store';
import {
  type ArrangedDelivery,
  DeliveryScene,
  disabledEndpoint,
  NOW,
  responded,
  SCHEDULE,
  SEND_MS,
} from '../testing/arrange-delivery';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { testRetention } from '../testing/test-retention';

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

describe('further attempts', () => {
  it('are not made before their time, should the job run again after a crash or an error', async () => {
    const { deliver, requests, readRecord, moveClock } = await scene.arrange({
      results: [responded(500), responded(204)],
    });
    await deliver();
    moveClock(1_000);
    expect(await deliver()).toEqual({ kind: 'later', delayMs: 4_000 });
    expect(requests).toHaveLength(1);
    expect(await readRecord()).toMatchObject({ attempts: [{ number: 1 }] });

    moveClock(4_000);
    expect(await deliver()).toEqual({ kind: 'done' });
  });
});

describe('the key of the account', () => {
  it('is not looked for where only the secret signs', async () => {
    const { deliver, requests, endpoint } = await scene.arrange({ results: [responded(204)] });
    await deliver();
    expect(requests[0]?.headers['webhook-signature']).toMatch(/^v1,\S+$/);
    // What looks for a key makes one.
    expect(await scene.redis.client.exists(keys.signingKeys(endpoint.accountId))).toBe(0);
  });

  it('is read for each attempt, so that a new one signs at once in all workers', async () => {
    const endpoint = buildEndpoint({ signing: 'ed25519' });
    const results = [responded(500), responded(500), responded(204)];
    const { deliver, requests, moveClock } = await scene.arrange({ results, endpoint });
    await deliver();
    moveClock(SCHEDULE[0]);
    await deliver();
    // As after a leak.
    await scene.redis.client.del(keys.signingKeys(endpoint.accountId));
    moveClock(SCHEDULE[1]);
    await deliver();
    const [first, second, third] = requests.map(({ headers }) => headers['webhook-key-id']);
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });
});

describe("the account's source of CloudEvents", () => {
  const cloudEventsSource = 'urn:example:acme';
  const source = '/own';

  async function sourceOf(change: Parameters<typeof buildEndpoint>[0]): Promise<unknown> {
    const endpoint = buildEndpoint({ format: 'cloudevents_structured', ...change });
    const accountStore = new AccountStore(scene.redis.client);
    await accountStore.create({ id: endpoint.accountId, createdAt: 1, cloudEventsSource });
    const { deliver, requests } = await scene.arrange({ results: [responded(204)], endpoint });
    await deliver();
    return (JSON.parse(requests[0]?.body ?? '') as { source?: unknown }).source;
  }

  it('is the source of an endpoint that has none', async () => {
    expect(await sourceOf({})).toBe(cloudEventsSource);
    expect(await sourceOf({ cloudevents: { source } })).toBe(source);
  });
});

describe('with a history, notes that a delivery has ended', () => {
  const noted: unknown[] = [];
  const endedList = {
    add: async (...args: unknown[]) => void noted.push(args),
    addAll: () => async () => {},
  };
  beforeEach(() => void noted.splice(0));

  it('when it is cancelled', async () => {
    const { deliver, run } = await scene.arrange({ endpoint: 'deleted', endedList });
    await deliver();
    expect(noted).toEqual([[run, NOW]]);
  });

  it('when its job runs once more, in case the worker died just after its record', async () => {
    const fact = { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined } as const;
    const { deliver, run, requests } = await scene.arrange({ log: [fact], endedList });
    await deliver();
    expect(requests).toEqual([]);
    expect(noted).toEqual([[run, NOW]]);
  });

  it('but not of one whose account is erased', async () => {
    const { deliver, readRecord } = await scene.arrange({ endpoint: 'deleted', event: 'expired', endedList });
    await deliver();
    expect(await readRecord()).toMatchObject({ isOpen: true });
    expect(noted).toEqual([]);
  });
});

// A worker that stood still for longer than its lock: another one has delivered it meanwhile, and all of it has moved.
describe('with a history, a delivery that has moved since its job was taken', () => {
  const endedList = { add: async () => {}, addAll: () => async () => {} };

  async function arrangeMoved(given: Parameters<DeliveryScene['arrange']>[0]) {
    const arranged = await scene.arrange({ endedList, ...given });
    const { endpointId, eventId } = arranged.run;
    await scene.redis.client.zrem(keys.deliveries(endpointId), eventId);
    return arranged;
  }

  const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW } as const;
  it.each<[string, Parameters<DeliveryScene['arrange']>[0]]>([
    ['its event has moved as well', { event: 'expired' }],
    ['its event is needed by others', { endpoint: 'deleted' }],
    ['it was requested', { event: 'expired', job: { request } }],
  ])('gets no record that would hide that of the history: %s', async (_which, given) => {
    const { deliver, log, requests, signals } = await arrangeMoved(given);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await log()).toBeNull();
    expect(requests).toEqual([]);
    expect(signals.named('delivery.ended')).toEqual([]);
  });

  it('is told from one that its fan-out did not list by the job of that', async () => {
    const { deliver, run, admission, log, signals } = await arrangeMoved({ event: 'expired' });
    await admission.deliveryQueue.addAll([run]);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await log()).toBe('{"c":"event_expired"}\n');
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled' }]);
  });

  it('is read again when another worker has continued it meanwhile', async () => {
    let isFirst = true;
    const exhausted = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined } as const;
    const { deliver, run, readRecord } = await scene.arrange({ event: 'expired', endedList });
    const append = scene.deliveryStore.appendIfListed.bind(scene.deliveryStore);
    const spy = jest.spyOn(scene.deliveryStore, 'appendIfListed').mockImplementation(async (...args) => {
      if (isFirst) await scene.deliveryStore.append(run, exhausted);
      isFirst = false;
      return await append(...args);
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    spy.mockRestore();
    expect(await readRecord()).toMatchObject({ status: 'exhausted', attempts: [{}] });
  });
});

describe('a delivery of which one node of a Cluster has lost something', () => {
  const [isThere, isNot] = [{ has: async () => true }, { has: async () => false }];
  it.each<[string, Parameters<DeliveryScene['arrange']>[0]]>([
    ['its event', { event: 'expired', copies: { pgIntake: isThere } }],
    ['its webhook', { endpoint: 'deleted', copies: { pgIntake: isNot, configurationCopy: isThere } }],
  ])('is not cancelled while PostgreSQL has %s', async (_what, given) => {
    const { deliver, log, signals } = await scene.arrange(given);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await log()).toBeNull();
    expect(signals.named('delivery.ended')).toEqual([]);
  });

  const pgHistory = { findDelivery: async () => undefined };
  it('is cancelled when PostgreSQL has neither', async () => {
    const copies = { pgIntake: isNot, configurationCopy: isNot, pgHistory };
    const { deliver, readRecord } = await scene.arrange({ event: 'expired', copies });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'cancelled' });
  });
});

it('ends nothing once more when the job of a delivery that has moved comes back, as with an older Redis', async () => {
  const moved: unknown[] = [];
  const findDelivery = async (...args: unknown[]) => ({ found: moved.push(args) });
  const copies = { pgIntake: { has: async () => false }, pgHistory: { findDelivery } };
  const { deliver, run, admission, log, signals } = await scene.arrange({ event: 'expired', copies });
  await scene.redis.client.zrem(keys.deliveries(run.endpointId), run.eventId);
  await admission.deliveryQueue.addAll([run]);
  expect(await deliver()).toEqual({ kind: 'done' });
  expect(moved).toMatchObject([[run.accountId, { endpointId: run.endpointId, eventId: run.eventId }]]);
  expect(await log()).toBeNull();
  expect(signals.named('delivery.ended')).toEqual([]);
});

describe('a delivery that can not be tried any more', () => {
  it('is cancelled when its endpoint was deleted', async () => {
    const { deliver, requests, readRecord, signals } = await scene.arrange({ endpoint: 'deleted' });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'cancelled', attempts: [] });
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled', lagMs: 1_000 }]);
  });

  it('is cancelled when its event has outlived the retention', async () => {
    const { deliver, requests, readRecord, signals } = await scene.arrange({ event: 'expired' });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'cancelled' });
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled', lagMs: 0 }]);
  });

  it("is cancelled when its event's payload was erased, a retry too", async () => {
    const { deliver, requests, event, readRecord, log } = await scene.arrange({
      event: 'expired',
      log: [{ kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: NOW - 1 }],
    });
    // By another process, so that it is in no memory here.
    const other = new EventStore(scene.redis.client, testRetention);
    await other.save(event)(scene.redis.client);
    await other.erasePayload(event.accountId, event.id, NOW);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await log()).toMatch(/{"c":"payload_erased"}\n$/);
    expect(await readRecord()).toMatchObject({ status: 'cancelled', attempts: [{}] });
  });

  it('leaves nothing behind when neither its endpoint nor its event is there, as after the erasure of its account', async () => {
    const { deliver, requests, log, signals } = await scene.arrange({
      endpoint: 'deleted',
      event: 'expired',
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await log()).toBeNull();
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled' }]);
  });
});

describe('a delivery that has come to its end before', () => {
  it.each<[string, DeliveryFact]>([
    ['delivered', { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined }],
    ['exhausted', { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined }],
    ['cancelled', { kind: 'cancelled', reason: 'endpoint_deleted' }],
  ])('is not sent again, and stays %s', async (status, fact) => {
    const { deliver, requests, readRecord, signals } = await scene.arrange({ log: [fact] });
    const before = await readRecord();
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(await readRecord()).toEqual(before);
    expect(before).toMatchObject({ status });
    expect([...signals.named('delivery.attempted'), ...signals.named('delivery.ended')]).toEqual([]);
  });
});

describe('a delivery that has to wait', () => {
  it('is cancelled rather than held when its endpoint was deleted', async () => {
    const { deliver, admission, run } = await scene.arrange({ endpoint: 'deleted' });
    await deliver();
    expect(await admission.heldDeliveries.count(run.endpointId)).toBe(0);
  });
});

describe('where deliveries go one at a time', () => {
  const strictEndpoint = () => buildEndpoint({ ordering: 'strict' });

  it('the next one goes when this one had ended before its worker died', async () => {
    const log = [{ kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined }] as const;
    const arranged = await scene.arrange({ endpoint: strictEndpoint(), log });
    const { untilReleased } = await scene.giveTurn(arranged);
    await arranged.deliver();
    expect(arranged.requests).toEqual([]);
    await untilReleased();
  });

  it('the next one goes when the event of this one is no longer kept', async () => {
    const arranged = await scene.arrange({ endpoint: strictEndpoint(), event: 'expired' });
    const { untilReleased } = await scene.giveTurn(arranged);
    await arranged.deliver();
    expect(await arranged.readRecord()).toMatchObject({ status: 'cancelled' });
    await untilReleased();
  });
});

describe('a delivery that somebody requested once more', () => {
  const requested = { kind: 'requested', requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW } as const;
  const exhausted = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined } as const;
  const accepted = { ...exhausted, attempt: buildAcceptedAttempt() } as const;

  it('is sent, goes on counting its attempts, and begins its schedule again', async () => {
    const { deliver, requests, readRecord } = await scene.arrange({
      log: [exhausted, requested],
      results: [responded(500)],
    });
    expect(await deliver()).toMatchObject({ kind: 'retry', delayMs: SCHEDULE[0] });
    expect(requests).toMatchObject([{ headers: { 'x-service-attempt': '2' } }]);
    expect(await readRecord()).toMatchObject({ status: 'pending', isOpen: true });
  });

  it('is not late, however old its event is', async () => {
    const { deliver, signals } = await scene.arrange({
      log: [exhausted, requested],
      results: [responded(204)],
    });
    await deliver();
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'delivered', lagMs: SEND_MS }]);
  });

  it('is sent once and stays delivered if it was, whatever comes of that; nobody is told of its end', async () => {
    const { deliver, requests, readRecord, signals, raised } = await scene.arrange({
      log: [accepted, requested],
      results: [responded(500)],
    });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toHaveLength(1);
    expect(await readRecord()).toMatchObject({
      status: 'delivered',
      isOpen: false,
      attempts: [{ outcome: 'delivered' }, { outcome: 'http_5xx' }],
    });
    expect(signals.named('delivery.ended')).toEqual([]);
    expect(raised.events.map((event) => event.type)).not.toContain('delivery.exhausted');
  });

  describe('whose job came before the record, and nothing after it', () => {
    const { kind: _kind, ...request } = requested;

    it('is sent, and has its request recorded', async () => {
      const { deliver, requests, readRecord } = await scene.arrange({
        log: [exhausted],
        job: { request },
        results: [responded(204)],
      });
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(requests).toMatchObject([{ headers: { 'x-service-attempt': '2' } }]);
      expect(await readRecord()).toMatchObject({ status: 'delivered', requestIds: [request.requestId] });
    });

    it('is sent once, however often its job runs', async () => {
      const { deliver, requests, readRecord } = await scene.arrange({
        log: [accepted],
        job: { request },
        results: [responded(500)],
      });
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(requests).toHaveLength(1);
      expect(await readRecord()).toMatchObject({ requestIds: [request.requestId], isOpen: false });
    });

    it('goes on by its schedule when it fails, without being asked for again', async () => {
      const { deliver, readRecord, moveClock } = await scene.arrange({
        log: [exhausted],
        job: { request },
        results: [responded(500), responded(204)],
      });
      expect(await deliver()).toMatchObject({ kind: 'retry', delayMs: SCHEDULE[0] });
      expect(await deliver()).toEqual({ kind: 'later', delayMs: SCHEDULE[0] });
      moveClock(SCHEDULE[0]);
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(await readRecord()).toMatchObject({ attempts: [{}, {}, {}], requestIds: [request.requestId] });
    });

    it('leaves nothing behind when its account was erased meanwhile', async () => {
      const { deliver, log } = await scene.arrange({
        endpoint: 'deleted',
        event: 'expired',
        job: { request },
      });
      expect(await deliver()).toEqual({ kind: 'done' });
      expect(await log()).toBeNull();
    });
  });
});

// Held deliveries are released two at a time, and more with each attempt. Those that make none must not use that up.
describe('a released delivery that is not sent lets the next held one go at once', () => {
  const job = { hasWaited: true };
  const ended = { kind: 'cancelled', reason: 'payload_erased' } as const;
  const failed = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: NOW + 60_000 } as const;
  const batch = { max_events: 2 };
  const transformation = { version: 1, isEnabled: true };

  type Given = NonNullable<Parameters<DeliveryScene['arrange']>[0]>;
  it.each<[string, Given]>([
    ['when its event is gone', { event: 'expired' }],
    ['when it had ended before', { log: [ended] }],
    ['when it is not due yet', { log: [failed] }],
    ['in strict order', { event: 'expired', endpoint: buildEndpoint({ ordering: 'strict' }) }],
    ['in the order of groups', { event: 'expired', endpoint: buildEndpoint({ ordering: 'group' }) }],
    ['in batches', { event: 'expired', endpoint: buildEndpoint({ batch }) }],
    ['when its code cancels it', { endpoint: buildEndpoint({ transformation }) }],
    ['when its code cancels all of a batch', { endpoint: buildEndpoint({ transformation, batch }) }],
    [
      'when it becomes an entry of its line',
      {
        job: { ...job, joinLane: async () => true },
        endpoint: buildEndpoint({ ordering: 'group', coalesce: { window_ms: 1 } }),
        group: 'a',
      },
    ],
  ])('%s', async (_when, given) => {
    const arranged = await scene.arrange({ job, ...given });
    if (arranged.endpoint.transformation) {
      const store = new TransformationStore(scene.redis.client);
      const code = 'export default () => ({ cancel: true })';
      await store.save(arranged.endpoint.id, { code, savedAt: 1, savedBy: 'key_1' });
    }
    const next = await scene.holdNext(arranged);
    arranged.admission.releaser.start();
    await arranged.deliver();
    await next.untilReleased();
    expect(arranged.requests).toEqual([]);
  });
});

describe('a delivery that is still open when its retention is over', () => {
  const RETENTION_MS = testRetention.ageMs;
  const LATE = NOW + RETENTION_MS;
  const failedAt = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: LATE - 1_000 } as const;

  /** The time passes for the records in Redis, too. */
  async function passTime({ run, moveClock }: ArrangedDelivery, ms: number): Promise<void> {
    moveClock(ms);
    const { client } = scene.redis;
    for (const key of [
      keys.event(run.accountId, run.eventId),
      keys.receivers(run.accountId, run.eventId),
      keys.delivery(run.endpointId, run.eventId),
    ]) {
      const left = await client.pttl(key);
      if (left > 0) await client.pexpire(key, left - ms);
    }
  }

  it.each([
    ['a retry', { log: [failedAt] }],
    ['one that waited in the queue all the time', {}],
    ['one that was held for a disabled endpoint', { endpoint: disabledEndpoint() }],
  ])('is cancelled, listed with what happened for as long again, and told of: %s', async (_which, given) => {
    const arranged = await scene.arrange({ job: { hasWaited: true }, ...given });
    const { run, event, deliver, requests, signals, readRecord, admission } = arranged;
    // Its lists may have forgotten it by now, but it has a job.
    await admission.deliveryQueue.addAll([{ ...run, acceptedAt: event.acceptedAt }]);
    await admission.heldDeliveries.enter(run, { ...run, acceptedAt: event.acceptedAt }, NOW, 'disabled');
    await passTime(arranged, RETENTION_MS);
    // Others have come since: they push what is old out of the lists.
    const newer = { eventId: buildEvent().id, createdAt: LATE };
    await scene.deliveryStore.enlistAll([{ endpointId: run.endpointId, marks: [newer] }])(scene.redis.client);

    expect(await deliver()).toEqual({ kind: 'done' });
    expect(requests).toEqual([]);
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled' }]);
    expect(await arranged.isHeld()).toBe(false);
    for (const createdAt of [LATE + 1, LATE + 2]) {
      await scene.deliveryStore.enlistAll([
        { endpointId: run.endpointId, marks: [{ eventId: buildEvent().id, createdAt }] },
      ])(scene.redis.client);
      expect(await readRecord()).toMatchObject({ status: 'cancelled', createdAt: event.acceptedAt });
    }
    const { marks } = await scene.eventStore.list(run.accountId, 10);
    expect(marks).toMatchObject([{ eventId: run.eventId }]);
    await passTime(arranged, RETENTION_MS * 0.99);
    expect(await scene.eventStore.findHead(run.accountId, run.eventId)).toBeDefined();
    expect(await arranged.log()).toContain('"c":"event_expired"');
  });

  it('is looked at when that is, whatever delay is due', async () => {
    const results = [responded(500)];
    const late = { results, endpoint: buildEndpoint({ retrySchedule: [2 * RETENTION_MS] }) };
    const retried = await scene.arrange(late);
    expect(await retried.deliver()).toMatchObject({ kind: 'retry', delayMs: RETENTION_MS - 1_000 - SEND_MS });
    const held = await scene.arrange({ endpoint: disabledEndpoint() });
    await passTime(held, RETENTION_MS - 5_000);
    expect(await held.deliver()).toEqual({ kind: 'later', delayMs: 4_000 });
  });

  it('goes on if it was requested since, and its event is kept for it', async () => {
    const days = 86_400_000;
    const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW + 900 * days } as const;
    const arranged = await scene.arrange({ results: [responded(204)], job: { request } });
    await passTime(arranged, RETENTION_MS + days / 2);
    expect(await arranged.deliver()).toEqual({ kind: 'done' });
    expect(await arranged.readRecord()).toMatchObject({ status: 'delivered' });
    const { accountId, eventId } = arranged.run;
    const left = (await scene.redis.client.pttl(keys.event(accountId, eventId))) - graceOf(testRetention);
    expect(Math.floor(left / days)).toBe(899);
  });

  it.each([
    ['that of another webhook has ended', 0],
    ['that of another webhook was requested since', RETENTION_MS],
  ])('is cancelled though its event is kept: %s', async (_why, fromNowMs) => {
    const arranged = await scene.arrange();
    const { accountId, eventId } = arranged.run;
    await passTime(arranged, RETENTION_MS);
    await scene.eventStore.keep(accountId, eventId, fromNowMs);
    expect(await arranged.deliver()).toEqual({ kind: 'done' });
    expect(arranged.requests).toEqual([]);
    expect(await arranged.log()).toBe('{"c":"event_expired"}\n');
  });
});
