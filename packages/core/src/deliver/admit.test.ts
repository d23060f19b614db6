import { eventJobId } from '@hookferry/producer/contract';
import { Queue } from 'bullmq';
import { CLOSED, FAILURES_TO_OPEN, MIN_OPEN_MS } from '../domain/breaker';
import type { Endpoint } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { EVENTS_QUEUE } from '../domain/queues';
import type { RecordForm } from '../domain/record-form';
import { atomicAsOne, atomicOneByOne } from '../platform/redis-atomic';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { DeliveryScene, disabledEndpoint, HELD, learn, NOW, responded } from '../testing/arrange-delivery';
import { buildAdmission, MAX_UNKNOWN } from '../testing/build-admission';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { fake } from '../testing/fake';
import { readHeld } from '../testing/read-held';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { type Admitted, admit as admitDelivery, hold as holdDelivery, type Refused } from './admit';
import type { Releaser } from './flow/releaser';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';

const SOON = NOW + 100;
const PROBE_AT = NOW - 1;

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

interface AdmitChange {
  readonly eventId?: EventId;
  readonly acceptedAt?: number;
  readonly hasWaited?: boolean;
}

/** What an attempt is asked for with. */
function buildReady({
  endpoint = buildEndpoint(),
  breaker = CLOSED,
  eventId = uniqueEventId(),
  acceptedAt = NOW,
  hasWaited = false,
}: AdmitChange & Partial<Pick<ReadyDelivery, 'endpoint' | 'breaker'>>): ReadyDelivery {
  const { accountId, id: endpointId } = endpoint;
  return {
    kind: 'ready',
    readAt: 0,
    run: {
      accountId,
      eventId,
      endpointId,
      hasWaited,
      wasTakenOver: false,
      ownedUntil: Number.POSITIVE_INFINITY,
    },
    event: buildEvent({ id: eventId, accountId, acceptedAt }),
    endpoint,
    breaker,
    logLength: 0,
    roundNumber: 1,
    attemptNumber: 1,
    trigger: 'schedule',
    isTest: false,
    scheduledAttempt: 1,
    wasDelivered: false,
    begunAt: acceptedAt,
    openUntil: Number.POSITIVE_INFINITY,
  };
}

interface AdmitArrangement {
  readonly endpoint?: Endpoint;
  /** Until when its breaker is open. */
  readonly openUntil?: number;
  readonly order?: typeof atomicAsOne;
  readonly form?: RecordForm;
}

async function arrange({
  endpoint = buildEndpoint(),
  openUntil,
  order = atomicAsOne,
  form,
}: AdmitArrangement = {}) {
  const admission = buildAdmission({ redis: scene.redis.client, clock: () => NOW, form });
  scene.willClose(admission);
  const breaker = openUntil === undefined ? CLOSED : { failures: FAILURES_TO_OPEN, openUntil };
  if (openUntil !== undefined) {
    await scene.redis.client.set(keys.breaker(endpoint.id), `${FAILURES_TO_OPEN} ${openUntil} ${NOW} 0`);
  }
  const parts = fake<AttemptParts>({ ...admission, atomic: order(scene.redis.client) });
  const admitOne = (change: AdmitChange = {}) =>
    admitDelivery(parts, buildReady({ endpoint, breaker, acceptedAt: NOW, ...change }));

  async function admitted(change: AdmitChange = {}): Promise<Admitted> {
    const answer = await admitOne(change);
    if (answer.kind !== 'admitted') throw new Error(`It was not admitted: ${JSON.stringify(answer)}.`);
    return answer;
  }

  return {
    ...admission,
    endpoint,
    admit: admitOne,
    admitted,
    /** Ends it as an attempt of which nothing came. */
    async breakOff(given: Admitted): Promise<void> {
      admission.concurrency.releasePermit(given.permit, undefined);
      await admission.admissionStore.withdraw(endpoint.id, given, breaker, NOW);
    },
    freePermits: () => admission.concurrency.freePermits(endpoint.id),
    async countUnknownLetIn(): Promise<number> {
      let letIn = 0;
      for (;;) {
        const permit = await admission.concurrency.takePermit({ id: uniqueEndpointId() }, false, false);
        if (typeof permit === 'string' || !permit.isOfUnknown) return letIn;
        letIn += 1;
      }
    },
    freeOfLimit: async () =>
      (await admission.admissionStore.stand(endpoint.id, endpoint.rateLimit)).rate.free,
  };
}

