import { AccountStore } from '../accounts/redis-account-store';
import { ApiKeyStore } from '../accounts/redis-api-key-store';
import { PortalSessionStore } from '../accounts/redis-portal-session-store';
import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import { keys, queueKeysOf } from '../domain/keys';
import { oneShard } from '../domain/queues';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { HealthStore } from '../endpoints/health/redis-health-store';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { EventClaimStore } from '../publish/redis-event-claim-store';
import { IdempotencyStore } from '../publish/redis-idempotency-store';
import type { AccountJobs, JobsCursor } from '../queue/bullmq-account-jobs';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import type { ErasureQueue } from '../queue/bullmq-work-queues';
import { ReplayStore } from '../replays/redis-replay-store';
import { buildApiKey } from '../testing/build-api-key';
import { buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { buildPortalSession } from '../testing/build-portal-session';
import { buildReplayOrder } from '../testing/build-replay';
import { fake } from '../testing/fake';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEventId } from '../testing/unique-ids';
import {
  AccountErasure,
  type AccountErasureParts,
  type ErasureCursor,
  type ErasureStepResult,
} from './erase-account';
import { RemainsStore } from './redis-remains-store';

const NOW = 1_700_000_000_000;
const DAY = 86_400_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
beforeEach(() => redis.client.flushdb());
afterAll(() => redis.close());

/**
 * An account with some of everything. The first event went to all of its endpoints, the last ones are in one
 * list only.
 */
async function saveAccount(accountId: AccountId, { endpoints: count = 3, events: eventCount = 5 } = {}) {
  const { client } = redis;
  const eventStore = new EventStore(client, testRetention);
  const deliveryStore = new DeliveryStore(client, testRetention);
  await new AccountStore(client).create({ id: accountId, createdAt: NOW, weight: 3 });
  const { record } = buildApiKey({ accountId });
  const apiKeyStore = new ApiKeyStore(client);
  await apiKeyStore.save(record);
  await apiKeyStore.noteUse(record.id, NOW);
  const { record: session } = buildPortalSession({ accountId, apiKeyId: record.id });
  await new PortalSessionStore(client).save(session, {}, 1, NOW);
  const endpoints = Array.from({ length: count }, (_, i) =>
    buildEndpoint({ accountId, uid: `uid-${i}` as never }),
  );
  for (const endpoint of endpoints) {
    await new EndpointStore(client, testSealer).create(endpoint);
    await client.set(keys.breaker(endpoint.id), `1 0 ${NOW} 0`);
    await client.zadd(keys.openBreakers, NOW, `${accountId}/${endpoint.id}`);
    // Counts that a fault has left behind.
    await client.hset(queueKeysOf('bull').lines(endpoint.id), 'event', 'line');
    await client.hset(queueKeysOf('bull').batches(endpoint.id), 'event', 'batch');
    await new BesideLanes(client).join(endpoint.id, [{ eventId: uniqueEventId(), acceptedAt: NOW }])(client);
    const tally = { hours: [], lastFailure: { at: NOW }, lastSuccessAt: NOW };
    await new HealthStore(client, DAY).addAll([{ endpointId: endpoint.id, tally }], NOW);
    const replay = buildReplayOrder({ accountId, endpointId: endpoint.id });
    await new ReplayStore(client, DAY).create(replay);
    await new ReplayStore(client, DAY).noteSent(replay, [{ id: uniqueEventId(), at: NOW }]);
  }
  const ids = endpoints.map(({ id }) => id);
  const events = Array.from({ length: eventCount }, (_, i) => buildEvent({ accountId, acceptedAt: NOW + i }));
  for (const { id, ...event } of events) {
    await new EventClaimStore(client, DAY).claim({ accountId, id, acceptedAt: NOW }, 'digest')(redis.client);
    await eventStore.save({ id, ...event })(redis.client);
    await eventStore.enlistAll([{ event: { id, ...event }, deliveries: 0 }])(redis.client);
    await eventStore.addReceivers(accountId, id, ids)(redis.client);
    await deliveryStore.enlistAll(buildNewDeliveries(id, ids, NOW))(redis.client);
    for (const endpointId of ids) {
      await deliveryStore.append(
        { eventId: id, endpointId },
        { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: 5 },
      );
    }
  }
  const [endpointId] = ids;
  const unlisted = [buildEvent({ accountId }), buildEvent({ accountId }), buildEvent({ accountId })] as const;
  for (const event of unlisted) {
    await eventStore.save(event)(redis.client);
  }
  // What no list leads to at all.
  await new EventClaimStore(client, DAY).claim({ ...unlisted[2], acceptedAt: NOW }, 'digest')(redis.client);
  await eventStore.addReceivers(accountId, unlisted[2].id, ids)(redis.client);
  await new IdempotencyStore(client).claim({ accountId, name: 'slot' }, 'digest', 'seed', NOW)(redis.client);
  if (endpointId) {
    await deliveryStore.enlistAll(buildNewDeliveries(unlisted[0].id, [endpointId], NOW))(redis.client);
    const heldDeliveries = new HeldDeliveries(client, oneShard('bull'));
    await heldDeliveries.enter(
      { accountId, endpointId },
      { eventId: unlisted[1].id, acceptedAt: NOW },
      NOW,
      'busy',
    );
  }
  return { accountId, ids, events, apiKeyId: record.id, sessionId: session.id };
}

