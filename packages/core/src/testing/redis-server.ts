import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findClosedPort } from './local-server';

const LOOK_EVERY_MS = 20;

export interface RedisServer {
  readonly url: string;
  /**
   * From now on it refuses all writes that take memory, as a full one; or does so once it has taken this many
   * bytes more. --
   */
  fillUp(leftBytes?: number): Promise<void>;
  makeRoom(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A Redis of one test, in memory only: for work that would disturb tests that share one.
 * @param options more of its command line.
 */
export async function startRedisServer(options: readonly string[] = []): Promise<RedisServer> {
  const [program = 'redis-server', ...given] = JSON.parse(
    process.env.TEST_REDIS_SERVER ?? '["redis-server"]',
  ) as string[];
  const port = await findClosedPort();
  // A replica writes what it is sent into a file, and each server reads the one that it finds.
  const folder = await mkdtemp(join(tmpdir(), 'redis-'));
  const own = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  // Otherwise a replica waits for five seconds whether another one comes.
  const ofMaster = ['--repl-diskless-sync-delay', '0'];
  const child = spawn(program, [...given, ...own, ...ofMaster, ...options], {
    cwd: folder,
    env: { ...process.env, LD_LIBRARY_PATH: process.env.TEST_REDIS_LD_LIBRARY_PATH ?? '' },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const client = new Redis(port, '127.0.0.1', {
    maxRetriesPerRequest: null,
    retryStrategy: () => LOOK_EVERY_MS,
  });
  client.on('error', () => {});
  while (client.status !== 'ready') {
    if (child.exitCode !== null) throw new Error('Redis does not start.');
    await wait(LOOK_EVERY_MS);
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    async fillUp(leftBytes) {
      const used = /used_memory:(\d+)/.exec(await client.info('memory'))?.[1];
      await client.config('SET', 'maxmemory', leftBytes === undefined ? 1 : Number(used) + leftBytes);
    },
    makeRoom: async () => void (await client.config('SET', 'maxmemory', '0')),
    async close() {
      client.disconnect();
      child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
