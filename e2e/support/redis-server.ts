import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { redisAnswers } from '@hookferry/core/testing/redis-answers';
import { Redis } from 'ioredis';
import { until } from './until';

/** A Redis server of a test's own, to be stopped, frozen and started again: on disk, with an append-only file. */
export class RedisServer {
  #child: ChildProcess | undefined;

  private constructor(
    /** Where its data are. */
    readonly folder: string,
    readonly port: number,
    private readonly options: readonly string[],
    private readonly environment: Readonly<Record<string, string>>,
    private readonly program: RedisProgram,
  ) {}

  /**
   * @param options more of the command line.
   * @param within the folder that its own is made in.
   * @param environment more of the process's environment.
   * @param program by default the one that this machine has.
   */
  static async start(
    options: readonly string[] = [],
    within: string = tmpdir(),
    environment: Readonly<Record<string, string>> = {},
    program: RedisProgram = redisProgram(),
  ): Promise<RedisServer> {
    const folder = await mkdtemp(join(within, 'webhooks-redis-'));
    const server = new RedisServer(folder, await findClosedPort(), options, environment, program);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** @param more of the command line, this time. */
  async start(more: readonly string[] = []): Promise<void> {
    const { program, args, env } = this.program;
    const ownArguments = [
      '--port',
      String(this.port),
      '--dir',
      this.folder,
      '--appendonly',
      'yes',
      '--save',
      '',
      ...this.options,
      ...more,
    ];
    const child = spawn(program, [...args, ...ownArguments], {
      env: { ...env, ...this.environment },
      stdio: 'ignore',
    });
    this.#child = child;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`Redis does not start with what is in ${this.folder}.`);
      return (await redisAnswers(this.port)) ? true : undefined;
    });
  }

  /** Ends it as a power cut of the process would: no farewell, no last save. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Keeps the connections open and replies to nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /**
   * Starts it, after its end, with nothing but what is in a backup. A Redis with an append-only file does not look at
   * `dump.rdb`: it has to start without one, and to write one of what it has read then.
   */
  async startFromBackup(file: string): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder);
    await copyFile(file, join(this.folder, 'dump.rdb'));
    await this.start(['--appendonly', 'no']);
    const client = new Redis(this.port, '127.0.0.1');
    await client.config('SET', 'appendonly', 'yes');
    await until(async () => {
      const persistence = await client.info('persistence');
      return /aof_rewrite_in_progress:0/.test(persistence) && /aof_rewrite_scheduled:0/.test(persistence)
        ? true
        : undefined;
    });
    client.disconnect();
  }

  /** Starts it, after its end, with no data at all. */
  async startEmpty(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder);
    await this.start();
  }

  async remove(): Promise<void> {
    await this.#end('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }

  async #end(signal: 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}

/** How a Redis is run. */
export interface RedisProgram {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** How Redis is run on this machine. */
export function redisProgram(): RedisProgram {
  const [program = 'redis-server', ...args] = JSON.parse(
    process.env.TEST_REDIS_SERVER ?? '["redis-server"]',
  ) as string[];
  return {
    program,
    args,
    env: { ...process.env, LD_LIBRARY_PATH: process.env.TEST_REDIS_LD_LIBRARY_PATH ?? '' },
  };
}