describe('admit', () => {
  it('admits at once where there is no limit, and leaves nothing in Redis', async () => {
    const { admitted, endpoint } = await arrange();
    expect(await admitted()).toMatchObject({ attemptKey: undefined, isProbe: false });
    expect(await scene.redis.client.keys(`*${endpoint.id}*`)).toEqual([]);
  });

  it('holds what is for a disabled endpoint, and asks again soon: it may be enabled while the job is on its way', async () => {
    const endpoint = buildEndpoint({ status: 'disabled', disabledReason: 'client' });
    const { admit, freePermits } = await arrange({ endpoint });
    expect(await admit()).toEqual({ kind: 'refused', reason: 'disabled', wakeUpAt: SOON });
    expect(freePermits()).toBe(2);
  });

  describe('an endpoint that has to prove that it wants the requests', () => {
    const verification = { method: 'challenge', round: 1, tries: 0 } as const;

    it.each(['unverified', 'pending', 'failed'] as const)('gets nothing while it is %s', async (status) => {
      const endpoint = buildEndpoint({ verification: { ...verification, status } });
      const { admit, freePermits } = await arrange({ endpoint });
      expect(await admit()).toEqual({ kind: 'refused', reason: 'unverified', wakeUpAt: SOON });
      expect(freePermits()).toBe(2);
    });

    it('is admitted from memory once it has', async () => {
      const endpoint = buildEndpoint({ verification: { ...verification, status: 'verified' } });
      const { admitted, verificationPolicy } = await arrange({ endpoint });
      const asked = jest.spyOn(verificationPolicy, 'isWaiting');
      expect(await admitted()).toMatchObject({ attemptKey: undefined });
      expect(asked).not.toHaveBeenCalled();
    });
  });

  it('holds what finds no permit at its endpoint, and asks again soon', async () => {
    const { admit } = await arrange();
    await admit();
    await admit();
    expect(await admit()).toEqual({ kind: 'refused', reason: 'busy', wakeUpAt: SOON });
  });

  it('holds what finds no slot until one is free, and asks again in any case', async () => {
    const { admit, concurrency, slots } = await arrange();
    while (slots.hasRoomForSlow) slots.take('slow');
    while (typeof (await concurrency.takePermit({ id: uniqueEndpointId() }, false, false)) === 'object');
    expect(await admit()).toEqual({
      kind: 'refused',
      reason: 'busy',
      wakeUpAt: NOW + 10_000,
      awaitsSlot: true,
    });
  });

  describe('what was taken on the way', () => {
    it('is left when the rate limit allows none', async () => {
      const { admit, admitted, breakOff, freePermits, countUnknownLetIn } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 1 }),
      });
      await breakOff(await admitted());
      expect(await admit()).toMatchObject({ kind: 'refused', reason: 'rate_limited' });
      expect(freePermits()).toBe(2);
      expect(await countUnknownLetIn()).toBe(MAX_UNKNOWN);
    });

    it('is left when Redis refuses to say', async () => {
      const { admit, endpoint, freePermits, countUnknownLetIn } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 1 }),
      });
      // To a key that holds something else, no attempt can be added.
      await scene.redis.client.set(keys.recentAttempts(endpoint.id), 'x');
      await expect(admit()).rejects.toThrow('WRONGTYPE');
      expect(freePermits()).toBe(2);
      expect(await countUnknownLetIn()).toBe(MAX_UNKNOWN);
    });

    it('is nothing of the rate limit where there is no permit', async () => {
      const { admit, freeOfLimit } = await arrange({ endpoint: buildEndpoint({ rateLimit: 5 }) });
      await admit();
      await admit();
      await admit();
      expect(await freeOfLimit()).toBe(3);
    });
  });

  describe('an endpoint with a rate limit', () => {
    it('admits as many as it allows, and holds the others until the next may go', async () => {
      const { admit, admitted, breakOff } = await arrange({ endpoint: buildEndpoint({ rateLimit: 2 }) });
      await breakOff(await admitted());
      await breakOff(await admitted());
      const refusal = await admit();
      if (refusal.kind !== 'refused') throw new Error('It was not refused.');
      expect(refusal.reason).toBe('rate_limited');
      expect(refusal.wakeUpAt).toBeLessThanOrEqual(NOW + 1_001);
    });

    it('counts an attempt for longer than it may take, and holds no longer than to the next wake-up in any case', async () => {
      const { admit, admissionStore, endpoint } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 1, timeoutMs: 60_000 }),
      });
      await admit();
      const { nextInMs } = (await admissionStore.stand(endpoint.id, 1)).rate;
      expect(nextInMs).toBeGreaterThan(60_000);
      expect(nextInMs).toBeLessThanOrEqual(65_001);
      expect(await admit()).toMatchObject({ reason: 'rate_limited', wakeUpAt: NOW + 10_000 });
    });

    it('lets waiting ones go before a newcomer', async () => {
      const { admit, admitted, breakOff, endpoint } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 1 }),
      });
      await breakOff(await admitted());
      await admit();
      await scene.redis.client.del(keys.recentAttempts(endpoint.id));
      expect(await admit({ hasWaited: false })).toMatchObject({ reason: 'rate_limited' });
      expect(await admit({ hasWaited: true })).toMatchObject({ kind: 'admitted' });
    });
  });

  // With jobs of their own.
  const form = 'former';
  describe.each([
    ['on one server', atomicAsOne],
    ['in a Cluster', atomicOneByOne],
  ])('an endpoint with strict ordering, %s', (_where, order) => {
    const strict = () => buildEndpoint({ ordering: 'strict' });

    it('admits the first one, and holds the others and asks again soon', async () => {
      const { admit, admitted, freePermits } = await arrange({ endpoint: strict(), order, form });
      const first = { eventId: uniqueEventId(), acceptedAt: NOW - 1 };
      await admitted(first);
      const before = freePermits();
      expect(await admit()).toMatchObject({ kind: 'refused', reason: 'ordering', wakeUpAt: SOON });
      expect(freePermits()).toBe(before);
    });

    it('admits the one whose turn it is again, after an attempt that failed or came to nothing', async () => {
      const { admitted, breakOff } = await arrange({ endpoint: strict(), order, form });
      const first = { eventId: uniqueEventId() };
      await breakOff(await admitted(first));
      expect(await admitted(first)).toMatchObject({ kind: 'admitted' });
    });

    it('holds the first one while an older event is not fanned out yet, which would come too late', async () => {
      const endpoint = strict();
      const { admit } = await arrange({ endpoint, order, form });
      const queue = new Queue(EVENTS_QUEUE, { connection: scene.redis.client });
      scene.willClose(queue);
      const jobId = eventJobId(endpoint.accountId, uniqueEventId());
      await queue.add('brief.created', {}, { jobId, timestamp: NOW - 1 });
      const first = { eventId: uniqueEventId() };
      expect(await admit(first)).toEqual({ kind: 'refused', reason: 'ordering', wakeUpAt: SOON });
      await queue.remove(jobId);
      expect(await admit(first)).toMatchObject({ kind: 'admitted' });
    });

    it.each(['the first one', 'the second one'])(
      'admits the first one of two, if %s asks first',
      async (who) => {
        const { admit, besideLanes, endpoint } = await arrange({ endpoint: strict(), order, form });
        const first = { eventId: uniqueEventId(), acceptedAt: NOW - 1 };
        const second = { eventId: uniqueEventId(), acceptedAt: NOW };
        await besideLanes.join(endpoint.id, [first, second])(scene.redis.client);
        const both = who === 'the first one' ? [first, second] : [second, first];
        const answers = await Promise.all(both.map(async (each) => ({ each, ...(await admit(each)) })));
        const admitted = answers.filter(({ kind }) => kind === 'admitted');
        expect(admitted.map(({ each }) => each)).toEqual([first]);
      },
    );
  });

  describe('a breaker', () => {
    it('that is open holds everything until its time, and takes no permit', async () => {
      const { admit, freePermits } = await arrange({ openUntil: NOW + 7_000 });
      expect(await admit()).toEqual({ kind: 'refused', reason: 'breaker_open', wakeUpAt: NOW + 7_000 });
      expect(freePermits()).toBe(2);
    });

    it('that is half-open lets one through as its probe, and another one at once when nothing came of it', async () => {
      const { admit, admitted, breakOff } = await arrange({ openUntil: PROBE_AT });
      const probe = await admitted();
      expect(probe.isProbe).toBe(true);
      expect((await admit()).kind).toBe('refused');
      await breakOff(probe);
      expect(await admitted()).toMatchObject({ isProbe: true });
    });

    it('that was probed holds the others, and asks no later than when the probe is taken for lost', async () => {
      const { admit, admitted, concurrency } = await arrange({ openUntil: PROBE_AT });
      concurrency.releasePermit((await admitted()).permit, undefined);
      expect(await admit()).toEqual({ kind: 'refused', reason: 'breaker_open', wakeUpAt: NOW + 60_000 });
    });

    it('that was probed keeps nothing of the rate limit of one that is not its probe', async () => {
      const { admit, admitted, concurrency, freeOfLimit } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 5 }),
        openUntil: PROBE_AT,
      });
      concurrency.releasePermit((await admitted()).permit, undefined);
      await admit();
      expect(await freeOfLimit()).toBe(4);
    });
  });
});

