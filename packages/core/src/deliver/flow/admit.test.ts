import { CLOSED, FAILURES_TO_OPEN } from '../../domain/breaker';
import type { Endpoint } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { buildAdmission, MAX_UNKNOWN } from '../../testing/build-admission';
import { buildEndpoint } from '../../testing/build-endpoint';
import { readHeld } from '../../testing/read-held';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { type AdmitInput, type Admitted, createHold, type HoldInput } from './admit';

describe('admit', () => {
  const NOW = 1_700_000_000_000;
  const SOON = NOW + 100;
  const PROBE_AT = NOW - 1;

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
    /** Until when its breaker is open. */
    readonly openUntil?: number;
    /** Whether events that were accepted earlier are not fanned out yet. */
    readonly hasOlderEvents?: boolean;
  }

  async function arrange({
    endpoint = buildEndpoint(),
    openUntil,
    hasOlderEvents = false,
  }: Arrangement = {}) {
    const horizon = { hasOlder: hasOlderEvents };
    const admission = buildAdmission({
      redis: redis.client,
      clock: () => NOW,
      oldestEvents: { hasOlder: async () => horizon.hasOlder },
    });
    opened.push(admission);
    const breaker = openUntil === undefined ? CLOSED : { failures: FAILURES_TO_OPEN, openUntil };
    if (openUntil !== undefined) {
      await redis.client.set(keys.breaker(endpoint.id), `${FAILURES_TO_OPEN} ${openUntil} ${NOW} 0`);
    }
    const input: AdmitInput = {
      endpoint,
      breaker,
      eventId: uniqueEventId(),
      acceptedAt: NOW,
      hasWaited: false,
    };
    const admit = (change: Partial<AdmitInput> = {}) =>
      admission.admit({ ...input, eventId: uniqueEventId(), ...change });

    async function admitted(change: Partial<AdmitInput> = {}): Promise<Admitted> {
      const answer = await admit(change);
      if (answer.kind === 'refused') throw new Error(`It was refused: ${answer.reason}.`);
      return answer;
    }

    return {
      ...admission,
      horizon,
      endpoint,
      admit,
      admitted,
      /** Ends it as an attempt of which nothing came. */
      async breakOff(answer: Admitted): Promise<void> {
        admission.concurrency.leave(answer.place, undefined);
        await admission.admissionStore.withdraw(endpoint.id, answer, breaker, NOW);
      },
      freePlaces: () => admission.concurrency.freePlaces(endpoint.id),
      async countUnknownLetIn(): Promise<number> {
        let letIn = 0;
        for (;;) {
          const place = await admission.concurrency.enter({ id: uniqueEndpointId() }, false, false);
          if (typeof place === 'string' || !place.isOfUnknown) return letIn;
          letIn += 1;
        }
      },
      freeOfLimit: async () =>
        (await admission.admissionStore.stand(endpoint.id, endpoint.rateLimit)).rate.free,
    };
  }

  it('admits at once where there is no limit, and leaves nothing in Redis', async () => {
    const { admitted, endpoint } = await arrange();
    expect(await admitted()).toMatchObject({ attemptKey: undefined, isProbe: false });
    expect(await redis.client.keys(`*${endpoint.id}*`)).toEqual([]);
  });

  it('holds what is for a disabled endpoint, with a look soon: it may be enabled while the job is on its way', async () => {
    const endpoint = buildEndpoint({ status: 'disabled', disabledReason: 'client' });
    const { admit, freePlaces } = await arrange({ endpoint });
    expect(await admit()).toEqual({ kind: 'refused', reason: 'disabled', wakeUpAt: SOON });
    expect(freePlaces()).toBe(2);
  });

  it('holds what finds no place at its endpoint, with a look soon', async () => {
    const { admit } = await arrange();
    await admit();
    await admit();
    expect(await admit()).toEqual({ kind: 'refused', reason: 'busy', wakeUpAt: SOON });
  });

  it('holds what finds no slot until one is free, with a look in any case', async () => {
    const { admit, concurrency, slots } = await arrange();
    while (slots.hasRoomForSlow) slots.take('slow');
    while (typeof (await concurrency.enter({ id: uniqueEndpointId() }, false, false)) === 'object');
    expect(await admit()).toEqual({
      kind: 'refused',
      reason: 'busy',
      wakeUpAt: NOW + 10_000,
      awaitsSlot: true,
    });
  });

  describe('what was taken on the way', () => {
    it('is left when the rate limit allows none', async () => {
      const { admit, admitted, breakOff, freePlaces, countUnknownLetIn } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 1 }),
      });
      await breakOff(await admitted());
      expect(await admit()).toMatchObject({ kind: 'refused', reason: 'rate_limited' });
      expect(freePlaces()).toBe(2);
      expect(await countUnknownLetIn()).toBe(MAX_UNKNOWN);
    });

    it('is left when Redis refuses to say', async () => {
      const { admit, endpoint, freePlaces, countUnknownLetIn } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 1 }),
      });
      // To a key that holds something else, no attempt can be added.
      await redis.client.set(keys.recentAttempts(endpoint.id), 'x');
      await expect(admit()).rejects.toThrow('WRONGTYPE');
      expect(freePlaces()).toBe(2);
      expect(await countUnknownLetIn()).toBe(MAX_UNKNOWN);
    });

    it('is nothing of the rate limit where there is no place', async () => {
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
      const answer = await admit();
      if (answer.kind === 'admitted') throw new Error('It was admitted.');
      expect(answer.reason).toBe('rate_limited');
      expect(answer.wakeUpAt).toBeLessThanOrEqual(NOW + 1_001);
    });

    it('counts an attempt for longer than it may take, and holds no longer than to the next look in any case', async () => {
      const { admit, admissionStore, endpoint } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 1, timeoutMs: 60_000 }),
      });
      await admit();
      const { nextInMs } = (await admissionStore.stand(endpoint.id, 1)).rate;
      expect(nextInMs).toBeGreaterThan(60_000);
      expect(nextInMs).toBeLessThanOrEqual(65_001);
      expect(await admit()).toMatchObject({ reason: 'rate_limited', wakeUpAt: NOW + 10_000 });
    });

    it('lets those that have waited go before a newcomer', async () => {
      const { admit, admitted, breakOff, endpoint } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 1 }),
      });
      await breakOff(await admitted());
      await admit();
      await redis.client.del(keys.recentAttempts(endpoint.id));
      expect(await admit({ hasWaited: false })).toMatchObject({ reason: 'rate_limited' });
      expect(await admit({ hasWaited: true })).toMatchObject({ kind: 'admitted' });
    });
  });

  describe('an endpoint with strict ordering', () => {
    const strict = () => buildEndpoint({ ordering: 'strict' });

    it('admits the first one, and holds the others with a look soon', async () => {
      const { admit, admitted, freePlaces } = await arrange({ endpoint: strict() });
      const first = { eventId: uniqueEventId(), acceptedAt: NOW - 1 };
      await admitted(first);
      const before = freePlaces();
      expect(await admit()).toEqual({ kind: 'refused', reason: 'out_of_turn', wakeUpAt: SOON });
      expect(freePlaces()).toBe(before);
    });

    it('admits the one whose turn it is again, after an attempt that failed or came to nothing', async () => {
      const { admitted, breakOff } = await arrange({ endpoint: strict() });
      const first = { eventId: uniqueEventId() };
      await breakOff(await admitted(first));
      expect(await admitted(first)).toMatchObject({ kind: 'admitted' });
    });

    it('holds the first one while an older event is not fanned out yet, which would come too late', async () => {
      const { admit, horizon } = await arrange({ endpoint: strict(), hasOlderEvents: true });
      const first = { eventId: uniqueEventId() };
      expect(await admit(first)).toEqual({ kind: 'refused', reason: 'out_of_turn', wakeUpAt: SOON });
      horizon.hasOlder = false;
      expect(await admit(first)).toMatchObject({ kind: 'admitted' });
    });
  });

  describe('a breaker', () => {
    it('that is open holds everything until its time, and takes no place', async () => {
      const { admit, freePlaces } = await arrange({ openUntil: NOW + 7_000 });
      expect(await admit()).toEqual({ kind: 'refused', reason: 'breaker_open', wakeUpAt: NOW + 7_000 });
      expect(freePlaces()).toBe(2);
    });

    it('that is half-open lets one through as its probe, and another one at once when nothing came of it', async () => {
      const { admit, admitted, breakOff } = await arrange({ openUntil: PROBE_AT });
      const probe = await admitted();
      expect(probe.isProbe).toBe(true);
      expect((await admit()).kind).toBe('refused');
      await breakOff(probe);
      expect(await admitted()).toMatchObject({ isProbe: true });
    });

    it('that was probed holds the others, and looks no later than when the probe is taken for lost', async () => {
      const { admit, admitted, concurrency } = await arrange({ openUntil: PROBE_AT });
      concurrency.leave((await admitted()).place, undefined);
      expect(await admit()).toEqual({ kind: 'refused', reason: 'breaker_open', wakeUpAt: NOW + 60_000 });
    });

    it('that was probed keeps nothing of the rate limit of one that is not its probe', async () => {
      const { admit, admitted, concurrency, freeOfLimit } = await arrange({
        endpoint: buildEndpoint({ rateLimit: 5 }),
        openUntil: PROBE_AT,
      });
      concurrency.leave((await admitted()).place, undefined);
      await admit();
      expect(await freeOfLimit()).toBe(4);
    });
  });
});

