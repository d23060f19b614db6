import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { createQueueLayout, shardsOf } from '../model/queue-layout';
import { DELIVERIES_QUEUE, workedQueues } from '../model/queue-names';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { LOOKED_AT } from './bullmq-waiting-sample';
import { ShardedDeliveryQueue } from './sharded-delivery-queue';
import { ShardedStandings } from './sharded-standings';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange(shardCount: number) {
  const { client } = willClose(await openTestRedis());
  const shards = shardsOf(createQueueLayout(shardCount, QUEUE_PREFIX));
  const deliveryQueue = willClose(new ShardedDeliveryQueue(client, shards));
  const standings = willClose(new ShardedStandings(client, shards));
  async function add(accountId: ReturnType<typeof uniqueAccountId>, count: number): Promise<void> {
    const endpointIds = Array.from({ length: 8 }, uniqueEndpointId);
    const deliveries = Array.from({ length: count }, (_, i) => {
      return { accountId, endpointId: endpointIds[i % 8] ?? uniqueEndpointId(), eventId: uniqueEventId() };
    });
    await deliveryQueue.addAll(deliveries);
  }
  return { standings, add };
}

it('gives each queue of each shard, and nothing where nothing is', async () => {
  const { standings } = await arrange(2);
  const { queues, deadLetters } = await standings.read(Date.now());
  expect(deadLetters).toBe(0);
  expect(queues.map(({ name, shard }) => [name, shard])).toEqual(
    [0, 1].flatMap((shard) => workedQueues.map((name) => [name, shard])),
  );
  for (const queue of queues) expect(queue).toMatchObject({ waiting: 0, active: 0, delayed: 0, failed: 0 });
  expect(await standings.busiestAccounts(10)).toEqual([]);
});

it('counts what waits in each shard, and for how long the oldest has', async () => {
  const { standings, add } = await arrange(2);
  await add(uniqueAccountId(), 80);
  const { queues } = await standings.read(Date.now() + 60_000);
  const deliveries = queues.filter(({ name }) => name === DELIVERIES_QUEUE);
  expect(deliveries.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(80);
  expect(Math.max(...deliveries.map(({ oldestWaitedMs }) => oldestWaitedMs))).toBeGreaterThan(59_000);
});

it('names the accounts with the most waiting, exactly while few wait', async () => {
  const { standings, add } = await arrange(2);
  const [large, small, smallest] = [uniqueAccountId(), uniqueAccountId(), uniqueAccountId()];
  await add(small, 20);
  await add(large, 300);
  await add(smallest, 1);
  expect(await standings.busiestAccounts(2)).toEqual([
    { accountId: large, waiting: 300 },
    { accountId: small, waiting: 20 },
  ]);
});

it('estimates them where more wait than are looked at', async () => {
  const { standings, add } = await arrange(1);
  const [large, small] = [uniqueAccountId(), uniqueAccountId()];
  const total = 3 * LOOKED_AT;
  await add(large, total * 0.8);
  await add(small, total * 0.2);
  const [first, second] = await standings.busiestAccounts(10);
  expect([first?.accountId, second?.accountId]).toEqual([large, small]);
  expect((first?.waiting ?? 0) + (second?.waiting ?? 0)).toBe(total);
});