describe('hold', () => {
  const HOUR_MS = 3_600_000;

  interface HoldChange extends Partial<Refused> {
    readonly endpoint?: Endpoint;
    readonly random?: number;
  }

  function arrangeHold({
    random = 0,
    endpoint = buildEndpoint({ ordering: 'strict' }),
    ...change
  }: HoldChange = {}) {
    const refusal: Refused = { kind: 'refused', reason: 'busy', wakeUpAt: NOW + 100, ...change };
    const ready = buildReady({ endpoint, acceptedAt: NOW - 1_000 });
    const admission = scene.willClose(buildAdmission({ redis: scene.redis.client, clock: () => NOW }));
    const asked: string[] = [];
    const releaser = fake<Releaser>({
      wakeUpAt: (_accountId: string, endpointId: string, at: number) => asked.push(`${endpointId} at ${at}`),
      awaitSlot: (_accountId: string, endpointId: string) => asked.push(`${endpointId} with a slot`),
    });
    const parts = fake<AttemptParts>({ ...admission, random: () => random, releaser });
    return {
      ...admission,
      parts,
      hold: (held = ready) => holdDelivery(parts, held, refusal),
      ready,
      run: ready.run,
      asked,
    };
  }

  it('enters a delivery by the time of its acceptance, not of its waiting', async () => {
    const { hold, ready, run, heldDeliveries } = arrangeHold();
    const older = buildReady({ endpoint: ready.endpoint, acceptedAt: NOW - 1_001 });
    await hold();
    await hold(older);
    expect(await readHeld(heldDeliveries, run.endpointId)).toEqual([older.run.eventId, run.eventId]);
  });

  it('asks for a wake-up, in Redis for everybody and here, where it is known at once', async () => {
    const { hold, run, heldDeliveries, asked } = arrangeHold();
    await hold();
    expect(await heldDeliveries.wakeUpDueAt(run)).toBe(NOW + 100);
    expect(asked).toEqual([`${run.endpointId} at ${NOW + 100}`]);
  });

  it('waits for a slot as well if that is what it lacks', async () => {
    const { hold, run, asked } = arrangeHold({ awaitsSlot: true });
    await hold();
    expect(asked).toContain(`${run.endpointId} with a slot`);
  });

  it.each([
    [0, HOUR_MS],
    [0.5, 1.5 * HOUR_MS],
    [0.999_999_999, 2 * HOUR_MS],
  ])(
    'has the job come back by itself after an hour or two, whatever is forgotten: %d',
    async (random, delayMs) => {
      const { hold } = arrangeHold({ random });
      expect(await hold()).toBe(delayMs);
    },
  );

  it('is announced, with its reason', async () => {
    const { hold, run, signals } = arrangeHold({ reason: 'breaker_open' });
    await hold();
    const { accountId, endpointId, eventId } = run;
    expect(signals.named('delivery.held')).toEqual([
      { name: 'delivery.held', accountId, endpointId, eventId, reason: 'breaker_open' },
    ]);
  });

  it('also holds those that would be refused next, and announces each', async () => {
    const { hold, run, signals, deliveryQueue, heldDeliveries } = arrangeHold({ endpoint: buildEndpoint() });
    const { accountId, endpointId } = run;
    const eventId = uniqueEventId();
    await deliveryQueue.addAll([{ accountId, endpointId, eventId, acceptedAt: NOW - 999 }]);
    await hold();
    expect(await readHeld(heldDeliveries, endpointId)).toEqual([run.eventId, eventId]);
    expect(signals.named('delivery.held').map((signal) => signal.eventId)).toEqual([run.eventId, eventId]);
  });

  it('announces nothing that Redis did not take, so that the job is not put off without an entry', async () => {
    const { ready, signals, parts } = arrangeHold();
    const heldDeliveries = fake<HeldDeliveries>({ enter: () => Promise.reject(new Error('OOM')) });
    const refusal: Refused = { kind: 'refused', reason: 'busy', wakeUpAt: NOW + 100 };
    await expect(holdDelivery({ ...parts, heldDeliveries }, ready, refusal)).rejects.toThrow('OOM');
    expect(signals.named('delivery.held')).toEqual([]);
  });
});

