import { setTimeout as wait } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { deliveryIdOf } from '../../domain/delivery';
import { type EndpointId, laneNameOf } from '../../domain/endpoint';
import { keys, queueKeysOf } from '../../domain/keys';
import { createQueueLayout, DELIVERIES_QUEUE, oneShard, type QueueShard } from '../../domain/queues';
import type { Emit } from '../../domain/signal';
import { atomicAsOne } from '../../platform/redis-atomic';
import { createClosables } from '../../testing/closables';
import { recordSignals } from '../../testing/record-signals';
import { openTestRedis } from '../../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { WAITS } from '../../testing/waiting-jobs';
import { DeliveryQueue } from '../bullmq-delivery-queue';
import { HeldDeliveries } from '../bullmq-held-deliveries';
import { IN_FORCE_AFTER_MS, LayoutStore } from '../redis-layout-store';
import { ShardsInForce } from '../shards-in-force';
import { Resharding } from './resharding';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const emit = () => {};

const HOUR_MS = 3_600_000;
const accountId = uniqueAccountId();
const layout = createQueueLayout(2, 'bull');
const [first, second] = layout.shards as [QueueShard, QueueShard];

/** Queues of one shard that were split into two, so long ago. */
async function arrange({ splitAgoMs = 2 * IN_FORCE_AFTER_MS } = {}) {
  const { client } = willClose(await openTestRedis());
  const store = new LayoutStore(client, 'bull');
  await store.look(1, []);
  await store.look(2, []);
  await client.zincrby(keys.queueLayouts, -splitAgoMs, '2');
  const shards = new ShardsInForce({
    layoutStore: store,
    wanted: 2,
    firstPrefix: 'bull',
    atomic: atomicAsOne(client),
    emit,
  });
  willClose({ close: () => shards.stop() });
  await shards.start();
  const queueIn = ({ prefix }: QueueShard) =>
    willClose(new Queue(DELIVERIES_QUEUE, { connection: client, prefix }));
  const common = { redis: client, shards, layoutStore: store, clock: Date.now };
  return {
    client,
    queueIn,
    heldIn: ({ prefix }: QueueShard) => new HeldDeliveries(client, oneShard(prefix)),
    reshardingOf: (workerId: string, listen: Emit = emit) =>
      new Resharding({ ...common, workerId, emit: listen }),
    /** A pass of a worker after the last one's lease is over. */
    async pass() {
      await client.del(keys.resharding);
      await new Resharding({ ...common, workerId: 'one', emit }).runOnce();
    },
    async isLeft() {
      return (await store.look(undefined, [])).others.every(({ leftSince }) => leftSince !== undefined);
    },
  };
}

/** An endpoint whose deliveries belong there now, and the id of one of these. */
function deliveryOf(home: QueueShard) {
  let endpointId: EndpointId;
  do endpointId = uniqueEndpointId();
  while (layout.shardOf(endpointId).prefix !== home.prefix);
  const eventId = uniqueEventId();
  return { address: { accountId, endpointId }, eventId, jobId: deliveryIdOf({ eventId, endpointId }) };
}

const data = { account_id: accountId };

it('lets deliveries be taken that wait for their time where they do not belong, and no others', async () => {
  const { queueIn, pass } = await arrange();
  const queue = queueIn(first);
  const [home, away] = [deliveryOf(first), deliveryOf(second)];
  for (const { jobId } of [home, away]) await queue.add('d', data, { jobId, delay: HOUR_MS });
  await pass();
  expect(await queue.getJobState(away.jobId)).toMatch(WAITS);
  expect(await queue.getJobState(home.jobId)).toBe('delayed');
});

it('releases what is held where it does not belong, and nothing else', async () => {
  const { queueIn, heldIn, pass } = await arrange();
  const queue = queueIn(first);
  const [home, away] = [deliveryOf(first), deliveryOf(second)];
  for (const { jobId, address, eventId } of [home, away]) {
    await queue.add('d', data, { jobId, delay: HOUR_MS });
    await heldIn(first).enter(address, { eventId, acceptedAt: 1 }, Date.now() + HOUR_MS, 'busy');
  }
  await pass();
  expect(await queue.getJobState(away.jobId)).toMatch(WAITS);
  expect(await heldIn(first).count(away.address.endpointId)).toBe(0);
  expect(await heldIn(first).count(home.address.endpointId)).toBe(1);
});

