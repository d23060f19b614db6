import { once } from 'node:events';
import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import { queueKeysOf } from '@hookferry/core/domain/keys';
import { createEventPublisher } from '@hookferry/producer';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const queueKeys = queueKeysOf('bull');

const BACKLOG = 2_000;
const CHUNK = 200;
const SLOTS = 32;
// One endpoint that responds quickly gets a quarter of a worker's slots at most.
const SLOTS_OF_ONE = SLOTS / 4;

it('spares a dead receiver nearly all attempts at thousands of deliveries, and delivers all once it is back', async () => {
  const stack = await Stack.start({
    environment: { WORKER_CONCURRENCY: String(SLOTS), RETRY_SCHEDULE: Array(20).fill('1s').join() },
  });
  const load = { now: 0, most: 0 };
  const receiver = await Receiver.start(async () => {
    load.now += 1;
    load.most = Math.max(load.most, load.now);
    await turn();
    load.now -= 1;
    return 204;
  });
  await receiver.stop();
  const dead = await listenDead(Number(new URL(receiver.url).port));
  const webhook = await stack.client.register(receiver.url);
  await publishBacklog(stack);

  // Held are all but the few that were tried: those wait for their retry, and are held then.
  const held = () => stack.redis.client.zcard(queueKeys.held(webhook.id as EndpointId));
  await until(async () => ((await held()) >= BACKLOG - 100 ? true : undefined));
  expect(dead.connections).toBeGreaterThan(0);
  expect(dead.connections).toBeLessThanOrEqual(200);

  await dead.close();
  await receiver.listen();
  await receiver.waitFor(BACKLOG);
  await until(async () => ((await held()) === 0 ? true : undefined));
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id']))).toHaveProperty(
    'size',
    BACKLOG,
  );
  expect(load.most).toBeLessThanOrEqual(SLOTS_OF_ONE);
  await Promise.all([receiver.stop(), stack.stop()]);
});

/** A port where every connection is counted and closed at once. */
async function listenDead(port: number) {
  const counted = { connections: 0, close };
  const server = createServer((socket) => {
    counted.connections += 1;
    socket.resetAndDestroy();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return counted;

  async function close(): Promise<void> {
    server.close();
    await once(server, 'close');
  }
}

async function publishBacklog({ redis }: Stack): Promise<void> {
  const publisher = createEventPublisher({ connection: redis.client });
  for (let start = 0; start < BACKLOG; start += CHUNK) {
    await Promise.all(
      Array.from({ length: CHUNK }, () => publisher.publish({ accountId: 'default', ...QUICK_WIN })),
    );
  }
  await publisher.close();
}
