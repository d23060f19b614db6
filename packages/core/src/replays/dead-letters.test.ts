import { AuditLog } from '../accounts/audit/redis-audit-log';
import type { AccountId } from '../domain/account';
import {
  type DeadLetter,
  type DeadLetterId,
  type DeadLetterQueue,
  deadLetterIdOf,
  deadLetterIdSchema,
} from '../domain/dead-letter';
import { deliveryIdOf } from '../domain/delivery';
import { oneShard } from '../domain/queues';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EndedList } from '../events/redis-ended-list';
import { atomicAsOne } from '../platform/redis-atomic';
import type { DeadLetterStore } from '../queue/bullmq-dead-letter-store';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { accountOfJob } from '../queue/bullmq-rejected-events';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { buildReplayOrder } from '../testing/build-replay';
import { fake } from '../testing/fake';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { DeadLetters, presentDeadLetter, presentListedDeadLetter } from './dead-letters';
import { ReplayStore } from './redis-replay-store';
import { Replays, type ReplaysParts } from './replays';

describe('manage dead letters', () => {
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
    const take = async (id: DeadLetterId) => held.delete(id);
    const store = fake<DeadLetterStore>({
      find: async (id) => held.get(id),
      claim: async (id) => (held.has(id) ? 'claimed' : 'gone'),
      putBack: take,
      remove: take,
    });
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
    const deliveryStore = new DeliveryStore(redis.client, testRetention);
    const besideLanes = new BesideLanes(redis.client);
    const heldDeliveries = new HeldDeliveries(redis.client, oneShard('bull'));
    const replayStore = new ReplayStore(redis.client, 60_000);
    const replays = new Replays(fake<ReplaysParts>({ replayStore, clock, emit }));
    const stores = { deadLetterStore: store, deliveryStore, besideLanes, heldDeliveries, replays };
    const endedList = new EndedList(redis.client);
    const auditLog = new AuditLog(redis.client);
    const parts = { ...stores, auditLog, atomic: atomicAsOne(redis.client), endedList, clock, emit };
    const deadLetters = new DeadLetters(parts);
    return {
      read: (id: DeadLetterId) => deadLetters.read(id),
      retry: (id: DeadLetterId) => deadLetters.retry(id),
      drop: (id: DeadLetterId) => deadLetters.drop(id),
      store,
      held,
      signals,
      heldDeliveries,
      deliveryStore,
      besideLanes,
      replayStore,
      endedList,
      deadLetter,
    };
  }

  /** The dead letter of a delivery whose turn it is, and the delivery. */
  async function arrangeDelivery(data?: unknown) {
    const [accountId, endpointId, eventId] = [uniqueAccountId(), uniqueEndpointId(), uniqueEventId()];
    const delivery = { eventId, endpointId };
    const jobData = data ?? { account_id: accountId };
    const all = arrange(buildDeadLetter('deliveries', deliveryIdOf(delivery), jobData));
    await all.besideLanes.join(endpointId, [{ eventId, acceptedAt: ACCEPTED_AT }])(redis.client);
    await all.deliveryStore.enlistAll(buildNewDeliveries(eventId, [endpointId], ACCEPTED_AT))(redis.client);
    return {
      ...all,
      accountId,
      endpointId,
      eventId,
      delivery,
      nextInOrder: () => all.besideLanes.first(endpointId),
      wakeUpDueAt: () => all.heldDeliveries.wakeUpDueAt({ accountId, endpointId }),
    };
  }

  describe('drop', () => {
    it('cancels the delivery, passes its turn on and has its endpoint looked at', async () => {
      const { drop, held, deadLetter, deliveryStore, delivery, nextInOrder, wakeUpDueAt, signals } =
        await arrangeDelivery();
      await drop(deadLetter.id);
      expect((await deliveryStore.find(delivery))?.status).toBe('cancelled');
      expect(await nextInOrder()).toBeUndefined();
      expect(await wakeUpDueAt()).toBe(NOW);
      expect(held.size).toBe(0);
      expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled', lagMs: 5_000 }]);
      const dropped = { queue: 'deliveries', jobId: deadLetter.jobId };
      expect(signals.named('dead_letter.dropped')).toMatchObject([dropped]);
    });

    it('leaves a delivery as it is that has ended', async () => {
      const { drop, deadLetter, deliveryStore, signals, delivery } = await arrangeDelivery();
      const attempt = buildAcceptedAttempt();
      await deliveryStore.append(delivery, { kind: 'attempted', attempt, nextAttemptAt: undefined });
      await drop(deadLetter.id);
      expect((await deliveryStore.find(delivery))?.status).toBe('delivered');
      expect(signals.named('delivery.ended')).toEqual([]);
    });

    it('leaves a delivery as it is that a client has requested again meanwhile', async () => {
      const { drop, deadLetter, deliveryStore, signals, delivery } = await arrangeDelivery();
      const find = deliveryStore.find.bind(deliveryStore);
      jest.spyOn(deliveryStore, 'find').mockImplementationOnce(async (parts) => {
        const found = await find(parts);
        const attempt = buildAttempt();
        await deliveryStore.append(delivery, { kind: 'attempted', attempt, nextAttemptAt: undefined });
        const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW } as const;
        await deliveryStore.append(delivery, { kind: 'requested', ...request });
        return found;
      });
      await drop(deadLetter.id);
      expect(await find(delivery)).toMatchObject({ status: 'pending', round: { number: 2 } });
      expect(signals.named('delivery.ended')).toEqual([]);
    });

    it.each(['a delivery', 'one that has ended'])(
      'notes for the history that %s has ended',
      async (which) => {
        const { drop, deadLetter, deliveryStore, delivery, endedList, accountId } = await arrangeDelivery();
        const attempt = buildAcceptedAttempt();
        if (which !== 'a delivery') {
          await deliveryStore.append(delivery, { kind: 'attempted', attempt, nextAttemptAt: undefined });
        }
        await drop(deadLetter.id);
        const { entries } = await endedList.claim(Number.POSITIVE_INFINITY, 100, NOW + 30_000)(redis.client);
        expect(entries).toContainEqual({ ...delivery, accountId, endedAt: NOW });
      },
    );

    it('cancels the delivery also when its job can not be read', async () => {
      const { drop, deadLetter, deliveryStore, nextInOrder, wakeUpDueAt, delivery } =
        await arrangeDelivery('nonsense');
      await drop(deadLetter.id);
      expect((await deliveryStore.find(delivery))?.status).toBe('cancelled');
      expect(await nextInOrder()).toBeUndefined();
      expect(await wakeUpDueAt()).toBeUndefined();
    });

    it('records nothing of a delivery that nobody has made', async () => {
      const delivery = { eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
      const data = { account_id: 'acme' };
      const { drop, deadLetter, heldDeliveries, signals } = arrange(
        buildDeadLetter('deliveries', deliveryIdOf(delivery), data),
      );
      await drop(deadLetter.id);
      expect(await redis.client.keys(`*${delivery.endpointId}*`)).toEqual([]);
      const address = { accountId: 'acme' as AccountId, endpointId: delivery.endpointId };
      expect(await heldDeliveries.wakeUpDueAt(address)).toBeUndefined();
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

    it.each(['events', 'deliveries', 'replays', 'erasures'] as const)(
      'takes foreign jobs from the queue %s too',
      async (queue) => {
        const { drop, deadLetter, held } = arrange(buildDeadLetter(queue, 'nonsense', 'nonsense'));
        await drop(deadLetter.id);
        expect(held.size).toBe(0);
      },
    );
  });

  describe('retry', () => {
    it('puts it back, and leaves its delivery as it is', async () => {
      const { retry, deadLetter, held, deliveryStore, nextInOrder, signals, delivery } =
        await arrangeDelivery();
      await retry(deadLetter.id);
      expect(held.size).toBe(0);
      expect((await deliveryStore.find(delivery))?.status).toBe('pending');
      expect(await nextInOrder()).toMatchObject({ eventId: delivery.eventId });
      expect(signals.named('dead_letter.retried')).toMatchObject([{ queue: 'deliveries' }]);
    });
  });

  it.each(['retry', 'drop'] as const)(
    '%s does nothing to one that somebody is at who wants the other',
    async (name) => {
      const { deadLetter, held, store, deliveryStore, delivery, signals, ...manage } =
        await arrangeDelivery();
      store.claim = async () => 'taken';
      await expect(manage[name](deadLetter.id)).rejects.toMatchObject({ code: 'conflict' });
      expect(held.size).toBe(1);
      expect((await deliveryStore.find(delivery))?.status).toBe('pending');
      expect(signals.named('delivery.ended')).toEqual([]);
    },
  );

  it.each(['read', 'retry', 'drop'] as const)('%s knows none that is not there', async (name) => {
    const { held, deadLetter, ...manage } = arrange(buildDeadLetter('events', 'one'));
    held.clear();
    await expect(manage[name](deadLetter.id)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('present dead letter', () => {
  const buildDeadLetter = (change: Partial<DeadLetter> = {}): DeadLetter => ({
    id: deadLetterIdOf('events', '17'),
    queue: 'events',
    jobId: '17',
    name: 'keyword.lost',
    accountId: 'acme' as AccountId,
    reason: 'No luck.',
    failedAt: 1_700_000_000_000,
    attemptsMade: 2,
    dataText: '{"account_id":"acme"}',
    ...change,
  });

  describe('presentListedDeadLetter', () => {
    it('leaves the data out, but for the account', () => {
      expect(presentListedDeadLetter(buildDeadLetter())).toEqual({
        id: 'events.17',
        queue: 'events',
        name: 'keyword.lost',
        account_id: 'acme',
        reason: 'No luck.',
        failed_at: '2023-11-14T22:13:20.000Z',
        attempts_made: 2,
      });
    });

    it('names no account when the data has none', () => {
      expect(presentListedDeadLetter(buildDeadLetter({ accountId: undefined })).account_id).toBeNull();
    });
  });

  describe('presentDeadLetter', () => {
    const dataOf = (dataText: string) => JSON.parse(presentDeadLetter(buildDeadLetter({ dataText }))).data;

    it.each([['{"account_id":"acme"}'], ['null'], ['[1]'], ['"text"']])('gives data as it is: %s', (text) => {
      expect(dataOf(text)).toEqual(JSON.parse(text));
    });

    it('gives data that is no JSON as a text', () => {
      expect(dataOf('{"broken')).toBe('{"broken');
      expect(dataOf('')).toBe('');
    });

    it('gives data of any depth', () => {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
      expect(presentDeadLetter(buildDeadLetter({ dataText: deep }))).toContain(`"data":${deep}}`);
    });
  });

  describe('deadLetterIdSchema', () => {
    it.each(['events.17', 'deliveries.evt_1.wh_2~', 'events-dead-letters.7-a/b', 'replays.é'])(
      'takes %s',
      (id) => {
        expect(deadLetterIdSchema.safeParse(id).success).toBe(true);
      },
    );

    it.each(['', 'events', 'events.', 'mail.17', '17', 'events-dead.17', '.events.17', 'gates.17'])(
      'refuses "%s"',
      (id) => {
        expect(deadLetterIdSchema.safeParse(id).success).toBe(false);
      },
    );
  });
});
