import type { EndpointAddress } from '../../domain/endpoint';
import { recordSignals } from '../../testing/record-signals';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import { type Looked, Releaser } from './releaser';

const NOW = 1_700_000_000_000;

beforeEach(() => jest.useFakeTimers({ now: NOW }));
afterEach(() => jest.useRealTimers());

interface Arrangement {
  /** Endpoints whose look is due, as Redis has them. */
  readonly due?: EndpointAddress[];
  readonly freePlaces?: number;
  readonly isSlow?: boolean;
  readonly look?: () => Promise<Looked>;
}

function arrange({
  due = [],
  freePlaces = 8,
  isSlow = false,
  look = async () => ({ left: 0, wakeUpAgainAt: NOW + 3_600_000 }),
}: Arrangement = {}) {
  const looks: { readonly endpointId: string; readonly places: number; readonly at: number }[] = [];
  const signals = recordSignals();
  const releaser = new Releaser({
    heldDeliveries: {
      claimDueWakeUps: async (_now, most) => due.splice(0, most),
    },
    wakeUpEndpoint: async ({ endpointId }, places) => {
      looks.push({ endpointId, places, at: Date.now() - NOW });
      return await look();
    },
    concurrency: { freePlaces: () => freePlaces, isSlow: () => isSlow },
    clock: () => Date.now(),
    emit: signals.listen,
  });
  return {
    releaser,
    looks,
    signals,
    address: address(),
    pass: (ms: number) => jest.advanceTimersByTimeAsync(ms),
  };
}

