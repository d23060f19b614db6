import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { redisAnswers } from '@hookferry/core/testing/redis-answers';
import { endWithUs } from './end-with-us';
import { cpuMsOf, residentBytesOf } from './process-figures';

const LOOK_EVERY_MS = 20;
const READY_WITHIN_MS = 10_000;

/**
 * A Redis of a measurement's own that writes nothing to disk, so that it begins empty and its processor time and
 * memory are those of what is measured. TEST_REDIS_SERVER is its command line, as a JSON array.
 */
export class RedisProcess {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  /** @param more options of the server. */
  static async start(more: readonly string[] = []): Promise<RedisProcess> {
    const [program = 'redis-server', ...given] = JSON.parse(
      process.env.TEST_REDIS_SERVER ?? '["redis-server"]',
    ) as string[];
    const folder = await mkdtemp(join(tmpdir(), 'webhooks-bench-redis-'));
    const port = await findClosedPort();
    const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    const child = spawn(program, [...given, ...own, '--appendonly', 'no', '--save', '', ...more], {
      env: { ...process.env, LD_LIBRARY_PATH: process.env.TEST_REDIS_LD_LIBRARY_PATH ?? '' },
      stdio: 'ignore',
    });
    endWithUs(child);
    const redis = new RedisProcess(`redis://127.0.0.1:${port}`, child, folder);
    await untilAnswers(port);
    return redis;
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error('Redis did not start.');
    return pid;
  }

  cpuMs(): number {
    return cpuMsOf(this.pid);
  }

  residentBytes(): number {
    return residentBytesOf(this.pid);
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function untilAnswers(port: number): Promise<void> {
  const limit = Date.now() + READY_WITHIN_MS;
  while (!(await redisAnswers(port))) {
    if (Date.now() > limit) throw new Error('Redis did not become ready.');
    await wait(LOOK_EVERY_MS);
  }
}
