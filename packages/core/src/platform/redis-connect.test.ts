import type { Redis } from 'ioredis';
import { createClosables } from '../testing/closables';
import { findClosedPort, startTcpServer } from '../testing/local-server';
import { recordSignals } from '../testing/record-signals';
import { startRedisProxy } from '../testing/redis-proxy';
import { openTestRedis } from '../testing/test-redis';
import {
  type ConnectionRole,
  type ConnectOptions,
  connectRedis,
  createRedisProbe,
  queuePrefix,
  type RedisClient,
  untilRedisAnswers,
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

describe('redis probe', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  async function probe(url: string, role: ConnectionRole): Promise<boolean> {
    const redis = connectRedis({ url, role, name: 'test', emit: () => {} });
    try {
      return await createRedisProbe(redis)();
    } finally {
      redis.disconnect();
    }
  }

  describe('createRedisProbe', () => {
    it('says yes when Redis answers', async () => {
      const redis = willClose(await openTestRedis());
      expect(await createRedisProbe(redis.client)()).toBe(true);
    });

    // A connection for background work waits for Redis endlessly; a readiness check must not.
    it.each(['answering', 'working'] as const)(
      'says no when a connection of the kind "%s" finds no Redis',
      async (role) => {
        expect(await probe(`redis://127.0.0.1:${await findClosedPort()}`, role)).toBe(false);
      },
    );

    it('says no when Redis does not answer', async () => {
      const silent = willClose(await startTcpServer(() => {}));
      expect(await probe(`redis://127.0.0.1:${silent.port}`, 'working')).toBe(false);
    });
  });

  describe('untilRedisAnswers', () => {
    it('waits for a Redis that is silent, and goes on once it answers', async () => {
      const proxy = willClose(await startRedisProxy(willClose(await openTestRedis()).url));
      const redis = connectRedis({ url: proxy.url, role: 'answering', name: 'test', emit: () => {} });
      willClose({ close: () => redis.disconnect() });
      proxy.freeze();
      const answers: boolean[] = [];
      const isAnswering = createRedisProbe(redis);
      await untilRedisAnswers(async () => {
        const answer = await isAnswering();
        answers.push(answer);
        if (answers.length === 1) proxy.thaw();
        return answer;
      });
      expect(answers[0]).toBe(false);
      expect(answers.at(-1)).toBe(true);
    });
  });
});
