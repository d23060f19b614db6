import type { EndpointAddress } from '../../domain/endpoint';
import type { AdmissionStore } from '../../endpoints/admission/redis-admission-store';
import type { BesideLanes } from '../../endpoints/admission/redis-beside-lanes';
import type { EndpointStore } from '../../endpoints/redis-endpoint-store';
import type { VerificationPolicy } from '../../endpoints/verification/verify';
import type { DeliveryStore } from '../../events/redis-delivery-store';
import type { EventStore } from '../../events/redis-event-store';
import type { DeliveryHolds } from '../../queue/bullmq-delivery-holds';
import type { DeliveryQueue } from '../../queue/bullmq-delivery-queue';
import type { HeldDeliveries } from '../../queue/bullmq-held-deliveries';
import type { OldestEvents } from '../../queue/bullmq-oldest-events';
import { buildAtomic } from '../../testing/build-atomic';
import { buildEndpoint } from '../../testing/build-endpoint';
import { fake } from '../../testing/fake';
import { recordSignals } from '../../testing/record-signals';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import type { Concurrency } from './concurrency';
import { Releaser, type ReleaserParts } from './releaser';

const NOW = 1_700_000_000_000;

beforeEach(() => jest.useFakeTimers({ now: NOW }));
afterEach(() => jest.useRealTimers());

interface Arrangement {
  /** Endpoints whose wake-up is due, as Redis has them. */
  readonly due?: EndpointAddress[];
  readonly freePermits?: number;
  readonly isSlow?: boolean;
  /** Until when its breaker is open. */
  readonly openUntil?: number;
  /** What a wake-up leaves held. */
  readonly release?: () => Promise<number>;
}

function arrange({
  due = [],
  freePermits = 8,
  isSlow = false,
  openUntil = 0,
  release = async () => 0,
}: Arrangement = {}) {
  const wakeUps: { readonly endpointId: string; readonly permits: number; readonly at: number }[] = [];
  const signals = recordSignals();
  const parts: ReleaserParts = {
    heldDeliveries: fake<HeldDeliveries>({
      claimDueWakeUps: async (_now, most) => due.splice(0, most),
      count: async () => 0,
      wakeUpDueAt: async () => undefined,
      async release({ endpointId }, { most }) {
        wakeUps.push({ endpointId, permits: most, at: Date.now() - NOW });
        return { left: await release(), released: 0, missing: [], hasMoreLines: false };
      },
    }),
    deliveryHolds: fake<DeliveryHolds>({}),
    endpointStore: fake<EndpointStore>({ find: async (accountId, id) => buildEndpoint({ accountId, id }) }),
    admissionStore: fake<AdmissionStore>({
      stand: async () => ({
        breaker: { failures: 0, openUntil },
        rate: { free: Number.POSITIVE_INFINITY, nextInMs: 0 },
      }),
      endRateWait: unexpected,
    }),
    besideLanes: fake<BesideLanes>({ leave: () => unexpected, look: unexpected }),
    verificationPolicy: fake<VerificationPolicy>({ isWaiting: async () => false }),
    oldestEvents: fake<OldestEvents>({ hasOlder: unexpected }),
    eventStore: fake<EventStore>({ isReceiver: unexpected }),
    deliveryStore: fake<DeliveryStore>({ readLogs: unexpected }),
    deliveryQueue: fake<DeliveryQueue>({ addAll: unexpected, requestOf: unexpected }),
    atomic: buildAtomic(unexpected),
    concurrency: fake<Concurrency>({ freePermits: () => freePermits, isSlow: () => isSlow }),
    clock: () => Date.now(),
    emit: signals.listen,
  };
  return {
    releaser: new Releaser(parts),
    parts,
    wakeUps,
    signals,
    address: address(),
    pass: (ms: number) => jest.advanceTimersByTimeAsync(ms),
  };
}

function unexpected(): never {
  throw new Error('The test does not expect this.');
}

