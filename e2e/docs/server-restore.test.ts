import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { redisProgram } from '../support/redis-server';
import { until } from '../support/until';
import { blocksOf, readPage } from './read-page';

const { program, args, env: libraries } = redisProgram();
const client = join(dirname(args[0] ?? program), 'redis-cli');
const hasClient = existsSync(client);
if (!hasClient)
  process.stderr.write('SKIPPED: the way back on a server, because there is no redis-cli here.\n');

let folder: string;
let port: number;
const at = (path: string) => join(folder, path);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'server-restore-'));
  port = await findClosedPort();
  for (const path of ['programs', 'etc/redis', 'var/lib/redis', 'var/lib/hookferry-backup'])
    await mkdir(at(path), { recursive: true });
  // As Debian's, which says it first, with the page's settings included at its end.
  await writeFile(at('etc/redis/hookferry.conf'), 'appendonly yes\nappendfsync always\nsave ""\n');
  const own = `port ${port}\nbind 127.0.0.1\ndaemonize yes\ndir ${at('var/lib/redis')}\nappendonly no\n`;
  await writeFile(at('etc/redis/redis.conf'), `${own}include ${at('etc/redis/hookferry.conf')}\n`);
  // In the place of systemd: it knows Redis alone, which tells systemd when it has started.
  const systemctl = `#!/bin/sh
case "$*" in
stop*redis-server) redis-cli -p ${port} SHUTDOWN ;;
'start redis-server') ${[program, ...args].join(' ')} ${at('etc/redis/redis.conf')}; until redis-cli -p ${port} PING | grep -q PONG; do :; done ;;
esac
`;
  await writeFile(at('programs/systemctl'), systemctl, { mode: 0o755 });
});
afterAll(async () => {
  await run('systemctl stop redis-server').catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

async function run(commands: string): Promise<void> {
  const path = `${at('programs')}:${dirname(client)}:${process.env.PATH}`;
  const env = { ...libraries, PATH: path, REDIS_ADMIN_URL: `redis://127.0.0.1:${port}` };
  await promisify(execFile)('bash', ['-e', '-o', 'pipefail', '-c', commands], { env });
}

/** Stops Redis, if it runs, and starts it. */
async function restart(isRunning = true): Promise<Redis> {
  await run(`${isRunning ? 'systemctl stop redis-server; ' : ''}systemctl start redis-server`);
  return await connected();
}

async function connected(): Promise<Redis> {
  const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  await until(async () => (await redis.ping()) === 'PONG' || undefined);
  return redis;
}

(hasClient ? describe : describe.skip)('the page about a server', () => {
  it('leads back to a copy, after which a restart loses nothing', async () => {
    const before = await restart(false);
    await before.set('copied', 'yes');
    await before.save();
    const copy = at('var/lib/hookferry-backup/redis-2026-12-01T060000Z.rdb');
    await copyFile(at('var/lib/redis/dump.rdb'), copy);
    await before.set('since', 'lost');
    before.disconnect();

    const [back = ''] = blocksOf(await readPage('server.md'), 'sh').filter((block) =>
      block.includes(' CONFIG SET appendonly'),
    );
    const adapted = back
      .replaceAll(/(\s)(\/(?:var|etc)\/)/g, `$1${folder}$2`)
      .replaceAll('-o redis -g redis ', '');
    await run(adapted);
    const restored = await connected();
    expect(await restored.mget('copied', 'since')).toEqual(['yes', null]);
    expect(await readFile(at('etc/redis/redis.conf'), 'utf8')).not.toContain('appendonly no');
    await restored.set('after', 'kept');
    restored.disconnect();

    const again = await restart();
    expect(await again.mget('copied', 'after')).toEqual(['yes', 'kept']);
    again.disconnect();
  });
});
