import { setTimeout as wait } from 'node:timers/promises';
import { createQueueLayout } from '@hookferry/core/domain/queues';
import { CLUSTER_QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const SHARDS = 3;
const { shards, shardOf } = createQueueLayout(SHARDS, CLUSTER_QUEUE_PREFIX);
// Longer than a worker waits to be woken before it takes its connection for dead.
const PAUSE_MS = 13_000;

let cluster: RedisCluster;
let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  cluster = await RedisCluster.start(async () => ['--cluster-node-timeout', '3000']);
  receiver = await Receiver.start();
  stack = await Stack.start({ environment: { REDIS_URL: cluster.url, QUEUE_SHARDS: String(SHARDS) } });
});
afterAll(async () => {
  await stack.stop();
  await receiver.stop();
  await cluster.remove();
});

async function registerInEachShard(): Promise<readonly string[]> {
  const ids = new Map<string, string>();
  while (ids.size < SHARDS) {
    const { id } = await stack.client.register(receiver.url);
    const { prefix } = shardOf(id);
    if (!ids.has(prefix)) ids.set(prefix, id);
    else await stack.client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  }
  return shards.map(({ prefix }) => ids.get(prefix) ?? '');
}

const isReady = async () => (await stack.client.request('GET', '/readyz')).status === 200;

it('delivers from every shard again, and ends when it is told to, whichever master of a Cluster was silent for a while', async () => {
  const webhookIds = await registerInEachShard();
  for (const master of cluster.nodes) {
    await until(async () => ((await isReady()) ? true : undefined));
    master.freeze();
    // Whoever is not ready gets no traffic that it could only refuse.
    expect(await isReady()).toBe(false);
    await wait(PAUSE_MS);
    master.thaw();
    await until(async () => ((await isReady()) ? true : undefined));
    const { id } = await until(async () => {
      const response = await stack.client.request<{ id: string }>('POST', '/v1/events', QUICK_WIN);
      return response.status === 202 ? response.body : undefined;
    });
    for (const webhookId of webhookIds) await stack.client.waitForStatus(webhookId, id, 'delivered');
  }
  // One that waits for a connection in vain does not hear of it.
  const [worker] = stack.workers;
  const code = await worker?.end();
  const lastLines = code === 0 ? [] : worker?.log.slice(-12);
  expect({ code, lastLines }).toEqual({ code: 0, lastLines: [] });
}, 240_000);
