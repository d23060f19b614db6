import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { RedisServer } from '../../support/redis-server';
import { REPOSITORY } from '../repository';
import type { RedisDeployment } from './redis-deployment';
import { findAppendOnlyFile } from './torn-write';

const run = promisify(execFile);
const SOURCE = join(REPOSITORY, 'e2e', 'faults', 'redis', 'sync-log.c');

export type SyncPolicy = 'everysec' | 'always';

export interface PowerCutRedis extends RedisDeployment {
  /** Ends Redis, takes back what it had not synced to disk, and starts it with the rest. Returns how many bytes that were. */
  cutPower(): Promise<number>;
}

/** Why power cuts can't be made on this machine; undefined where they can. */
export async function powerCutObstacle(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-power-cut-'));
  try {
    await compile(folder);
    return undefined;
  } catch {
    return 'there is no C compiler (cc), which makes what writes down the syncs of Redis';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One server of which is known, at any time, what would be left of its file if the power went. */
export async function startPowerCutRedis(policy: SyncPolicy): Promise<PowerCutRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-power-cut-'));
  const log = join(folder, 'syncs');
  const server = await RedisServer.start(
    ['--appendfsync', policy, '--maxmemory-policy', 'noeviction', '--auto-aof-rewrite-percentage', '0'],
    tmpdir(),
    { LD_PRELOAD: await compile(folder), FAULTS_SYNC_LOG: log },
  );
  return {
    url: server.url,
    prefix: 'bull',
    server,
    connect: (connection) => new Redis(server.port, '127.0.0.1', connection),
    async cutPower() {
      await server.kill();
      const lost = await dropUnsynced(await findAppendOnlyFile(server.folder), log);
      await server.start();
      return lost;
    },
    async remove() {
      await server.remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function compile(folder: string): Promise<string> {
  // A copy: a compiler's messages then name no file of the repository's.
  const [source, library] = [join(folder, 'sync-log.c'), join(folder, 'sync-log.so')];
  await copyFile(SOURCE, source);
  await run('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']);
  return library;
}

async function dropUnsynced(file: string, log: string): Promise<number> {
  const { ino, size } = await stat(file);
  const synced = (await readFile(log, 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith(`${ino} `))
    .map((line) => Number(line.split(' ')[1]))
    .reduce((most, bytes) => Math.max(most, bytes), 0);
  await truncate(file, synced);
  return size - synced;
}
