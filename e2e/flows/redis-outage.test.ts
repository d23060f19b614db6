import { Receiver } from '../support/receiver';
import { RedisServer } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { addressOf, Stack } from '../support/stack';
import { until } from '../support/until';

let redis: RedisServer;
let stack: Stack;
let receiver: Receiver;

beforeEach(async () => {
  redis = await RedisServer.start();
  stack = await Stack.start({
    redisUrl: redis.url,
    environment: { JOB_LOCK_DURATION: '1s', RETRY_SCHEDULE: '1s,1s,1s,1s' },
  });
  receiver = await Receiver.start();
});
afterEach(async () => {
  await receiver.stop();
  await stack.stop();
  await redis.remove();
});

it('responds with 503 and Retry-After while Redis is gone, and goes on by itself once it is back', async () => {
  const webhook = await stack.client.register(receiver.url);
  await redis.kill();
  const refused = await until(async () => {
    const response = await stack.client.request<{ code: string }>('POST', '/v1/events', QUICK_WIN);
    return response.status === 503 ? response : undefined;
  });
  expect(refused.body.code).toBe('storage_unavailable');
  expect(refused.headers.get('retry-after')).toBe('1');
  expect((await fetch(`${stack.client.baseUrl}/readyz`)).status).toBe(503);
  expect((await fetch(`${stack.client.baseUrl}/healthz`)).status).toBe(200);

  await redis.start();
  await stack.client.waitUntilReady();
  const eventId = await until(() =>
    stack.client.publish(QUICK_WIN.type, QUICK_WIN.data).catch(() => undefined),
  );
  await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
});

it('has no process that is ready while Redis takes no writes, and goes on by itself once it does', async () => {
  const webhook = await stack.client.register(receiver.url);
  const processes = await Promise.all([stack.api, ...stack.workers].map(addressOf));
  const readiness = async () =>
    await Promise.all(
      processes.map(async (url) => {
        const response = await fetch(`${url}/readyz`);
        const { reason } = (await response.json()) as { readonly reason?: string };
        return { status: response.status, reason };
      }),
    );
  await stack.redis.client.config('SET', 'maxmemory', '1');
  await until(async () => {
    const found = await readiness();
    return found.every(({ reason }) => reason === 'redis_refuses_writes') ? found : undefined;
  });
  expect((await stack.client.request('POST', '/v1/events', QUICK_WIN)).status).toBe(503);
  expect((await fetch(`${stack.client.baseUrl}/healthz`)).status).toBe(200);

  await stack.redis.client.config('SET', 'maxmemory', '0');
  await until(async () => ((await readiness()).every(({ status }) => status === 200) ? true : undefined));
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
});

it('never hangs on a Redis that is connected and silent: 503 within two seconds', async () => {
  let tookMs = Infinity;
  // The contract's own figure. On a busy machine these processes stand still now and then, and the next time is as good.
  const look = async () => {
    redis.freeze();
    const startedAt = Date.now();
    const responses = await Promise.all([
      stack.client.request('POST', '/v1/events', QUICK_WIN),
      stack.client.request('GET', '/v1/webhooks'),
    ]);
    tookMs = Date.now() - startedAt;
    redis.thaw();
    expect(responses.map(({ status }) => status)).toEqual([503, 503]);
    await stack.client.waitUntilReady();
    return tookMs < 2_000 ? true : undefined;
  };
  await until(look, () => `${tookMs} ms`);
});

it('delivers everything that was accepted before and after Redis was killed and came back', async () => {
  const webhook = await stack.client.register(receiver.url);
  const accepted: string[] = [];
  const publishing = publishUntil(() => accepted.length >= 400, accepted);
  await until(async () => (accepted.length >= 100 ? true : undefined));
  await redis.kill();
  await redis.start();
  await publishing;

  await until(async () => {
    const arrived = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']));
    return accepted.every((id) => arrived.has(id)) ? true : undefined;
  });
  expect(await stack.client.listDeliveries(webhook.id)).not.toHaveLength(0);
});

it('starts while Redis is away, and is ready once it is there', async () => {
  await stack.stop();
  await redis.kill();
  const starting = Stack.start({ redisUrl: redis.url });
  await redis.start();
  stack = await starting;
  const webhook = await stack.client.register(receiver.url);
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const delivery = await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
  expect(delivery.attempt_count).toBe(1);
});

/** Publishes one event after the other, as a producer that repeats what was refused, and notes what was accepted. */
async function publishUntil(isEnough: () => boolean, accepted: string[]): Promise<void> {
  while (!isEnough()) {
    const { status, body } = await stack.client.request<{ id: string }>('POST', '/v1/events', QUICK_WIN);
    if (status === 202) accepted.push(body.id);
  }
}

it('ends a worker that is told to stop while Redis is silent, and does not wait for ever', async () => {
  const worker = await stack.startWorker({ SHUTDOWN_TIMEOUT: '100ms' });
  redis.freeze();
  const exitCode = await worker.end('SIGTERM');
  redis.thaw();
  expect(exitCode).toBe(1);
  expect(worker.log).toContainEqual(
    expect.objectContaining({
      message: 'process.fault',
      detail: expect.stringContaining('did not stop in time'),
    }),
  );
});