describe('a delivery that has to wait', () => {
  it('is held at a disabled endpoint, for as long as nobody releases it, at no cost of attempts', async () => {
    const { deliver, requests, readRecord, isHeld, signals } = await scene.arrange({
      endpoint: disabledEndpoint(),
    });
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(await isHeld()).toBe(true);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'disabled' }]);
    expect(signals.named('delivery.attempted')).toEqual([]);
  });

  it('is held once, however often its job comes to its endpoint', async () => {
    const { deliver, admission, run } = await scene.arrange({ endpoint: disabledEndpoint() });
    await deliver();
    await deliver();
    expect(await readHeld(admission.heldDeliveries, run.endpointId)).toEqual([run.eventId]);
  });

  it('is held while the breaker is open, and sent as a probe when its time has come', async () => {
    const { deliver, requests, admission, run, moveClock, readRecord, readBreaker } = await scene.arrange({
      results: [responded(204)],
    });
    await scene.openBreaker(run.endpointId, NOW + MIN_OPEN_MS);
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await admission.heldDeliveries.wakeUpDueAt(run)).toBe(NOW + MIN_OPEN_MS);

    moveClock(MIN_OPEN_MS);
    expect(await deliver()).toEqual({ kind: 'done' });
    expect(await readRecord()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(await readBreaker()).toEqual(CLOSED);
  });

  it('is held while others have taken every permit of its endpoint', async () => {
    const { deliver, requests, admission, run, isHeld, signals } = await scene.arrange();
    await scene.takeEveryPermit(admission, run.endpointId);
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await isHeld()).toBe(true);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'busy' }]);
  });

  it('is held while its endpoint had as many attempts within a second as it wants', async () => {
    const endpoint = buildEndpoint({ rateLimit: 1 });
    await (await scene.arrange({ endpoint, results: [responded(204)] })).deliver();
    const { deliver, requests, isHeld, signals } = await scene.arrange({ endpoint });
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await isHeld()).toBe(true);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'rate_limited' }]);
  });
});