describe('hold', () => {
  const NOW = 1_700_000_000_000;
  const HOUR_MS = 3_600_000;

  let redis: TestRedis;
  beforeAll(async () => {
    redis = await openTestRedis();
  });
  afterAll(() => redis.close());

  function arrange({ random = 0, ...change }: Partial<HoldInput> & { readonly random?: number } = {}) {
    const input: HoldInput = {
      accountId: uniqueAccountId(),
      endpointId: uniqueEndpointId(),
      eventId: uniqueEventId(),
      acceptedAt: NOW - 1_000,
      reason: 'busy',
      wakeUpAt: NOW + 100,
      isForAll: false,
      ...change,
    };
    const admission = buildAdmission({ redis: redis.client, clock: () => NOW });
    const asked: string[] = [];
    const releaser = {
      wakeUpAt: (_accountId: string, endpointId: string, at: number) => asked.push(`${endpointId} at ${at}`),
      awaitSlot: (_accountId: string, endpointId: string) => asked.push(`${endpointId} with a slot`),
    };
    return { ...admission, hold: createHold({ ...admission, random: () => random, releaser }), input, asked };
  }

  it('enters a delivery by the time of its acceptance, not of its waiting', async () => {
    const { hold, input, heldDeliveries } = arrange();
    const older = { ...input, eventId: uniqueEventId(), acceptedAt: input.acceptedAt - 1 };
    await hold(input);
    await hold(older);
    expect(await readHeld(heldDeliveries, input.endpointId)).toEqual([older.eventId, input.eventId]);
  });

  it('asks for a look, in Redis for everybody and here, where it is known at once', async () => {
    const { hold, input, heldDeliveries, asked } = arrange();
    await hold(input);
    expect(await heldDeliveries.wakeUpDueAt(input)).toBe(NOW + 100);
    expect(asked).toEqual([`${input.endpointId} at ${NOW + 100}`]);
  });

  it('waits for a slot as well if that is what it lacks', async () => {
    const { hold, input, asked } = arrange({ awaitsSlot: true });
    await hold(input);
    expect(asked).toContain(`${input.endpointId} with a slot`);
  });

  it.each([
    [0, HOUR_MS],
    [0.5, 1.5 * HOUR_MS],
    [0.999_999_999, 2 * HOUR_MS],
  ])(
    'has the job come back by itself after an hour or two, whatever is forgotten: %d',
    async (random, delayMs) => {
      const { hold, input } = arrange({ random });
      expect(await hold(input)).toBe(delayMs);
    },
  );

  it('is announced, with its reason', async () => {
    const { hold, input, signals } = arrange({ reason: 'breaker_open' });
    await hold(input);
    const { accountId, endpointId, eventId } = input;
    expect(signals.named('delivery.held')).toEqual([
      { name: 'delivery.held', accountId, endpointId, eventId, reason: 'breaker_open' },
    ]);
  });

  it('holds those along that would be refused next, and announces each', async () => {
    const { hold, input, signals, deliveryQueue, heldDeliveries } = arrange({ isForAll: true });
    const { accountId, endpointId, acceptedAt } = input;
    const eventId = uniqueEventId();
    await deliveryQueue.addAll([{ accountId, endpointId, eventId, acceptedAt: acceptedAt + 1 }]);
    await hold(input);
    expect(await readHeld(heldDeliveries, endpointId)).toEqual([input.eventId, eventId]);
    expect(signals.named('delivery.held').map((signal) => signal.eventId)).toEqual([input.eventId, eventId]);
  });

  it('announces nothing that Redis did not take, so that the job is not put off without an entry', async () => {
    const { input, signals, ...admission } = arrange();
    const heldDeliveries = { enter: () => Promise.reject(new Error('OOM')) };
    const hold = createHold({ ...admission, heldDeliveries, releaser: { wakeUpAt() {}, awaitSlot() {} } });
    await expect(hold(input)).rejects.toThrow('OOM');
    expect(signals.named('delivery.held')).toEqual([]);
  });
});