it('brings dead letters home, with all that is known of them', async () => {
  const { client, queueIn, pass } = await arrange();
  const { jobId } = deliveryOf(second);
  const [from, to] = [queueIn(first), queueIn(second)];
  await from.add('d', data, { jobId });
  await client.lrem(from.toKey('wait'), 1, jobId);
  await client.zadd(from.toKey('failed'), 17, jobId);
  const fields = await client.hgetall(from.toKey(jobId));
  await pass();
  expect(await client.hgetall(to.toKey(jobId))).toEqual(fields);
  expect(await client.zrange(to.toKey('failed'), '0', '-1', 'WITHSCORES')).toEqual([jobId, '17']);
  expect(await client.exists(from.toKey(jobId), from.toKey('failed'))).toBe(0);
});

it('leaves a delivery in its lane at home, also if there is a dead letter of it elsewhere', async () => {
  const { client, queueIn, pass } = await arrange();
  const { jobId, address, eventId } = deliveryOf(second);
  const [from, to] = [queueIn(first), queueIn(second)];
  await from.add('d', data, { jobId });
  await client.lrem(from.toKey('wait'), 1, jobId);
  await client.zadd(from.toKey('failed'), 17, jobId);
  const entry = { ...address, eventId, acceptedAt: 1, isInLane: true };
  await new DeliveryQueue(client, oneShard(second.prefix)).addAll([entry]);
  await pass();
  expect(
    await client.zrange(queueKeysOf(second.prefix).lane(laneNameOf(address.endpointId)), '0', '-1'),
  ).toEqual([eventId]);
  expect(await client.exists(to.toKey(jobId), from.toKey(jobId))).toBe(0);
});

describe('that a layout is left', () => {
  it('is said when nothing is anywhere but at home', async () => {
    const { queueIn, pass, isLeft } = await arrange();
    for (const shard of layout.shards) {
      await queueIn(shard).add('d', data, { jobId: deliveryOf(shard).jobId, delay: HOUR_MS });
    }
    expect(await isLeft()).toBe(false);
    await pass();
    expect(await isLeft()).toBe(true);
  });

  it('is not said while a worker has yet to take a delivery home', async () => {
    const { queueIn, pass, isLeft } = await arrange();
    const queue = queueIn(first);
    const { jobId } = deliveryOf(second);
    await queue.add('d', data, { jobId, delay: HOUR_MS });
    await pass();
    await pass();
    expect(await isLeft()).toBe(false);
    await queue.remove(jobId);
    await pass();
    expect(await isLeft()).toBe(true);
  });

  it('is not said while a process may still put something where it belonged before', async () => {
    const { pass, isLeft } = await arrange({ splitAgoMs: 2 * IN_FORCE_AFTER_MS - 5_000 });
    await pass();
    expect(await isLeft()).toBe(false);
  });
});

it('is done by one worker at a time, and by another when that one has died', async () => {
  const { client, reshardingOf, isLeft } = await arrange();
  await client.set(keys.resharding, 'dead');
  await reshardingOf('alive').runOnce();
  expect(await isLeft()).toBe(false);
  await client.del(keys.resharding);
  await reshardingOf('alive').runOnce();
  expect(await isLeft()).toBe(true);
  expect(await client.pttl(keys.resharding)).toBeGreaterThan(0);
});

it("goes on bringing the accounts' weights to all shards when nothing is left to move", async () => {
  const { client, pass, isLeft } = await arrange();
  await pass();
  expect(await isLeft()).toBe(true);
  await client.hset(queueKeysOf(first.prefix).accountWeights, accountId, 7);
  await pass();
  expect(await client.hgetall(queueKeysOf(second.prefix).accountWeights)).toEqual({ [accountId]: '7' });
});

it('says that it failed, and tries again', async () => {
  const { client, reshardingOf, isLeft } = await arrange();
  const { named, first: firstOf, listen } = recordSignals();
  await client.hset(queueKeysOf(first.prefix).wakeUps, 'no', 'sorted set');
  const resharding = reshardingOf('one', listen);
  willClose({ close: () => resharding.stop() });
  resharding.start();
  expect(await firstOf('task.failed')).toMatchObject({ task: 'move jobs to their shards' });
  await client.del(queueKeysOf(first.prefix).wakeUps);
  while (!(await isLeft())) await wait(50);
  expect(named('task.failed')).toHaveLength(1);
});
