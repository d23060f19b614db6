import { createCancelDelivery } from '../deliveries/cancel-delivery';
import { deliveryIdOf } from '../deliveries/delivery-id';
import { createRedisDeliveryStore } from '../deliveries/redis-delivery-store';
import { createRedisParkedStore } from '../gates/redis-parked-store';
import { createRedisTurnStore } from '../gates/redis-turn-store';
import { accountOfJob } from '../queue/account-of-job';
import { createCancelReplay } from '../replays/cancel-replay';
import { createRedisReplayStore } from '../replays/redis-replay-store';
import { buildAcceptedAttempt } from '../testing/build-attempt';
import { buildReplayOrder } from '../testing/build-replay';
import { recordWakes } from '../testing/record-queues';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { type DeadLetter, type DeadLetterQueue, deadLetterIdOf } from './dead-letter';
import { createManageDeadLetters, type DeadLetterStore } from './manage-dead-letters';

const ACCEPTED_AT = 1_700_000_000_000;
const NOW = ACCEPTED_AT + 5_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/** Dead letters as they are found by their ids; a store that has forgotten them says so. */
function holdDeadLetters(deadLetters: readonly DeadLetter[]) {
  const held = new Map(deadLetters.map((deadLetter) => [deadLetter.id, deadLetter]));
  const take: DeadLetterStore['remove'] = async (id) => held.delete(id);
  const store: DeadLetterStore = {
    list: async () => ({ deadLetters: [...held.values()], nextCursor: undefined }),
    find: async (id) => held.get(id),
    claim: async (id) => (held.has(id) ? 'claimed' : 'gone'),
    putBack: take,
    remove: take,
  };
  return { store, held };
}

function buildDeadLetter(queue: DeadLetterQueue, jobId: string, data: unknown = {}): DeadLetter {
  return {
    id: deadLetterIdOf(queue, jobId),
    queue,
    jobId,
    name: 'd',
    accountId: accountOfJob(data),
    reason: 'No luck.',
    failedAt: NOW,
    attemptsMade: 1,
    dataText: JSON.stringify(data),
  };
}

function arrange(deadLetter: DeadLetter) {
  const { store, held } = holdDeadLetters([deadLetter]);
  const clock = () => NOW;
  const signals = recordSignals();
  const emit = signals.listen;
  const wakes = recordWakes();
  const deliveryStore = createRedisDeliveryStore(redis.client, testRetention);
  const turnStore = createRedisTurnStore(redis.client);
  const replayStore = createRedisReplayStore(redis.client, 60_000);
  const manage = createManageDeadLetters({
    deadLetterStore: store,
    cancelDelivery: createCancelDelivery({ deliveryStore, turnStore, wakeQueue: wakes.queue, clock, emit }),
    cancelReplay: createCancelReplay({ replayStore, clock, emit }),
    emit,
  });
  return { ...manage, store, held, signals, wakes, deliveryStore, turnStore, replayStore, deadLetter };
}

/** The dead letter of a delivery whose turn it is, and the delivery. */
async function arrangeDelivery(queue: 'deliveries' | 'deliveries-slow' = 'deliveries', data?: unknown) {
  const [accountId, endpointId, eventId] = [uniqueAccountId(), uniqueEndpointId(), uniqueEventId()];
  const delivery = { eventId, endpointId };
  const jobData = data ?? { account_id: accountId };
  const all = arrange(buildDeadLetter(queue, deliveryIdOf(delivery), jobData));
  const parkedStore = createRedisParkedStore(redis.client, { retentionMs: 60_000, clock: () => ACCEPTED_AT });
  const parked = { eventId, side: 'first' } as const;
  await parkedStore.park(endpointId, parked, ACCEPTED_AT);
  await all.turnStore.give(endpointId, parked);
  await parkedStore.forget(endpointId, await parkedStore.claimOne(endpointId, parked));
  await all.deliveryStore.enlist(eventId, [endpointId], ACCEPTED_AT);
  return { ...all, accountId, endpointId, eventId, delivery };
}