describe('an attempt at a slow endpoint', () => {
  it('is held, at no cost of attempts, while there is no room among the slow ones', async () => {
    const { deliver, admission, run, requests, readRecord, signals } = await scene.arrange();
    await learn(admission, run.endpointId, { outcome: 'response_timeout', durationMs: 15_000 });
    while (admission.slots.hasRoomForSlow) admission.slots.take('slow');
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'busy' }]);
  });

  it('is not made, and leaves no slot, while the endpoint gets nothing anyway', async () => {
    const { deliver, run, admission, signals } = await scene.arrange({ endpoint: disabledEndpoint() });
    await learn(admission, run.endpointId, { outcome: 'response_timeout', durationMs: 15_000 });
    await deliver();
    expect(signals.named('delivery.moved')).toEqual([]);
    expect(signals.named('delivery.held')).toHaveLength(1);
  });
});

describe('where deliveries go one at a time', () => {
  const strictEndpoint = () => buildEndpoint({ ordering: 'strict' });

  it('one waits until it is its turn', async () => {
    const endpoint = strictEndpoint();
    await scene.giveTurn(await scene.arrange({ endpoint }));
    const { deliver, requests, isHeld, signals } = await scene.arrange({ endpoint, form: 'former' });
    expect(await deliver()).toEqual(HELD);
    expect(requests).toEqual([]);
    expect(await isHeld()).toBe(true);
    expect(signals.named('delivery.held')).toMatchObject([{ reason: 'ordering' }]);
  });
});