/** The worker's part, with a clock that stands still until it is told that time passes. */
function createErasure() {
  let now = NOW;
  const signals = recordSignals();
  const accountStore = new AccountStore(redis.client);
  const remainsStore = new RemainsStore(redis.client, oneShard('bull'));
  const endpointStore = new EndpointStore(redis.client, testSealer);
  const queued: AccountId[] = [];
  const looked: JobsCursor[] = [];
  let busy: readonly DeliveryParts[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  const erasureQueue = fake<ErasureQueue>({ add: async (id) => void queued.push(id) });
  const parts = {
    accountStore,
    remainsStore,
    endpointStore,
    erasureQueue,
    deliveryQueue: fake<DeliveryQueue>({
      async removeIdle(deliveries: readonly DeliveryParts[]) {
        atOnce += deliveries.length;
        mostAtOnce = Math.max(mostAtOnce, atOnce);
        await redis.client.ping();
        atOnce -= deliveries.length;
        return deliveries.filter(({ eventId, endpointId }) =>
          busy.some((each) => each.eventId === eventId && each.endpointId === endpointId),
        );
      },
    }),
    accountJobs: fake<AccountJobs>({
      async removeSome(_accountId: AccountId, cursor: JobsCursor) {
        looked.push(cursor);
        return cursor.queue < 2 ? { queue: cursor.queue + 1 } : undefined;
      },
    }),
    retention: { ageMs: DAY },
    clock: () => now,
    emit: signals.listen,
  };
  const erasure = new AccountErasure(fake<AccountErasureParts>(parts));
  const step = (accountId: AccountId, cursor?: ErasureCursor) => erasure.step(accountId, cursor);
  return {
    endpointStore,
    signals,
    queued,
    looked,
    step,
    erase: (accountId: AccountId) => erasure.begin(accountId),
    mostAtOnce: () => mostAtOnce,
    setBusy: (deliveries: readonly DeliveryParts[]) => void (busy = deliveries),
    /** As the queue does it: each step when it is due. Gives what the steps said. */
    async finish(accountId: AccountId, steps = Number.POSITIVE_INFINITY, from?: ErasureCursor) {
      const results: ErasureStepResult[] = [];
      let cursor = from;
      while (results.at(-1)?.kind !== 'done' && results.length < steps) {
        const result = await step(accountId, cursor);
        results.push(result);
        if (result.kind === 'again') {
          now += result.delayMs;
          cursor = result.cursor ?? cursor;
        }
      }
      return results;
    },
  };
}

/** The keys that are there, but for the list of ids that are taken. */
const keysLeft = async () =>
  (await redis.client.keys('*')).filter((key) => !key.startsWith('erased-accounts:')).sort();

it('removes everything of the account and nothing of another, and the account last of all', async () => {
  await saveAccount(uniqueAccountId());
  const before = await keysLeft();
  const { accountId } = await saveAccount(uniqueAccountId());
  const { erase, finish, looked, queued, signals } = createErasure();
  expect(await erase(accountId)).toMatchObject({ id: accountId, erasingSince: NOW });
  expect(queued).toEqual([accountId]);
  await finish(accountId);
  expect(await keysLeft()).toEqual(before);
  expect(await redis.client.hget('accounts:{all}', accountId)).toBeNull();
  expect(looked).toEqual([0, 1, 2].map((queue) => ({ queue })));
  expect(signals.named('account.erased')).toMatchObject([{ accountId }]);
});

it('is left to the workers as soon as the account is marked, should the process that was asked be killed', async () => {
  const { accountId } = await saveAccount(uniqueAccountId());
  const { endpointStore, erase, queued, finish } = createErasure();
  jest.spyOn(endpointStore, 'removeAll').mockRejectedValueOnce(new Error('killed'));
  await expect(erase(accountId)).rejects.toThrow('killed');
  expect(queued).toEqual([accountId]);
  await finish(accountId);
  expect(await keysLeft()).toEqual([]);
});

it('goes on wherever it broke off', async () => {
  const total = await countSteps();
  for (let steps = 1; steps < total; steps += 1) {
    const { accountId } = await saveAccount(uniqueAccountId());
    const doomed = createErasure();
    await doomed.erase(accountId);
    await doomed.finish(accountId, steps);
    const { erase, finish } = createErasure();
    await erase(accountId);
    await finish(accountId);
    expect(await keysLeft()).toEqual([]);
    await redis.client.flushdb();
  }
});

async function countSteps(): Promise<number> {
  const { accountId } = await saveAccount(uniqueAccountId());
  const { erase, finish } = createErasure();
  await erase(accountId);
  const { length } = await finish(accountId);
  await redis.client.flushdb();
  return length;
}

it('does a bounded part in each step', async () => {
  const { accountId } = await saveAccount(uniqueAccountId(), { endpoints: 45, events: 2 });
  const { erase, step } = createErasure();
  await erase(accountId);
  const logsLeft = async () => (await redis.client.keys('delivery:*')).length;
  const counts = [await logsLeft()];
  for (let i = 0; i < 3; i += 1) {
    await step(accountId);
    counts.push(await logsLeft());
  }
  expect(counts).toEqual([90, 50, 10, 0]);
});

it('has commands for few events under way at the same time, however many events a step takes', async () => {
  const { accountId } = await saveAccount(uniqueAccountId(), { endpoints: 2, events: 60 });
  const { erase, step, mostAtOnce } = createErasure();
  await erase(accountId);
  await step(accountId);
  expect(await redis.client.keys('delivery:*')).toEqual([]);
  expect(mostAtOnce()).toBeLessThanOrEqual(50);
});

it('takes keys, sessions, endpoints and payloads at once, before the rest', async () => {
  const { accountId, apiKeyId, sessionId, ids } = await saveAccount(uniqueAccountId());
  const { erase, step } = createErasure();
  await erase(accountId);
  const gone = [`api-key:{${apiKeyId}}`, `portal-session:{${sessionId}}`, `endpoints:{${accountId}}`];
  expect(await redis.client.exists(...gone)).toBe(0);
  await step(accountId);
  expect(await redis.client.keys(`event:{${accountId}/*`)).toHaveLength(3);
  expect(await redis.client.zcard(`endpoint-ids:{${accountId}}`)).toBe(ids.length);
});

it("leaves others' keys alone that look much like the account's", async () => {
  const { accountId } = await saveAccount(uniqueAccountId());
  const others = [
    // A job under the id that a producer has given it.
    `bull:events:{${accountId}/order-17}`,
    `cache:{${accountId}/report}`,
    `old-event:{${accountId}/1}`,
    `events:{${accountId}/1}`,
    `event:{${accountId}/1}:seen`,
    `event:{${accountId}/1/2}`,
  ];
  for (const key of others) await redis.client.set(key, 'theirs');
  const { erase, finish } = createErasure();
  await erase(accountId);
  await finish(accountId);
  expect(await keysLeft()).toEqual(others.toSorted());
});

it('finds what no list leads to when the servers have changed since it was noted how far it is', async () => {
  const { accountId } = await saveAccount(uniqueAccountId());
  const { erase, finish } = createErasure();
  await erase(accountId);
  const search = { masters: ['10.0.0.1:6379'], master: '10.0.0.1:6379', cursor: '1' };
  await finish(accountId, Number.POSITIVE_INFINITY, { queue: 2, search });
  expect(await keysLeft()).toEqual([]);
});

it('waits for an attempt that is under way, whose record would be left behind', async () => {
  const { accountId, ids, events } = await saveAccount(uniqueAccountId(), { endpoints: 1, events: 1 });
  const { erase, finish, setBusy } = createErasure();
  const [endpointId] = ids;
  const [event] = events;
  if (!endpointId || !event) throw new Error('There is nothing to deliver.');
  const delivery = { endpointId, eventId: event.id };
  setBusy([delivery]);
  await erase(accountId);
  expect((await finish(accountId, 3)).slice(-1)).toEqual([{ kind: 'again', delayMs: 500 }]);
  expect(await redis.client.exists(`event:{${accountId}/${event.id}}`)).toBe(0);
  setBusy([]);
  await finish(accountId);
  expect(await keysLeft()).toEqual([]);
});

it('does not end before what had begun when it was asked for, even if clocks differ', async () => {
  const { accountId } = await saveAccount(uniqueAccountId());
  const { erase, step } = createErasure();
  await erase(accountId);
  await step(accountId);
  expect(await step(accountId)).toEqual({ kind: 'again', delayMs: 15_000 });
});

it("leaves an account alone that nobody wants to erase, and refuses the operator's own", async () => {
  const { accountId } = await saveAccount(uniqueAccountId());
  const before = await keysLeft();
  const { erase, step } = createErasure();
  expect(await step(accountId)).toEqual({ kind: 'done' });
  await expect(erase('default' as AccountId)).rejects.toMatchObject({ code: 'conflict' });
  await expect(erase(uniqueAccountId())).rejects.toMatchObject({ code: 'not_found' });
  expect(await keysLeft()).toEqual(before);
});
