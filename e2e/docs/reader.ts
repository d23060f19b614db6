import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { type RedisServer, startRedisServer } from '@hookferry/core/testing/redis-server';
import { ApiClient } from '../support/api-client';
import { addressOf, Stack } from '../support/stack';
import { Terminal } from './terminal';

const ROOT = join(__dirname, '..', '..');
const API_ON_PAGES = 'http://127.0.0.1:3000';
const WORKER_ON_PAGES = 'http://127.0.0.1:3001';
const REDIS_ON_PAGES = 'redis://127.0.0.1:6379';
const RECEIVER_ON_PAGES = /\b4000\b/g;

/** In the place of Redis' own, which the tests have not: the command goes to the real Redis; what measures for ever ends. */
const REDIS_CLI = `#!/usr/bin/env node
const { Redis } = require('ioredis');
const [flag, url, ...command] = process.argv.slice(2);
if (flag === '-u' && !command[0].startsWith('-')) {
  const redis = new Redis(url);
  redis.call(...command).then((reply) => console.log(String(reply)), (error) => {
    console.error(error.message);
    process.exitCode = 1;
  }).finally(() => redis.disconnect());
} else if (!process.argv.some((word) => /^--latency(-history)?$/.test(word))) process.exitCode = 2;
`;

/** Somebody with a service that runs and a terminal in its folder, who pastes what the pages say. */
export class Reader {
  private constructor(
    readonly stack: Stack,
    readonly terminal: Terminal,
    readonly apiKey: string,
    readonly receiverPort: number,
    readonly folder: string,
    private readonly workerUrl: string,
    private readonly redis: RedisServer,
  ) {}

  /** Of the API, with the reader's key. */
  get client(): ApiClient {
    return new ApiClient(this.stack.client.baseUrl, this.apiKey);
  }

  static async start(environment: Readonly<Record<string, string>> = {}): Promise<Reader> {
    const { key: apiKey } = buildApiKey();
    // What pages say may change all of a server.
    const redis = await startRedisServer();
    const stack = await Stack.start({
      redisUrl: redis.url,
      environment: { BOOTSTRAP_API_KEY: apiKey, ...environment },
    });
    const folder = await mkdtemp(join(tmpdir(), 'webhooks-reader-'));
    await mkdir(join(folder, '.data'));
    await writeFile(join(folder, '.data', 'api-key'), apiKey);
    // As `npm start` writes it.
    const variables = `HOOKFERRY_URL=${stack.client.baseUrl} HOOKFERRY_API_KEY=${apiKey}`;
    const path = `PATH='${ROOT}/node_modules/.bin':"$PATH"`;
    await writeFile(join(folder, '.data', 'env'), `export ${variables} ${path}\n`);
    await writeFile(join(folder, '.data', 'redis-url'), `${stack.redis.url}\n`);
    for (const name of ['node_modules', 'examples', 'clients'])
      await symlink(join(ROOT, name), join(folder, name));
    const [worker] = stack.workers;
    if (!worker) throw new Error('There is no worker.');
    const workerUrl = await addressOf(worker);
    return new Reader(stack, new Terminal(folder), apiKey, await findClosedPort(), folder, workerUrl, redis);
  }

  /** A block of a page, with this reader's Redis, and the ports of its service and receiver. */
  adapt(block: string): string {
    return block
      .replaceAll(API_ON_PAGES, this.stack.client.baseUrl)
      .replaceAll(WORKER_ON_PAGES, this.workerUrl)
      .replaceAll(REDIS_ON_PAGES, this.stack.redis.url)
      .replaceAll(RECEIVER_ON_PAGES, String(this.receiverPort));
  }

  async installRedisCli(): Promise<void> {
    const program = join(this.folder, 'redis-cli');
    await writeFile(program, REDIS_CLI);
    await chmod(program, 0o755);
  }

  async stop(): Promise<void> {
    await this.terminal.close();
    await this.stack.stop();
    await this.redis.close();
    await rm(this.folder, { recursive: true });
  }
}
