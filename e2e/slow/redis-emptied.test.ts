import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { Receiver } from '../support/receiver';
import { RedisServer } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

if (!hasPostgres) console.warn(`SKIPPED: a Redis that came back empty, because ${NO_POSTGRES}.`);
const describeWith = hasPostgres ? describe : describe.skip;

describeWith('a Redis that came back empty, with INTAKE=durable', () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let stack: Stack;
  let receiver: Receiver;
  beforeAll(async () => {
    postgres = await PostgresServer.start();
    redis = await RedisServer.start();
    stack = await Stack.start({
      redisUrl: redis.url,
      environment: { HISTORY_DATABASE_URL: postgres.url, INTAKE: 'durable', AUTH_FAILURE_LIMIT: '3/1m' },
    });
    receiver = await Receiver.start();
  });
  afterAll(async () => {
    await receiver.stop();
    await stack.stop();
    await redis.remove();
    await postgres.close();
  });

  it('has the same webhooks and keys again, without anybody who helps, and no client is locked out', async () => {
    const webhook = await stack.client.register(receiver.url);
    const before = (await stack.client.request('GET', `/v1/webhooks/${webhook.id}`)).body;
    await stack.redis.client.flushall();
    const refusals = new Set<number>();
    const eventId = await until(async () => {
      const { status, body } = await stack.client.request<{ id: string }>('POST', '/v1/events', QUICK_WIN);
      if (status === 202) return body.id;
      refusals.add(status);
      return undefined;
    });
    expect([...refusals].filter((status) => status !== 503)).toEqual([]);
    expect((await stack.client.request('GET', `/v1/webhooks/${webhook.id}`)).body).toEqual(before);
    await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
    const { body } = await stack.client.request<{ redis_rollbacks: unknown[] }>('GET', '/v1/operations');
    expect(body.redis_rollbacks).toEqual([{ since: null, until: expect.any(String) }]);
  });
});
