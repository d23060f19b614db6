import { uniqueEndpointId } from '../../testing/unique-ids';
import { Concurrency, type NoPermit, type Permit, SLOW_MS } from './concurrency';
import { Slots } from './slots';
import { Waiters } from './waiters';

describe('concurrency', () => {
  const DELIVERED = { outcome: 'delivered', durationMs: 20 } as const;
  const FAILED = { outcome: 'http_5xx', durationMs: 20 } as const;
  const HANGING = { outcome: 'response_timeout', durationMs: 15_000 } as const;

  const HERE = uniqueEndpointId();
  const THERE = uniqueEndpointId();

  interface Arrangement {
    /** How many an endpoint may have whatever others want. */
    readonly share?: number;
    /** How many while nobody else wants any. */
    readonly maxPerEndpoint?: number;
    readonly maxUnknown?: number;
    readonly slow?: number;
    readonly patienceMs?: number;
  }

  /**
   * No patience, unless it is given: one that finds no permit is told so within this turn of the event loop
   * or the next.
   */
  function arrange({
    share = 16,
    maxPerEndpoint = share,
    maxUnknown = 16,
    slow = 16,
    patienceMs = 0,
  }: Arrangement = {}) {
    let freed = 0;
    let now = 0;
    let turnMs = 0;
    const slots = new Slots({
      quick: 32,
      slow,
      onCapacity: () => {},
      clock: () => now,
      measureTurn: (onMeasured) => onMeasured(turnMs),
    });
    const onSlotFree = () => {
      freed += 1;
    };
    const concurrency = new Concurrency({
      slots,
      onSlotFree,
      sharePerEndpoint: share,
      maxPerEndpoint,
      maxUnknown,
      patienceMs,
    });
    const taken: Permit[] = [];

    async function enter(endpointId = HERE, isFailing = false): Promise<Permit | NoPermit> {
      const permit = await concurrency.takePermit({ id: endpointId }, isFailing, false);
      if (typeof permit === 'object') taken.push(permit);
      return permit;
    }

    return {
      concurrency,
      slots,
      enter,
      countFreed: () => freed,
      /** The process is so late that a quarter of all, eight, is what it takes at once. */
      async beLate(): Promise<void> {
        turnMs = 100;
        while (slots.pace > 1 / 4) {
          now += 1_000;
          await jest.advanceTimersByTimeAsync(50);
        }
      },
      async enterTimes(times: number, isFailing = false): Promise<boolean[]> {
        const permits = await Promise.all(Array.from({ length: times }, () => enter(HERE, isFailing)));
        return permits.map((permit) => typeof permit === 'object');
      },
      /** The oldest that entered. */
      leave(attempt?: Parameters<Concurrency['releasePermit']>[1]): void {
        const permit = taken.shift();
        if (!permit) throw new Error('Nobody has entered.');
        concurrency.releasePermit(permit, attempt);
      },
      /** As if an attempt had ended like that. */
      async learn(attempt: Parameters<Concurrency['releasePermit']>[1], endpointId = HERE): Promise<void> {
        const permit = await concurrency.takePermit({ id: endpointId }, false, false);
        if (typeof permit !== 'object') throw new Error(`There is no permit: ${permit}.`);
        concurrency.releasePermit(permit, attempt);
      },
    };
  }

  // Slots look at what is under way now and then, for as long as there is any.
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'], advanceTimers: true }));
  afterEach(() => jest.useRealTimers());

  describe('the permits of an endpoint', () => {
    it('are two for an unknown endpoint, and a single one for one that is failing', async () => {
      expect(await arrange().enterTimes(4)).toEqual([true, true, false, false]);
      expect(await arrange().enterTimes(3, true)).toEqual([true, false, false]);
    });

    it('are fewer while the process is late, however many it has grown to', async () => {
      const { enterTimes, leave, beLate, concurrency } = arrange({ slow: 0 });
      for (let i = 0; i < 4; i += 1) {
        await enterTimes(1);
        leave(DELIVERED);
      }
      expect((await enterTimes(8)).every(Boolean)).toBe(true);
      await beLate();
      for (let i = 0; i < 8; i += 1) leave(DELIVERED);
      expect(concurrency.freePermits(HERE)).toBe(4);
      expect(await enterTimes(6)).toEqual([true, true, true, true, false, false]);
    });

    it('are as many as ever for one that takes its time: that keeps no processor busy', async () => {
      const { enterTimes, leave, beLate } = arrange({ slow: 0 });
      for (let i = 0; i < 3; i += 1) {
        await enterTimes(1);
        leave({ outcome: 'delivered', durationMs: 1_000 });
      }
      await enterTimes(1);
      await beLate();
      expect((await enterTimes(7)).every(Boolean)).toBe(true);
    });

    it('are its own', async () => {
      const { enterTimes, enter } = arrange();
      await enterTimes(2);
      expect(await enter()).toBe('endpoint_full');
      expect(await enter(THERE)).toMatchObject({ endpointId: THERE });
    });

    it('double with each success, up to the most that there are', async () => {
      const { concurrency, enter, enterTimes, leave } = arrange({ share: 6 });
      await enterTimes(2);
      leave(DELIVERED);
      expect(concurrency.freePermits(HERE)).toBe(3);
      await enter();
      leave(DELIVERED);
      expect(concurrency.freePermits(HERE)).toBe(5);
    });

    it('are half as many after each failure, and one at least', async () => {
      const { concurrency, enter, enterTimes, leave } = arrange();
      await enterTimes(2);
      leave(FAILED);
      expect(concurrency.freePermits(HERE)).toBe(0);
      leave(FAILED);
      await enter(HERE, true);
      expect(await enter(HERE, true)).toBe('endpoint_full');
    });

    it('stay as many as they are when one was not used', async () => {
      const { concurrency, enterTimes, leave } = arrange();
      await enterTimes(2);
      leave();
      expect(concurrency.freePermits(HERE)).toBe(1);
    });

    it('are as many when it was idle as it has shown to bear, up to eight', async () => {
      const { concurrency, enter, leave } = arrange();
      for (const permits of [4, 8, 8]) {
        await enter();
        leave(DELIVERED);
        expect(concurrency.freePermits(HERE)).toBe(permits);
      }
    });

    it('are two again when it was idle and its last attempt has failed', async () => {
      const { concurrency, enter, enterTimes, leave } = arrange();
      await enterTimes(2);
      leave(DELIVERED);
      await enter();
      leave(FAILED);
      leave(FAILED);
      expect(concurrency.freePermits(HERE)).toBe(2);
    });

    it('are not free that somebody waits for', async () => {
      const { concurrency, enterTimes, enter, leave } = arrange({ patienceMs: DELIVERED.durationMs });
      await enterTimes(2);
      const waiting = [enter(), enter()];
      leave(DELIVERED);
      leave(DELIVERED);
      await Promise.all(waiting);
      // Six, and half of those that may wait.
      expect(concurrency.freePermits(HERE)).toBe(6 + 4);
      const more = Array.from({ length: 6 + 4 }, () => enter());
      expect(concurrency.freePermits(HERE)).toBe(0);
      for (let i = 0; i < 12; i += 1) {
        await Promise.resolve();
        leave(DELIVERED);
      }
      await Promise.all(more);
    });

    it('go to waiting deliveries as others leave, in the order in which they came', async () => {
      const { enter, enterTimes, leave } = arrange({ patienceMs: 60_000 });
      await enterTimes(2);
      const order: number[] = [];
      const waiting = [1, 2, 3].map(async (number) => {
        await enter();
        order.push(number);
      });
      leave(DELIVERED);
      leave(DELIVERED);
      await Promise.all(waiting);
      expect(order).toEqual([1, 2, 3]);
    });

    it('are not taken by one that ran out of patience', async () => {
      const { enterTimes, leave } = arrange();
      await enterTimes(5);
      leave();
      leave();
      expect(await enterTimes(3)).toEqual([true, true, false]);
    });

    it('are not waited for where the last attempt took longer than anyone waits', async () => {
      const { enter, learn, enterTimes } = arrange({ patienceMs: 100 });
      await learn(HANGING);
      await enterTimes(2);
      jest.useFakeTimers({ doNotFake: ['nextTick'] });
      // With patience, this would not end before the clock is moved.
      expect(await enter()).toBe('endpoint_full');
    });
  });

  describe('an endpoint', () => {
    it.each([
      ['answers quickly', DELIVERED],
      ['takes as long as is still quick', { outcome: 'delivered', durationMs: SLOW_MS }],
      ['refuses at once', { outcome: 'connect_refused', durationMs: 1 }],
      ['fails at once', FAILED],
    ] as const)(
      'that %s begins among the quick, also beside any number of unknown endpoints',
      async (_what, attempt) => {
        const { concurrency, learn, enter } = arrange({ maxUnknown: 1, slow: 0 });
        await learn(attempt);
        await enter(THERE);
        expect(await enter(HERE, true)).toMatchObject({ isUnknown: false, slot: { isSlow: false } });
        expect(concurrency.isSlow(HERE)).toBe(false);
      },
    );

    it.each([
      ['answers late', { outcome: 'delivered', durationMs: SLOW_MS + 1 }],
      ['fails late', { outcome: 'dns_error', durationMs: SLOW_MS + 1 }],
      ['never answers, however short its time-out', { outcome: 'response_timeout', durationMs: 300 }],
      ['can not be reached', { outcome: 'connect_timeout', durationMs: 300 }],
    ] as const)('that %s begins among the slow, if there is room', async (_what, attempt) => {
      const { concurrency, learn, enter } = arrange({ slow: 1 });
      await learn(attempt);
      expect(concurrency.isSlow(HERE)).toBe(true);
      expect(await enter()).toMatchObject({ slot: { isSlow: true } });
      expect(concurrency.freePermits(HERE)).toBe(0);
      expect(await enter()).toBe('no_slot');
    });

    it('is what its last attempt was', async () => {
      const { concurrency, learn } = arrange();
      await learn(HANGING);
      await learn(DELIVERED);
      expect(concurrency.isSlow(HERE)).toBe(false);
      await learn(HANGING);
      expect(concurrency.isSlow(HERE)).toBe(true);
    });

    it('that failed at another worker is taken for slow until this one knows better', async () => {
      const { learn, enter } = arrange();
      expect(await enter(HERE, true)).toMatchObject({ slot: { isSlow: true } });
      await learn(DELIVERED, THERE);
      expect(await enter(THERE, true)).toMatchObject({ slot: { isSlow: false } });
    });

    it('that finds no slot leaves its permit to another one', async () => {
      const { concurrency, enter, leave } = arrange({ slow: 0, maxUnknown: 1 });
      await enter(THERE);
      expect(await enter(HERE)).toBe('no_slot');
      leave(DELIVERED);
      expect(concurrency.freePermits(HERE)).toBe(2);
    });
  });

  describe('unknown endpoints', () => {
    it('begin among the quick up to their share, beyond it among the slow, and again as others leave', async () => {
      const { enter, leave } = arrange({ maxUnknown: 2 });
      await enter(uniqueEndpointId());
      await enter(HERE);
      const beyond = await enter(uniqueEndpointId());
      expect(beyond).toMatchObject({ isUnknown: true, isOfUnknown: false, slot: { isSlow: true } });
      leave();
      const next = await enter(uniqueEndpointId());
      expect(next).toMatchObject({ isUnknown: true, isOfUnknown: true, slot: { isSlow: false } });
    });

    it('keep their share until they leave, also when the endpoint becomes known meanwhile', async () => {
      const { concurrency, enter } = arrange({ maxUnknown: 1, slow: 0 });
      const unknownEndpoint = await enter(HERE);
      expect(await enter(THERE)).toBe('no_slot');
      if (typeof unknownEndpoint === 'object') concurrency.releasePermit(unknownEndpoint, DELIVERED);
      await enter(HERE);
      expect(await enter(THERE)).toMatchObject({ isOfUnknown: true });
    });

    it('that leave, and slow ones, make room that is told of; quick ones do not', async () => {
      const { enter, learn, leave, countFreed } = arrange();
      await learn(DELIVERED);
      const before = countFreed();
      await enter(HERE);
      leave(DELIVERED);
      expect(countFreed()).toBe(before);
      await enter(THERE);
      leave(HANGING);
      await enter(THERE);
      leave(DELIVERED);
      expect(countFreed()).toBe(before + 2);
    });
  });

  describe('beyond its share', () => {
    const PATIENTLY = { outcome: 'delivered', durationMs: 100 } as const;

    /** Has grown to its share of four, and has four under way. */
    async function arrangeFull(change: Arrangement = {}) {
      const arranged = arrange({ share: 4, maxPerEndpoint: 32, ...change });
      // It is known to take its time only after some answers, and has grown to its share by the second one.
      for (let i = 0; i < 4; i += 1) {
        await arranged.enterTimes(1);
        arranged.leave(PATIENTLY);
      }
      await arranged.enterTimes(4);
      return arranged;
    }

    /** A full one ends as given, and others follow until none is left. */
    async function replace(
      { leave, enterTimes }: Awaited<ReturnType<typeof arrangeFull>>,
      attempt: Parameters<Concurrency['releasePermit']>[1],
    ): Promise<number> {
      leave(attempt);
      return (await enterTimes(4)).filter(Boolean).length;
    }

    it('an endpoint takes what is idle, one more with each success', async () => {
      const arranged = await arrangeFull();
      expect(await replace(arranged, PATIENTLY)).toBe(2);
      expect(await replace(arranged, PATIENTLY)).toBe(2);
      expect(arranged.concurrency.limits()).toEqual([{ limit: 6, underWay: 6 }]);
    });

    it('an endpoint takes nothing while others need the slots, and never the last sixteenth of them', async () => {
      const arranged = await arrangeFull();
      const others = Array.from({ length: 26 }, () => arranged.slots.take('quick'));
      expect(await replace(arranged, PATIENTLY)).toBe(1);
      for (const slot of others) arranged.slots.leave(slot);
      for (let i = 0; i < 100; i += 1) await replace(arranged, PATIENTLY);
      expect(arranged.slots.inUse.quick).toBe(30);
    });

    it('an endpoint takes no more of them when its deliveries wait for a permit', async () => {
      const arranged = await arrangeFull({ patienceMs: 1_000 });
      let most = 0;
      for (let i = 0; i < 100; i += 1) {
        for (let waiting = 0; waiting < 4; waiting += 1) void arranged.enter();
        await jest.advanceTimersByTimeAsync(1);
        arranged.leave(PATIENTLY);
        await jest.advanceTimersByTimeAsync(1);
        most = Math.max(most, arranged.slots.inUse.quick);
      }
      expect(most).toBe(30);
    });

    it('an endpoint gets nothing by answers that were slow while the process was late', async () => {
      const { concurrency, enter, enterTimes, leave, beLate } = arrange({
        share: 8,
        maxPerEndpoint: 32,
        slow: 0,
      });
      await enter();
      await beLate();
      for (let i = 0; i < 8; i += 1) {
        leave(PATIENTLY);
        await enter();
      }
      leave(PATIENTLY);
      // A quarter of its share, and it is the process that is late.
      expect((await enterTimes(8)).filter(Boolean)).toHaveLength(2);
      expect(concurrency.limits()).toEqual([{ limit: 8, underWay: 2 }]);
    });

    it('an endpoint that answers quickly gets nothing: more attempts would only wait for the processor', async () => {
      const { enterTimes, leave } = arrange({ share: 4, maxPerEndpoint: 32 });
      for (let i = 0; i < 8; i += 1) {
        await enterTimes(1);
        leave(DELIVERED);
      }
      expect((await enterTimes(8)).filter(Boolean)).toHaveLength(4);
    });

    it('an endpoint has no more than it has set for itself', async () => {
      const { concurrency } = arrange({ share: 4, maxPerEndpoint: 32 });
      const enter = () => concurrency.takePermit({ id: HERE, maxConcurrency: 3 }, false, false);
      for (let i = 0; i < 4; i += 1) {
        const permit = await enter();
        if (typeof permit === 'object') concurrency.releasePermit(permit, PATIENTLY);
      }
      const permits = await Promise.all(Array.from({ length: 5 }, enter));
      expect(permits.filter((permit) => typeof permit === 'object')).toHaveLength(3);
      expect(concurrency.limits()).toEqual([{ limit: 3, underWay: 3 }]);
    });

    it('an endpoint goes back towards its share when answers become slower by it, and at once when one fails', async () => {
      const arranged = await arrangeFull();
      for (let i = 0; i < 12; i += 1) await replace(arranged, PATIENTLY);
      expect(arranged.concurrency.limitOf(HERE)).toBe(16);
      for (let i = 0; i < 8; i += 1) arranged.leave({ outcome: 'delivered', durationMs: 400 });
      expect(arranged.concurrency.limitOf(HERE)).toBeLessThanOrEqual(10);
      const before = arranged.concurrency.limitOf(HERE) ?? 0;
      arranged.leave(FAILED);
      expect(arranged.concurrency.limitOf(HERE)).toBe(Math.floor(before / 2));
    });
  });

  describe('the wait for a permit', () => {
    it('has as many as are done with while anybody waits', async () => {
      const { enter, enterTimes, concurrency } = arrange({ patienceMs: 100 });
      for (let i = 0; i < 2; i += 1) {
        const permit = await enter();
        if (typeof permit === 'object')
          concurrency.releasePermit(permit, { outcome: 'delivered', durationMs: 50 });
      }
      await enterTimes(8);
      const waiting = Array.from({ length: 16 }, () => enter());
      // Eight at a time, in fifty milliseconds each.
      expect(await enter()).toBe('endpoint_full');
      await jest.advanceTimersByTimeAsync(200);
      await Promise.all(waiting);
    });
  });

  describe('the limit of an endpoint', () => {
    it('is told as it is now, and as it will be to begin with while nothing is under way', async () => {
      const { concurrency, enterTimes, leave } = arrange();
      expect(concurrency.limitOf(HERE)).toBeUndefined();
      await enterTimes(2);
      expect(concurrency.limitOf(HERE)).toBe(2);
      expect(concurrency.limits()).toEqual([{ limit: 2, underWay: 2 }]);
      leave(DELIVERED);
      expect(concurrency.limits()).toEqual([{ limit: 4, underWay: 1 }]);
      leave(FAILED);
      expect(concurrency.limits()).toEqual([]);
      expect(concurrency.limitOf(HERE)).toBe(2);
    });
  });
});

