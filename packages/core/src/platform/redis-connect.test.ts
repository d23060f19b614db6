import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { createClosables } from '../testing/closables';
import { findClosedPort } from '../testing/local-server';
import { recordSignals } from '../testing/record-signals';
import { startRedisProxy } from '../testing/redis-proxy';
import { startRedisServer } from '../testing/redis-server';
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

  /** Gives the port of a Sentinel that watches the master at `masterPort`, and lets in one user only. */
  async function startSentinel(masterPort: string): Promise<number> {
    const port = await findClosedPort();
    const folder = await mkdtemp(join(tmpdir(), 'sentinel-'));
    const file = join(folder, 'sentinel.conf');
    const user =
      'user hookferry on >s3&cret allchannels +sentinel|get-master-addr-by-name +sentinel|sentinels +subscribe';
    const lines = [`port ${port}`, `dir ${folder}`, `sentinel monitor hooks 127.0.0.1 ${masterPort} 1`];
    await writeFile(file, [...lines, user, 'requirepass other', ''].join('\n'));
    const given = JSON.parse(process.env.TEST_REDIS_SERVER ?? '["redis-server"]') as string[];
    const [program = '', ...options] = given;
    const env = { ...process.env, LD_LIBRARY_PATH: process.env.TEST_REDIS_LD_LIBRARY_PATH ?? '' };
    const child = spawn(program, [...options, file, '--sentinel'], { env, stdio: 'ignore' });
    const exited = once(child, 'exit');
    willClose({
      async close() {
        child.kill('SIGKILL');
        await exited;
        await rm(folder, { recursive: true });
      },
    });
    return port;
  }

  describe('connectRedis', () => {
    it('connects to the database that the URL names, under the name that it is given', async () => {
      const test = willClose(await openTestRedis());
      const redis = connect({ url: test.url, role: 'working', name: 'probe', emit: () => {} });
      await redis.set('key', 'value');
      expect(await test.client.get('key')).toBe('value');
      expect(await redis.call('CLIENT', 'GETNAME')).toBe('probe');
    });

    it('finds the master by Sentinels that want a user and a password', async () => {
      const server = willClose(await startRedisServer());
      const sentinel = await startSentinel(new URL(server.url).port);
      const url = `redis+sentinel://127.0.0.1:${sentinel}/hooks`;
      const query = '?sentinelUsername=hookferry&sentinelPassword=s3%26cret';
      const redis = connect({ url: url + query, role: 'working', name: 'probe', emit: () => {} });
      expect(await redis.ping()).toBe('PONG');

      const signals = recordSignals();
      connect({ url, role: 'working', name: 'stranger', emit: signals.listen });
      const { error } = await signals.first('redis.error');
      expect(String(error)).toContain('NOAUTH');
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
