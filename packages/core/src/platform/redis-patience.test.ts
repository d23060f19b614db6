import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { createClosables } from '../testing/closables';
import { startRedisProxy } from '../testing/redis-proxy';
import { standStill } from '../testing/stand-still';
import { openTestRedis } from '../testing/test-redis';
import { type ConnectionRole, connectRedis } from './redis-connect';
import { RedisProbe } from './redis-probe';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

interface Wish {
  readonly url?: string;
  readonly role?: ConnectionRole;
  readonly silenceMs?: number;
}

async function open({ url, role = 'answering', ...silence }: Wish = {}): Promise<Redis> {
  const test = url ?? willClose(await openTestRedis()).url;
  const redis = connectRedis({ url: test, role, name: 'test', emit: () => {}, ...silence }) as Redis;
  willClose({ close: () => redis.disconnect() });
  while (redis.status !== 'ready') await nextTurn();
  return redis;
}

describe('a process that stands still for longer than its patience', () => {
  it('takes the reply that Redis sent meanwhile', async () => {
    const redis = await open();
    const reply = redis.ping();
    // It is sent at the end of the turn.
    await nextTurn();
    standStill(1_800);
    expect(await reply).toBe('PONG');
  });

  it('waits for the reply to what it sent afterwards only', async () => {
    const redis = await open();
    const reply = redis.ping();
    standStill(1_800);
    expect(await reply).toBe('PONG');
  });

  it('keeps its connection', async () => {
    const redis = await open({ role: 'working', silenceMs: 200 });
    const closed = jest.fn();
    redis.on('close', closed);
    const reply = redis.ping();
    await nextTurn();
    standStill(400);
    expect(await reply).toBe('PONG');
    await nextTurn();
    expect(closed).not.toHaveBeenCalled();
  });

  it('is ready', async () => {
    const probe = new RedisProbe({ redis: await open(), keyOf: (tag) => `{${tag}}` });
    // It loads a script, which takes two round trips. The next look is one command.
    await probe.look();
    const standing = probe.look();
    await nextTurn();
    standStill(1_000);
    expect(await standing).toEqual({ kind: 'takes_writes' });
  });
});

describe('a Redis that is silent', () => {
  async function openFrozen(wish: Wish) {
    const proxy = willClose(await startRedisProxy(willClose(await openTestRedis()).url));
    const redis = await open({ ...wish, url: proxy.url });
    proxy.freeze();
    return redis;
  }

  it('fails a command whose caller waits', async () => {
    const redis = await openFrozen({ role: 'answering' });
    await expect(redis.ping()).rejects.toThrow('Command timed out');
  });

  it('loses its connection', async () => {
    const redis = await openFrozen({ role: 'working', silenceMs: 200 });
    redis.ping().catch(() => {});
    const [error] = await once(redis, 'error');
    expect(String(error)).toContain('Socket timeout');
  });
});