function address(): EndpointAddress {
  return { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
}

describe('runOnce', () => {
  it('wakes up all endpoints whose wake-up is due, each with a permit or two', async () => {
    const due = Array.from({ length: 120 }, address);
    const endpointIds = due.map(({ endpointId }) => endpointId);
    const { releaser, wakeUps } = arrange({ due });
    await releaser.runOnce();
    expect(wakeUps.map(({ endpointId }) => endpointId)).toEqual(endpointIds);
    expect(new Set(wakeUps.map(({ permits }) => permits))).toEqual(new Set([2]));
  });

  it.each([
    ['one at a slow endpoint', { isSlow: true }, 1],
    ['none where there is no permit here', { freePermits: 0 }, 0],
    ['no more than there are permits', { freePermits: 1 }, 1],
  ])('lets go %s', async (_what, change, permits) => {
    const { releaser, wakeUps } = arrange({ due: [address()], ...change });
    await releaser.runOnce();
    expect(wakeUps).toMatchObject([{ permits }]);
  });
});

describe('started, it', () => {
  it('wakes up what is due every second, also at what dead processes have asked for', async () => {
    const due: EndpointAddress[] = [];
    const { releaser, wakeUps, pass } = arrange({ due });
    releaser.start();
    await pass(1_000);
    due.push(address());
    await pass(1_000);
    expect(wakeUps).toHaveLength(1);
    await releaser.stop();
  });

  it('goes on when a sweep fails, and says so', async () => {
    const { parts, signals, pass } = arrange();
    const claims = jest.fn().mockRejectedValueOnce(new Error('Redis is away.')).mockResolvedValue([]);
    const failing = new Releaser({
      ...parts,
      heldDeliveries: fake<HeldDeliveries>({ claimDueWakeUps: claims }),
    });
    failing.start();
    await pass(2_000);
    expect(claims).toHaveBeenCalledTimes(2);
    expect(signals.named('task.failed')).toHaveLength(1);
    await failing.stop();
  });

  it('wakes an endpoint up at the time for which it was asked, or at an earlier one', async () => {
    const {
      releaser,
      wakeUps,
      address: { accountId, endpointId },
      pass,
    } = arrange();
    releaser.start();
    releaser.wakeUpAt(accountId, endpointId, NOW + 500);
    releaser.wakeUpAt(accountId, endpointId, NOW + 700);
    releaser.wakeUpAt(accountId, endpointId, NOW + 300);
    await pass(900);
    expect(wakeUps).toEqual([{ endpointId, permits: 2, at: 300 }]);
    await releaser.stop();
  });

  it('gathers permits that come free within a moment into one wake-up', async () => {
    const {
      releaser,
      wakeUps,
      address: { accountId, endpointId },
      pass,
    } = arrange();
    releaser.start();
    for (const permits of [2, 1, 2, 0]) releaser.grant(accountId, endpointId, permits);
    await pass(50);
    expect(wakeUps).toEqual([{ endpointId, permits: 5, at: 25 }]);
    await releaser.stop();
  });

  it('wakes up again when a wake-up says so, and forgets the endpoint when nothing is held', async () => {
    const left = [1, 0];
    const {
      releaser,
      wakeUps,
      address: { accountId, endpointId },
      pass,
    } = arrange({ openUntil: NOW + 400, release: async () => left.shift() ?? 0 });
    releaser.start();
    releaser.wakeUpAt(accountId, endpointId, NOW + 100);
    await pass(200);
    expect(releaser.isWatching(endpointId)).toBe(true);
    await pass(600);
    expect(wakeUps.map(({ at }) => at)).toEqual([100, 400]);
    expect(releaser.isWatching(endpointId)).toBe(false);
    await releaser.stop();
  });

  it('wakes one endpoint up once at a time, and does not forget what was granted meanwhile', async () => {
    let end = (_left: number) => {};
    const {
      releaser,
      wakeUps,
      address: { accountId, endpointId },
      pass,
    } = arrange({
      release: () => new Promise((resolve) => (end = resolve)),
    });
    releaser.start();
    releaser.grant(accountId, endpointId, 1);
    await pass(25);
    releaser.grant(accountId, endpointId, 3);
    await pass(100);
    expect(wakeUps).toHaveLength(1);
    end(4);
    await pass(50);
    expect(wakeUps.map(({ permits }) => permits)).toEqual([1, 3]);
    end(0);
    await releaser.stop();
  });

  it('says so when a wake-up fails, and leaves it to the sweep, for which it is due still', async () => {
    const {
      releaser,
      signals,
      address: { accountId, endpointId },
      pass,
    } = arrange({ release: () => Promise.reject(new Error('no luck')) });
    releaser.start();
    releaser.wakeUpAt(accountId, endpointId, NOW);
    await pass(1);
    expect(signals.named('task.failed')).toMatchObject([{ task: 'release held deliveries' }]);
    await releaser.stop();
  });

  it('gives a free slot to waiting endpoints, in the order in which they asked', async () => {
    const { releaser, wakeUps, pass } = arrange();
    const waiting = [address(), address()];
    releaser.start();
    for (const { accountId, endpointId } of [...waiting, ...waiting])
      releaser.awaitSlot(accountId, endpointId);
    releaser.slotIsFree();
    await pass(30);
    expect(wakeUps).toMatchObject([{ endpointId: waiting[0]?.endpointId, permits: 1 }]);
    releaser.slotIsFree();
    releaser.slotIsFree();
    await pass(30);
    expect(wakeUps.map(({ endpointId }) => endpointId)).toEqual(waiting.map(({ endpointId }) => endpointId));
    await releaser.stop();
  });
});

describe('stopped, it', () => {
  it('wakes nothing up any more, and may be stopped again', async () => {
    const due = [address()];
    const {
      releaser,
      wakeUps,
      address: { accountId, endpointId },
      pass,
    } = arrange({ due });
    releaser.start();
    releaser.wakeUpAt(accountId, endpointId, NOW + 100);
    await releaser.stop();
    releaser.wakeUpAt(accountId, endpointId, NOW);
    releaser.grant(accountId, endpointId, 1);
    await pass(5_000);
    expect(wakeUps).toEqual([]);
    await releaser.stop();
  });

  // By the attempts that ended last. Other processes would find what they let go ten seconds later.
  it('has done what it was asked for by then', async () => {
    const { releaser, wakeUps, pass } = arrange();
    const [one, other] = [address(), address()];
    releaser.start();
    releaser.wakeUpAt(one.accountId, one.endpointId, NOW);
    releaser.grant(other.accountId, other.endpointId, 3);
    await releaser.stop();
    await pass(5_000);
    expect(wakeUps.toSorted((a, b) => a.permits - b.permits)).toEqual([
      { endpointId: one.endpointId, permits: 2, at: 0 },
      { endpointId: other.endpointId, permits: 3, at: 0 },
    ]);
  });

  it('has waited for the wake-up that was under way', async () => {
    let end = (_left: number) => {};
    const {
      releaser,
      address: { accountId, endpointId },
      pass,
    } = arrange({
      release: () => new Promise((resolve) => (end = resolve)),
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
    end(1);
    await stopping;
    expect(jest.getTimerCount()).toBe(0);
  });
});