describe('drop', () => {
  it.each(['deliveries', 'deliveries-slow'] as const)(
    'cancels the delivery, passes its turn on and has its gate looked at: %s',
    async (queue) => {
      const { drop, held, deadLetter, deliveryStore, turnStore, wakes, signals, ...ids } =
        await arrangeDelivery(queue);
      const { accountId, endpointId, delivery } = ids;
      await drop(deadLetter.id);
      expect((await deliveryStore.find(delivery))?.status).toBe('cancelled');
      expect(await turnStore.findNext(endpointId)).toEqual({ kind: 'nobody' });
      expect(wakes.asked).toEqual([{ accountId, endpointId, at: NOW }]);
      expect(held.size).toBe(0);
      expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled', lagMs: 5_000 }]);
      expect(signals.named('dead_letter.dropped')).toMatchObject([{ queue, jobId: deadLetter.jobId }]);
    },
  );

  it('leaves a delivery as it is that has ended', async () => {
    const { drop, deadLetter, deliveryStore, signals, delivery } = await arrangeDelivery();
    const attempt = buildAcceptedAttempt();
    await deliveryStore.append(delivery, { kind: 'attempted', attempt, nextAttemptAt: undefined });
    await drop(deadLetter.id);
    expect((await deliveryStore.find(delivery))?.status).toBe('delivered');
    expect(signals.named('delivery.ended')).toEqual([]);
  });

  it('cancels the delivery also when its job can not be read', async () => {
    const { drop, deadLetter, deliveryStore, turnStore, wakes, delivery } = await arrangeDelivery(
      'deliveries',
      'nonsense',
    );
    await drop(deadLetter.id);
    expect((await deliveryStore.find(delivery))?.status).toBe('cancelled');
    expect(await turnStore.findNext(delivery.endpointId)).toEqual({ kind: 'nobody' });
    expect(wakes.asked).toEqual([]);
  });

  it('puts nothing on record of a delivery that nobody has made', async () => {
    const delivery = { eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
    const data = { account_id: 'acme' };
    const { drop, deadLetter, wakes, signals } = arrange(
      buildDeadLetter('deliveries', deliveryIdOf(delivery), data),
    );
    await drop(deadLetter.id);
    expect(await redis.client.keys(`*${delivery.endpointId}*`)).toEqual([]);
    expect(wakes.asked).toEqual([]);
    expect(signals.named('delivery.ended')).toEqual([]);
  });

  it('cancels a replay', async () => {
    const order = buildReplayOrder();
    const { drop, deadLetter, replayStore, signals } = arrange(buildDeadLetter('replays', order.id));
    await replayStore.create(order);
    await drop(deadLetter.id);
    expect(await replayStore.find(order.id)).toMatchObject({ status: 'cancelled', finishedAt: NOW });
    expect(signals.named('replay.ended')).toMatchObject([{ status: 'cancelled' }]);
  });

  it.each(['events', 'deliveries', 'gates', 'replays'] as const)(
    'takes what is no job of ours from the queue %s too',
    async (queue) => {
      const { drop, deadLetter, held } = arrange(buildDeadLetter(queue, 'nonsense', 'nonsense'));
      await drop(deadLetter.id);
      expect(held.size).toBe(0);
    },
  );
});

describe('redrive', () => {
  it('puts it back, and leaves its delivery as it is', async () => {
    const { redrive, deadLetter, held, deliveryStore, turnStore, signals, delivery } =
      await arrangeDelivery();
    await redrive(deadLetter.id);
    expect(held.size).toBe(0);
    expect((await deliveryStore.find(delivery))?.status).toBe('pending');
    expect(await turnStore.isTurnOf(delivery.endpointId, delivery.eventId)).toBe(true);
    expect(signals.named('dead_letter.redriven')).toMatchObject([{ queue: 'deliveries' }]);
  });
});

it.each(['redrive', 'drop'] as const)(
  '%s does nothing to one that somebody is at who wants the other',
  async (name) => {
    const { deadLetter, held, store, deliveryStore, delivery, signals, ...manage } = await arrangeDelivery();
    store.claim = async () => 'taken';
    await expect(manage[name](deadLetter.id)).rejects.toMatchObject({ code: 'conflict' });
    expect(held.size).toBe(1);
    expect((await deliveryStore.find(delivery))?.status).toBe('pending');
    expect(signals.named('delivery.ended')).toEqual([]);
  },
);

it.each(['read', 'redrive', 'drop'] as const)('%s knows none that is not there', async (name) => {
  const { held, deadLetter, ...manage } = arrange(buildDeadLetter('gates', 'one'));
  held.clear();
  await expect(manage[name](deadLetter.id)).rejects.toMatchObject({ code: 'not_found' });
});