describe('waiters', () => {
  const PATIENCE_MS = 250;

  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** Waiters, and what each was told: `1:permit`, in the order in which they got to know. */
  function arrange() {
    const waiters = new Waiters(PATIENCE_MS);
    const told: string[] = [];
    return {
      waiters,
      told,
      join(name: string, wasHeld = false): void {
        void waiters.join(wasHeld).then((hasPermit) => told.push(`${name}:${hasPermit ? 'permit' : 'none'}`));
      },
      pass: async (ms: number) => await jest.advanceTimersByTimeAsync(ms),
    };
  }

  it('gives permits in the order in which they came, to held ones before new ones', async () => {
    const { waiters, join, told, pass } = arrange();
    join('new');
    join('newer');
    join('held', true);
    join('held later', true);
    for (let i = 0; i < 4; i += 1) expect(waiters.move()).toBe(true);
    await pass(0);
    expect(told).toEqual(['held:permit', 'held later:permit', 'new:permit', 'newer:permit']);
    expect(waiters.move()).toBe(false);
  });

  it('keeps them for as long as permits come free, however long that takes', async () => {
    const { waiters, join, told, pass } = arrange();
    for (let i = 0; i < 20; i += 1) join(String(i));
    for (let i = 0; i < 20; i += 1) {
      await pass(PATIENCE_MS - 1);
      expect(told).toHaveLength(i);
      waiters.move();
    }
    await pass(0);
    expect(told.every((each) => each.endsWith(':permit'))).toBe(true);
  });

  it('sends them away when none has come free for a while', async () => {
    const { waiters, join, told, pass } = arrange();
    join('one');
    join('two');
    await pass(PATIENCE_MS - 1);
    expect(told).toEqual([]);
    await pass(2);
    expect(told).toEqual(['one:none', 'two:none']);
    expect(waiters.length).toBe(0);
  });

  it('lets nobody wait then who comes for the first time, until a permit has come free', async () => {
    const { waiters, join, told, pass } = arrange();
    join('one');
    await pass(PATIENCE_MS + 1);
    join('two');
    await pass(0);
    expect(told).toEqual(['one:none', 'two:none']);
    expect(waiters.move()).toBe(false);
    join('three');
    await pass(0);
    expect(waiters.length).toBe(1);
  });

  it('has more patience with held ones', async () => {
    const { join, told, pass } = arrange();
    join('new');
    join('held', true);
    await pass(PATIENCE_MS + 1);
    expect(told).toEqual(['new:none']);
    await pass(3 * PATIENCE_MS + 3);
    expect(told).toEqual(['new:none', 'held:none']);
  });

  it('counts what came while the process stood still', async () => {
    const { waiters, join, told, pass } = arrange();
    join('one');
    join('two');
    // The timer goes off first after a stand-still, and what has come meanwhile is heard of after it.
    setTimeout(() => waiters.move(), PATIENCE_MS);
    await pass(PATIENCE_MS + 1);
    expect(told).toEqual(['one:permit']);
    expect(waiters.length).toBe(1);
  });
});
