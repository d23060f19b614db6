import { keys } from '@hookferry/core/domain/keys';
import { createQueueLayout, DELIVERIES_QUEUE, shardsAmong } from '@hookferry/core/domain/queues';
import { RedisProbe } from '@hookferry/core/platform/redis-probe';
import { QueueStandings } from '@hookferry/core/queue/bullmq-queue-standings';
import { buildAtomic } from '@hookferry/core/testing/build-atomic';
import { createClosables } from '@hookferry/core/testing/closables';
import { fake } from '@hookferry/core/testing/fake';
import { recordSignals } from '@hookferry/core/testing/record-signals';
import { startRedisServer } from '@hookferry/core/testing/redis-server';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { SharedCapacity } from './capacity';
import { openWorker } from './consumers/bullmq-open-worker';
import type { ServedShards, WatchedQueue } from './shard-consumers';
import { StallWatch } from './stall-watch';
import { openTestQueues, type TestQueues } from './testing/open-test-queues';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

// Each check is made by the test itself.
const NEVER_MS = 3_600_000;

const FIRST = { prefix: 'bull' };

/** A worker with one slot, whose first job comes to its end when the test says so, and the watch over it. */
async function startWatched(
  { client, context, shard: first }: TestQueues,
  { writeTo = client, others = [] }: { writeTo?: Redis; others?: readonly WatchedQueue[] } = {},
) {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const options = { queue: DELIVERIES_QUEUE, shard: first, capacity: new SharedCapacity(1) };
  const worker = openWorker(context, options, () => finished);
  const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  willClose({
    close: async () => {
      finish();
      await worker.close();
    },
  });
  const shards = shardsAmong(createQueueLayout(2, FIRST.prefix), []);
  const standings = new QueueStandings(client, shards);
  const signals = recordSignals();
  const watched = [
    ...others,
    { queue: DELIVERIES_QUEUE, shard: FIRST, beginsAndEnds: () => worker.beginsAndEnds } as const,
  ];
  const watch = new StallWatch({
    servedShards: fake<ServedShards>({ watched: () => watched }),
    standings,
    redisProbe: new RedisProbe({ redis: writeTo, keyOf: keys.writeCheck }),
    atomic: buildAtomic((steps) => context.atomic(steps)),
    stalledAfterMs: NEVER_MS,
    emit: signals.listen,
  });
  worker.start();
  return { queue, watch, signals, finish };
}

async function check(watch: StallWatch, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await watch.runOnce();
}

async function addAndTakeOne(queue: Queue): Promise<void> {
  await queue.addBulk([
    { name: 'd', data: {} },
    { name: 'd', data: {} },
  ]);
  while ((await queue.getActiveCount()) === 0);
}

it('finds that nothing is taken although jobs wait, says so once, and that it goes on again', async () => {
  const { queue, watch, signals, finish } = await startWatched(willClose(await openTestQueues()));
  await addAndTakeOne(queue);
  await check(watch, 4);
  expect(watch.stalledQueue).toBeUndefined();
  await check(watch, 3);
  expect(watch.stalledQueue).toBe(DELIVERIES_QUEUE);
  expect(signals.named('worker.stalled')).toEqual([
    { name: 'worker.stalled', queue: DELIVERIES_QUEUE, forMs: NEVER_MS },
  ]);

  finish();
  while ((await queue.getActiveCount()) > 0);
  await check(watch, 1);
  expect(watch.stalledQueue).toBeUndefined();
});

it('has nothing to say of an idle worker, nor of one whose queue somebody has paused', async () => {
  const { queue, watch } = await startWatched(willClose(await openTestQueues()));
  await check(watch, 6);
  expect(watch.stalledQueue).toBeUndefined();
  await addAndTakeOne(queue);
  await queue.pause();
  await check(watch, 6);
  expect(watch.stalledQueue).toBeUndefined();
});

it('finds the shard that nothing is taken from, however much is taken from others', async () => {
  let count = 0;
  const [, shard = FIRST] = shardsAmong(createQueueLayout(2, FIRST.prefix), []).all();
  const queues = willClose(await openTestQueues());
  const busy = willClose(new Queue(DELIVERIES_QUEUE, { connection: queues.client, prefix: shard.prefix }));
  await busy.add('d', {});
  const others = [{ queue: DELIVERIES_QUEUE, shard, beginsAndEnds: () => (count += 1) } as const];
  const { queue, watch } = await startWatched(queues, { others });
  await check(watch, 6);
  expect(watch.stalledQueue).toBeUndefined();
  await addAndTakeOne(queue);
  await check(watch, 6);
  expect(watch.stalledQueue).toBe(DELIVERIES_QUEUE);
});

it('does not blame the worker for a Redis that takes no writes', async () => {
  const full = willClose(await startRedisServer());
  const fullClient = new Redis(full.url);
  willClose({ close: () => fullClient.disconnect() });
  const { queue, watch } = await startWatched(willClose(await openTestQueues()), {
    writeTo: fullClient,
  });
  await addAndTakeOne(queue);
  await full.fillUp();
  await check(watch, 6);
  expect(watch.stalledQueue).toBeUndefined();
  await full.makeRoom();
  await check(watch, 1);
  expect(watch.stalledQueue).toBe(DELIVERIES_QUEUE);
});

it('does not blame the worker for a Redis that is gone', async () => {
  const queues = willClose(await openTestQueues());
  const { queue, watch } = await startWatched(queues);
  await addAndTakeOne(queue);
  await check(watch, 6);
  expect(watch.stalledQueue).toBe(DELIVERIES_QUEUE);
  queues.client.disconnect();
  await check(watch, 1);
  expect(watch.stalledQueue).toBeUndefined();
});
