import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createClosables } from '@hookferry/core/testing/closables';
import { ProcessGroup } from '../../tools/processes/process-group.mjs';
import { runRedis } from '../../tools/redis/run-redis.mjs';
import { RedisServer, redisProgram } from '../support/redis-server';

const PROJECT = resolve(__dirname, '../..');
const ENDS_WITHIN_MS = 120_000;

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-run-redis-'));
  willClose({ close: () => rm(folder, { recursive: true, force: true }) });
  return folder;
}

async function run(change: { readonly port?: number; readonly settings?: Record<string, string> }) {
  const folder = await makeFolder();
  const group = new ProcessGroup();
  willClose({ close: () => group.stop() });
  const { program, args, env } = redisProgram();
  return await runRedis({
    program: {
      command: [program, ...args],
      version: 'Redis',
      keepsData: true,
      libraryPath: env.LD_LIBRARY_PATH ?? '',
    },
    group,
    folder,
    port: change.port ?? 0,
    persistence: change.settings ?? {},
    signal: new AbortController().signal,
  });
}

describe('a Redis that ends as soon as it is started', () => {
  it('is an error that has what it said of its options', async () => {
    await expect(run({ settings: { 'no-such-option': '1' } })).rejects.toThrow(
      /^redis ended unexpectedly \(exit code 1\)\.[^]*no-such-option[^]*Bad directive/,
    );
  });

  it('is an error that has the end of its log, where another program uses the port', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    willClose({ close: () => new Promise<void>((resolve_) => server.close(() => resolve_())) });
    const { port } = server.address() as AddressInfo;
    await expect(run({ port })).rejects.toThrow(/^redis ended unexpectedly[^]*Address already in use/);
  });

  it('is not taken for another Redis that replies at the port', async () => {
    const server = await RedisServer.start();
    willClose({ close: () => server.remove() });
    await expect(run({ port: server.port })).rejects.toThrow(/^redis ended unexpectedly/);
  });

  it.each([
    ['npm start', ['tools/start.mjs', '--skip-setup']],
    ['npm run test:one', ['tools/test-one.mjs', 'no-such-file']],
    ['npm test', ['tools/test.mjs', 'no-such-file']],
  ])('ends %s, which says why', async (_command, args) => {
    const folder = await makeFolder();
    const script =
      '#!/bin/sh\ncase "$1" in --version) echo "Redis server v=7.0.15";; *) echo "no memory"; exit 1;; esac\n';
    await writeFile(join(folder, 'redis-server'), script, { mode: 0o755 });
    const { REDIS_URL: _url, TEST_REDIS_URL: _test, ...rest } = process.env;
    const env = { ...rest, PATH: `${folder}:${rest.PATH}`, DATA_DIR: folder, REDIS_PROVIDER: 'path' };
    const { code, output } = await new Promise<{ code: unknown; output: string }>((done) =>
      execFile(
        process.execPath,
        args,
        { cwd: PROJECT, env, timeout: ENDS_WITHIN_MS },
        (error, stdout, stderr) => done({ code: error?.code, output: stdout + stderr }),
      ),
    );
    expect(output).toMatch(/redis ended unexpectedly \(exit code 1\)\.[^]*no memory/);
    expect(code).toBe(1);
  });
});
