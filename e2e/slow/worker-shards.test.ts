import { createQueueLayout } from '@hookferry/core/domain/queues';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

const SHARDS = 2;
const { shards, shardOf } = createQueueLayout(SHARDS, 'bull');

let stack: Stack;
const receivers: Receiver[] = [];
afterEach(async () => {
  await stack.stop();
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});

/** An endpoint whose deliveries are in this shard. */
async function registerIn(shard: number): Promise<{ readonly id: string; readonly receiver: Receiver }> {
  const receiver = await Receiver.start();
  receivers.push(receiver);
  for (;;) {
    const { id } = await stack.client.register(receiver.url);
    if (shardOf(id) === shards[shard]) return { id, receiver };
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  }
}

it('lets a worker serve the shards that it is told to, and says which ones nobody serves', async () => {
  stack = await Stack.start({ workers: 0, environment: { QUEUE_SHARDS: String(SHARDS) } });
  const [served, unserved] = [await registerIn(0), await registerIn(1)];
  const worker = await stack.startWorker({ WORKER_SHARDS: '0' });
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await stack.client.waitForStatus(served.id, eventId, 'delivered');

  const told = await worker.waitForLine((line) => line.message === 'shards.unserved');
  expect(told).toMatchObject({ level: 'warn', shards: '1' });
  expect(unserved.receiver.requests).toHaveLength(0);
  await stack.client.waitForStatus(unserved.id, eventId, 'pending');

  const other = await stack.startWorker({ WORKER_SHARDS: '1' });
  await stack.client.waitForStatus(unserved.id, eventId, 'delivered');
  const webhooksOf = ({ log }: typeof worker) =>
    log.flatMap((line) => (line.message === 'delivery.attempted' ? [line.webhook_id] : []));
  expect([webhooksOf(worker), webhooksOf(other)]).toEqual([[served.id], [unserved.id]]);
});
