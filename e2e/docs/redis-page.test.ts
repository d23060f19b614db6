import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectRedis } from '@hookferry/core/platform/redis-connect';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { redisProgram } from '../support/redis-server';
import { until } from '../support/until';
import { blocksOf, readPage } from './read-page';

const SENTINELS = 3;

describe('the master, the replica and the Sentinels of the page', () => {
  let folder: string;
  let children: ChildProcess[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hookferry-sentinels-'));
    children = [];
  });
  afterEach(async () => {
    await Promise.all(children.map((child) => end(child, 'SIGKILL')));
    await rm(folder, { recursive: true, force: true });
  });

  it('fail over, and the dead master starts again from the files that Redis has written, as a replica', async () => {
    const ports = await Promise.all(
      Array.from({ length: 2 + SENTINELS }, async () => await findClosedPort()),
    );
    const [first = 0, second = 0, ...sentinels] = ports;
    const [ofServer, ofSentinels] = [await readPage('server.md'), await readPage('redis.md')];
    const [settings = '', users = ''] = blocksOf(ofServer, 'conf');
    const [ofReplication = '', moreUsers = '', sentinel = ''] = blocksOf(ofSentinels, 'conf');

    async function writeServer(port: number, more = '') {
      const own = join(folder, String(port));
      await mkdir(own);
      const acl = join(own, 'hookferry.acl');
      await writeFile(acl, `${users}\n${moreUsers}\n`);
      const included = `${settings.replace('/etc/redis/hookferry.acl', acl)}\n${ofReplication}\n${more}\n`;
      await writeFile(join(own, 'hookferry.conf'), included);
      const main = `port ${port}\ndir ${own}\ninclude ${join(own, 'hookferry.conf')}\n`;
      await writeFile(join(own, 'redis.conf'), main);
      return join(own, 'redis.conf');
    }

    async function writeSentinel(port: number) {
      const own = join(folder, String(port));
      await mkdir(own);
      const text = sentinel
        .replace('redis-1.internal 6379', `127.0.0.1 ${first}`)
        .replace('0.0.0.0', '127.0.0.1');
      await writeFile(join(own, 'sentinel.conf'), `port ${port}\ndir ${own}\n${text}\n`);
      return join(own, 'sentinel.conf');
    }

    const file = await writeServer(first);
    const master = start(file);
    start(await writeServer(second, `replicaof 127.0.0.1 ${first}`));
    for (const port of sentinels) start(await writeSentinel(port), '--sentinel');

    const asked = new Redis(sentinels[0] ?? 0, '127.0.0.1', { password: 'SENTINELS_PASSWORD' });
    asked.on('error', () => {});
    await until(async () => {
      const info = await asked.info('sentinel').catch(() => '');
      return info.includes(`slaves=1,sentinels=${SENTINELS}`) ? true : undefined;
    });

    const url = (blocksOf(ofSentinels, 'ini')[0] ?? '').replace(/^REDIS_URL='(.*)'$/, '$1');
    const hosts = sentinels.map((port) => `127.0.0.1:${port}`).join(',');
    const client = connectRedis({
      url: url.replace(/@[^/]+\//, `@${hosts}/`),
      role: 'working',
      name: 'test',
      emit: () => {},
    });
    await client.set('kept', 'yes');
    await untilReplicated(first);

    await end(master, 'SIGKILL');
    await until(async () => ((await masterOf(asked)) === second ? true : undefined));
    await until(async () => ((await client.get('kept').catch(() => undefined)) === 'yes' ? true : undefined));
    await client.set('after', 'yes');

    const again = start(file);
    await untilReplicated(second);
    expect(again.exitCode).toBeNull();
    asked.disconnect();
    client.disconnect();
  }, 120_000);

  function start(...args: string[]): ChildProcess {
    const { program, args: before, env } = redisProgram();
    const child = spawn(program, [...before, ...args], { env, stdio: 'ignore' });
    children.push(child);
    return child;
  }
});

/** Until the replica of this master has all that it was told. */
async function untilReplicated(port: number): Promise<void> {
  const operator = new Redis(port, '127.0.0.1', {
    username: 'hookferry-operator',
    password: 'OPERATOR_PASSWORD',
  });
  operator.on('error', () => {});
  await until(async () => {
    const info = await operator.info('replication').catch(() => '');
    const written = /^master_repl_offset:(\d+)/m.exec(info)?.[1];
    const confirmed = /^slave0:.*state=online,offset=(\d+)/m.exec(info)?.[1];
    return written !== undefined && written === confirmed ? true : undefined;
  });
  operator.disconnect();
}

async function masterOf(sentinel: Redis): Promise<number> {
  const [, port] = (await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'hooks')) as [string, string];
  return Number(port);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
