import type { Redis } from 'ioredis';
import { createClosables } from '../testing/closables';
import { findClosedPort } from '../testing/local-server';
import { recordSignals } from '../testing/record-signals';
import { startRedisProxy } from '../testing/redis-proxy';
import { openTestRedis } from '../testing/test-redis';
import {
  type ConnectionRole,
  type ConnectOptions,
  connectRedis,
  queuePrefix,
  type RedisClient,
} from './redis-connect';

describe('redis connect', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  function connect(options: ConnectOptions): RedisClient {
    const client = connectRedis(options);
    willClose({ close: () => client.disconnect() });
    return client;
  }

  describe('connectRedis', () => {
    it('connects to the database that the URL names, under the name that it is given', async () => {
      const test = willClose(await openTestRedis());
      const redis = connect({ url: test.url, role: 'working', name: 'probe', emit: () => {} });
      await redis.set('key', 'value');
      expect(await test.client.get('key')).toBe('value');
      expect(await redis.call('CLIENT', 'GETNAME')).toBe('probe');
    });

    it('announces its errors, and keeps trying', async () => {
      const signals = recordSignals();
      const redis = connect({
        url: `redis://127.0.0.1:${await findClosedPort()}`,
        role: 'answering',
        name: 'api-store',
        emit: signals.listen,
      });
      expect(await signals.first('redis.error')).toMatchObject({
        connection: 'api-store',
        error: { code: 'ECONNREFUSED' },
      });
      expect(['reconnecting', 'connecting']).toContain(redis.status);
    });

    it('reconnects when a command has no reply for longer than its patience', async () => {
      const test = willClose(await openTestRedis());
      const proxy = willClose(await startRedisProxy(test.url));
      const redis = connect({
        url: proxy.url,
        role: 'working',
        name: 'probe',
        emit: () => {},
        silenceMs: 100,
      });
      await redis.ping();
      const held = proxy.hold('some-key');
      const reply = redis.get('some-key');
      await held;
      expect(await reply).toBeNull();
    });
  });

  // Redis may run a command once more after a reconnect: long after its caller was told that it failed, if that waited.
  it('takes a connection whose callers wait for dead within seconds, and never one whose commands wait', async () => {
    const { url } = willClose(await openTestRedis());
    const open = (role: ConnectionRole) => connect({ url, role, name: 'test', emit: () => {} }) as Redis;
    expect(open('answering').options.socketTimeout).toBe(5_000);
    expect(open('working').options.socketTimeout).toBeUndefined();
  });

  describe('queuePrefix', () => {
    it("is BullMQ's own, and a hash tag in a Cluster", () => {
      expect(queuePrefix('redis://cache')).toBe('bull');
      expect(queuePrefix('rediss+sentinel://one,two/hooks')).toBe('bull');
      expect(queuePrefix('redis+cluster://one,two')).toBe('{bull}');
    });
  });
});