function address(): EndpointAddress {
  return { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
}

describe('runOnce', () => {
  it('looks at all endpoints whose look is due, each with a place or two', async () => {
    const due = Array.from({ length: 120 }, address);
    const endpointIds = due.map(({ endpointId }) => endpointId);
    const { releaser, looks } = arrange({ due });
    await releaser.runOnce();
    expect(looks.map(({ endpointId }) => endpointId)).toEqual(endpointIds);
    expect(new Set(looks.map(({ places }) => places))).toEqual(new Set([2]));
  });

  it.each([
    ['one at a slow endpoint', { isSlow: true }, 1],
    ['none where there is no place here', { freePlaces: 0 }, 0],
    ['no more than there are places', { freePlaces: 1 }, 1],
  ])('lets go %s', async (_what, change, places) => {
    const { releaser, looks } = arrange({ due: [address()], ...change });
    await releaser.runOnce();
    expect(looks).toMatchObject([{ places }]);
  });
});

describe('started, it', () => {
  it('looks at what is due every second, also at what dead processes have asked for', async () => {
    const due: EndpointAddress[] = [];
    const { releaser, looks, pass } = arrange({ due });
    releaser.start();
    await pass(1_000);
    due.push(address());
    await pass(1_000);
    expect(looks).toHaveLength(1);
    await releaser.stop();
  });

  it('goes on when a sweep fails, and says so', async () => {
    const { releaser, signals, pass } = arrange();
    const claims = jest.fn().mockRejectedValueOnce(new Error('Redis is away.')).mockResolvedValue([]);
    const failing = new Releaser({
      ...releaser['options'],
      heldDeliveries: { claimDueWakeUps: claims, askForWakeUp: async () => {} },
    });
    failing.start();
    await pass(2_000);
    expect(claims).toHaveBeenCalledTimes(2);
    expect(signals.named('task.failed')).toHaveLength(1);
    await failing.stop();
  });

  it('looks at an endpoint at the time for which it was asked, or at an earlier one', async () => {
    const {
      releaser,
      looks,
      address: { accountId, endpointId },
      pass,
    } = arrange();
    releaser.start();
    releaser.wakeUpAt(accountId, endpointId, NOW + 500);
    releaser.wakeUpAt(accountId, endpointId, NOW + 700);
    releaser.wakeUpAt(accountId, endpointId, NOW + 300);
    await pass(900);
    expect(looks).toEqual([{ endpointId, places: 2, at: 300 }]);
    await releaser.stop();
  });

  it('gathers places that come free within a moment into one look', async () => {
    const {
      releaser,
      looks,
      address: { accountId, endpointId },
      pass,
    } = arrange();
    releaser.start();
    for (const places of [2, 1, 2, 0]) releaser.grant(accountId, endpointId, places);
    await pass(50);
    expect(looks).toEqual([{ endpointId, places: 5, at: 25 }]);
    await releaser.stop();
  });

  it('looks again when a look says so, and forgets the endpoint when nothing is held', async () => {
    const results = [
      { left: 1, wakeUpAgainAt: NOW + 400 },
      { left: 0, wakeUpAgainAt: NOW + 3_600_000 },
    ];
    const {
      releaser,
      looks,
      address: { accountId, endpointId },
      pass,
    } = arrange({
      look: async () => results.shift() ?? { left: 0, wakeUpAgainAt: NOW + 3_600_000 },
    });
    releaser.start();
    releaser.wakeUpAt(accountId, endpointId, NOW + 100);
    await pass(200);
    expect(releaser.isWatching(endpointId)).toBe(true);
    await pass(600);
    expect(looks.map(({ at }) => at)).toEqual([100, 400]);
    expect(releaser.isWatching(endpointId)).toBe(false);
    await releaser.stop();
  });

  it('looks at one endpoint once at a time, and does not forget what was granted meanwhile', async () => {
    let end = (_looked: Looked) => {};
    const {
      releaser,
      looks,
      address: { accountId, endpointId },
      pass,
    } = arrange({
      look: () => new Promise((resolve) => (end = resolve)),
    });
    releaser.start();
    releaser.grant(accountId, endpointId, 1);
    await pass(25);
    releaser.grant(accountId, endpointId, 3);
    await pass(100);
    expect(looks).toHaveLength(1);
    end({ left: 4, wakeUpAgainAt: NOW + 3_600_000 });
    await pass(50);
    expect(looks.map(({ places }) => places)).toEqual([1, 3]);
    end({ left: 0, wakeUpAgainAt: NOW + 3_600_000 });
    await releaser.stop();
  });

  it('says so when a look fails, and leaves it to the sweep, for which it is due still', async () => {
    const {
      releaser,
      signals,
      address: { accountId, endpointId },
      pass,
    } = arrange({ look: () => Promise.reject(new Error('no luck')) });
    releaser.start();
    releaser.wakeUpAt(accountId, endpointId, NOW);
    await pass(1);
    expect(signals.named('task.failed')).toMatchObject([{ task: 'look at endpoint' }]);
    await releaser.stop();
  });

  it('gives a slot that comes free to those that wait for one, in the order in which they asked', async () => {
    const { releaser, looks, pass } = arrange();
    const waiting = [address(), address()];
    releaser.start();
    for (const { accountId, endpointId } of [...waiting, ...waiting])
      releaser.awaitSlot(accountId, endpointId);
    releaser.slotIsFree();
    await pass(30);
    expect(looks).toMatchObject([{ endpointId: waiting[0]?.endpointId, places: 1 }]);
    releaser.slotIsFree();
    releaser.slotIsFree();
    await pass(30);
    expect(looks.map(({ endpointId }) => endpointId)).toEqual(waiting.map(({ endpointId }) => endpointId));
    await releaser.stop();
  });
});

describe('stopped, it', () => {
  it('looks at nothing any more, and may be stopped again', async () => {
    const due = [address()];
    const {
      releaser,
      looks,
      address: { accountId, endpointId },
      pass,
    } = arrange({ due });
    releaser.start();
    releaser.wakeUpAt(accountId, endpointId, NOW + 100);
    await releaser.stop();
    releaser.wakeUpAt(accountId, endpointId, NOW);
    releaser.grant(accountId, endpointId, 1);
    await pass(5_000);
    expect(looks).toEqual([]);
    await releaser.stop();
  });

  it('has waited for the look that was under way', async () => {
    let end = (_looked: Looked) => {};
    const {
      releaser,
      address: { accountId, endpointId },
      pass,
    } = arrange({
      look: () => new Promise((resolve) => (end = resolve)),
    });
    releaser.start();
    releaser.wakeUpAt(accountId, endpointId, NOW);
    await pass(1);
    let hasStopped = false;
    const stopping = (async () => {
      await releaser.stop();
      hasStopped = true;
    })();
    await pass(25);
    expect(hasStopped).toBe(false);
    end({ left: 1, wakeUpAgainAt: NOW + 1 });
    await stopping;
    expect(jest.getTimerCount()).toBe(0);
  });
});
