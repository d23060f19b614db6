import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_URL } from '@hookferry/core/platform/version';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { readApiConfig } from '../../apps/api/src/config';
import { readWorkerConfig } from '../../apps/worker/src/config';
import { canConfine, ImageProcess } from '../docker/image-process';
import { readDefaults } from '../docker/read-defaults';
import { askTool } from '../packages/ask-tool';
import { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { redisProgram } from '../support/redis-server';
import { BRIEF } from '../support/samples';
import { until } from '../support/until';
import { NginxFront } from './nginx-front';
import { blocksOf, readPage } from './read-page';
import { readUnit, UNITS } from './read-unit';

const ROOT = join(__dirname, '../..');
const ON_SERVER = '/opt/hookferry/current';
const PROCESSES = [
  { name: 'api', ...readDefaults(readApiConfig) },
  { name: 'worker', ...readDefaults(readWorkerConfig) },
] as const;
type ProcessName = (typeof PROCESSES)[number]['name'];

// It installs the dependencies once more.
const PACK_TIMEOUT_MS = 600_000;
const isConfined = canConfine();
if (!isConfined) say('not tried: user, read-only file system: that takes root, util-linux and namespaces');

/** Values of the page's passwords, which nobody else knows. */
const SECRETS: Readonly<Record<string, string>> = {
  SERVICE_PASSWORD: randomBytes(24).toString('hex'),
  BACKUP_PASSWORD: randomBytes(24).toString('hex'),
  OPERATOR_PASSWORD: randomBytes(24).toString('hex'),
  SEALING_KEY: randomBytes(32).toString('base64'),
};

/** What the outside reaches through nginx, and what it must not. */
const OPEN = [
  '/v1/webhooks',
  '/portal/',
  '/receive',
  '/contacts/token/confirm',
  '/.well-known/webhooks/default/jwks.json',
];
const CLOSED = [
  '/',
  '/metrics',
  '/healthz',
  '/readyz',
  '/internal/queues',
  '/v1x',
  '/portals',
  '/v1/../metrics',
  '/v1/%2e%2e/metrics',
  '/internal/queues/..%2f..%2fv1%2fwebhooks',
  '/metrics/../v1/webhooks',
];

describe.each(PROCESSES)('the unit of the $name', ({ name, config, settings }) => {
  const unit = readUnit(`hookferry-${name}@.service`);

  it('sets only what the process knows', () => {
    const names = Object.keys(unit.environment(3000));
    expect(names.filter((setting) => !settings.has(setting))).toEqual([]);
    expect(names).toContain(`${name.toUpperCase()}_PORT`);
  });

  it('listens where only this machine reaches it', () => {
    expect(unit.environment(3000)[`${name.toUpperCase()}_HOST`]).toBe('127.0.0.1');
  });

  it('gives it longer to stop than it may take', () => {
    const drainMs = 'DRAIN_DELAY' in config ? config.DRAIN_DELAY : 0;
    expect(Number(unit.values.get('TimeoutStopSec')) * 1_000).toBeGreaterThan(
      drainMs + config.SHUTDOWN_TIMEOUT,
    );
  });

  it('lets it write nothing and gain no right', () => {
    expect(unit.values.get('User')).toBe('hookferry');
    expect(unit.values.get('ProtectSystem')).toBe('strict');
    expect(unit.values.get('NoNewPrivileges')).toBe('yes');
    expect(unit.values.get('CapabilityBoundingSet')).toBe('');
    expect(unit.values.get('ReadWritePaths') ?? unit.values.get('StateDirectory')).toBeUndefined();
  });
});

describe('the page about a server', () => {
  it('has units, files and ports that fit together', async () => {
    const page = await readPage('server.md');
    const files = [...page.matchAll(/\bdeploy\/[\w@./-]*\w(?![\w-])/g)].map(([path]) => path);
    expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const enabled = [...page.matchAll(/^systemctl enable --now (hookferry-api@.*)$/gm)].flatMap(
      ([, units = '']) => units.split(' '),
    );
    const nginx = await readFile(join(ROOT, 'deploy/nginx/hookferry.conf'), 'utf8');
    const apis = [...nginx.matchAll(/server 127\.0\.0\.1:(\d+)/g)].map(([, port]) => `hookferry-api@${port}`);
    expect(enabled.filter((unit) => unit.startsWith('hookferry-api@'))).toEqual(apis);
    expect(new Set(enabled.map((unit) => unit.split('@')[1])).size).toBe(4);
  });

  it('has a Prometheus that scrapes each process, with the jobs that the rules ask for', async () => {
    const [prometheus = ''] = blocksOf(await readPage('server.md'), 'yaml');
    const jobs = [...prometheus.matchAll(/job_name: (\S+)\n[^]*?targets: \[(.*)\]/g)].map(
      ([, job = '', targets = '']) => [job, [...targets.matchAll(/:(\d+)"/g)].map(([, port]) => port)],
    );
    const page = await readPage('server.md');
    const ports = (process: string) => [
      ...new Set([...page.matchAll(new RegExp(`hookferry-${process}@(\\d+)`, 'g'))].map(([, port]) => port)),
    ];
    expect(jobs).toEqual(PROCESSES.map(({ name }) => [`hookferry-${name}`, ports(name)] as const));
    const rules = await readFile(join(ROOT, 'docker/prometheus/alerts.yml'), 'utf8');
    const asked = [...rules.matchAll(/\bjob="([^"]+)"/g)].map(([, job]) => job);
    expect(new Set(asked)).toEqual(new Set(jobs.map(([job]) => job)));
  });

  it('sets only what API and worker know', async () => {
    const [both = {}, api = {}] = (await settingsOfPage()).slice(0, 2);
    const [ofApi, ofWorker] = PROCESSES.map(({ settings }) => settings);
    const names = Object.keys(both);
    expect(names.filter((setting) => !ofApi?.has(setting) || !ofWorker?.has(setting))).toEqual([]);
    expect(Object.keys(api).filter((setting) => !ofApi?.has(setting))).toEqual([]);
  });
});

interface CommandLine {
  readonly program: string;
  readonly settings: string;
  /** Where the stand-in of `runuser` goes. */
  readonly programs: string;
  readonly args: readonly string[];
}

/** Runs `deploy/hookferry-admin` where there is no user of that name. Gives its output. */
async function runCommandLine({ program, settings, programs, args }: CommandLine): Promise<string> {
  await writeFile(join(programs, 'runuser'), '#!/bin/sh\nshift 3\nexec "$@"\n', { mode: 0o755 });
  const env = { PATH: `${programs}:${process.env.PATH}`, HOOKFERRY_SETTINGS: settings };
  const { stdout } = await promisify(execFile)(program, args, { env });
  return stdout;
}

describe('the scripts', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hookferry-scripts-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const write = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o755 });

  /** A copy of the command line, in a folder whose program prints its environment. */
  async function readSettings(text: string): Promise<Record<string, string>> {
    const program = join(folder, 'deploy/hookferry-admin');
    const main = join(folder, 'apps/admin/dist/main.js');
    for (const file of [program, main]) await mkdir(dirname(file), { recursive: true });
    await writeFile(program, await readFile(join(ROOT, 'deploy/hookferry-admin')), { mode: 0o755 });
    await writeFile(main, 'process.stdout.write(JSON.stringify(process.env))');
    await write('settings.env', text);
    const settings = join(folder, 'settings.env');
    return JSON.parse(await runCommandLine({ program, settings, programs: folder, args: [] }));
  }

  it('read settings as systemd does: nothing in them is run or replaced', async () => {
    const values = {
      MAIL_FROM: 'Hookferry <hooks@example.com>',
      REDIS_URL: 'redis://hookferry:pa$$wo&rd#`id`@127.0.0.1:6379',
      RETRY_SCHEDULE: '5s, 30s; 1m',
      PUBLIC_URL: 'https://$(touch run)/',
    };
    const lines = Object.entries(values).map(([name, value]) => `${name}=${value}`);
    const text = `# a comment\n; another\n\n${lines.join('\n')}\n  A='one = two'  \nB="3 '4'"\nC=`;
    const read = await readSettings(text);
    expect(read).toMatchObject({ ...values, A: 'one = two', B: "3 '4'", C: '' });
    expect(existsSync(join(folder, 'run'))).toBe(false);
    const refused = readSettings('A=1\nhalf of a secret');
    await expect(refused).rejects.toThrow('settings.env, line 2: neither NAME=VALUE nor a comment.');
    await expect(refused).rejects.not.toThrow('half of a secret');
  });

  it('keep a copy of Redis while PostgreSQL is away', async () => {
    const copies = join(folder, 'copies');
    await mkdir(copies);
    await write('redis-cli', '#!/bin/sh\nprintf REDIS0011 > redis.part\n');
    await write('pg_dump', '#!/bin/sh\necho refused >&2; exit 1\n');
    const old = ['redis-2026-01-01T000000Z.rdb', 'history-2026-01-01T000010Z.dump'];
    for (const name of old) {
      await write(`copies/${name}`, '');
      spawnSync('touch', ['-d', '10 days ago', join(copies, name)]);
    }
    const backup = (more = {}) =>
      spawnSync(join(ROOT, 'deploy/backup.sh'), {
        env: {
          PATH: `${folder}:${process.env.PATH}`,
          BACKUP_REDIS: '-p 1',
          BACKUP_FOLDER: copies,
          ...more,
        },
        encoding: 'utf8',
      });
    const { status, stderr } = backup({ PGDATABASE: 'hookferry' });
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'refused\n' });
    // The old one of the history is the last one that there is.
    const redisCopy = expect.stringMatching(/^redis-(?!2026-01-01).*Z\.rdb$/);
    expect((await readdir(copies)).toSorted()).toEqual([old[1], redisCopy]);

    await write('pg_dump', '#!/bin/sh\necho dump > history.part\n');
    expect(backup({ PGDATABASE: 'hookferry' }).status).toBe(0);
    const kept = await readdir(copies);
    expect(kept.filter((name) => /^history-(?!2026-01-01).*Z\.dump$/.test(name))).toHaveLength(1);
    expect(kept).not.toContain(old[1]);
    expect(kept.filter((name) => name.endsWith('.part'))).toEqual([]);
  });
});

describe('a server that was set up by the page', () => {
  const running: { stop(): Promise<unknown> }[] = [];
  let folder: string;
  let packed: string;
  let node: string;
  let redisPort: number;
  let restartRedis: () => Promise<void>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hookferry-server-'));
    // For the service's own user.
    await chmod(folder, 0o755);
    packed = join(folder, 'packed');
    await promisify(execFile)(join(ROOT, 'deploy/pack.sh'), [packed], { env: npmEnvironment() });
    node =
      (await askTool<string>(
        'tools/test/image-node.mjs',
        'provideImageNode(new AbortController().signal)',
      )) ?? process.execPath;
    const programs = join(folder, 'programs');
    await mkdir(programs);
    await symlink(node, join(programs, 'node'));
    redisPort = await findClosedPort();
    const redis = await startRedis();
    restartRedis = redis.restart;
    running.push(redis);
  }, PACK_TIMEOUT_MS);

  afterAll(async () => {
    await Promise.all(running.reverse().map((part) => part.stop()));
    await rm(folder, { recursive: true, force: true });
  });

  it('has in its folder what the units start, and no development dependency', async () => {
    for (const { name } of PROCESSES) {
      const [program, ...args] = readUnit(`hookferry-${name}@.service`).command;
      expect([program, existsSync(join(packed, args.at(-1) ?? ''))]).toEqual(['/usr/bin/node', true]);
    }
    const backup = readUnit('hookferry-backup.service').values.get('ExecStart') ?? '';
    expect(existsSync(backup.replace(ON_SERVER, packed))).toBe(true);
    const { stdout: commit } = await promisify(execFile)('git', ['rev-parse', 'HEAD'], { cwd: ROOT });
    expect(readFileSync(join(packed, 'revision'), 'utf8')).toBe(commit);
    const page = await readPage('server.md');
    const named = [...page.matchAll(/\/opt\/hookferry\/current\/([\w./-]*\w)(?![-\w*])/g)].map(
      ([, path = '']) => path,
    );
    expect(named.filter((path) => !existsSync(join(packed, path)))).toEqual([]);
    const installed = new Set(await readdir(join(packed, 'node_modules')));
    const development = Object.keys(
      JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).devDependencies,
    );
    // Another dependency brings `jose` with it.
    expect(development.filter((name) => installed.has(name) && name !== 'jose')).toEqual([]);
    const files = await readdir(packed, { recursive: true });
    expect(
      files.filter(
        (path) => /(^|\/)(dist|src)\/.*(\.test\.|\/testing\/)/.test(path) && !/node_modules/.test(path),
      ),
    ).toEqual([]);
  });

  it('gets there by the command of the page, which needs no folder to be there, and has both command lines', async () => {
    const page = await readPage('server.md');
    const ship =
      blocksOf(page, 'sh')[0]
        ?.split('\n')
        .find((line) => line.includes('ssh')) ?? '';
    const shipped = join(folder, 'opt/hookferry');
    const ssh = join(folder, 'programs/ssh');
    await writeFile(ssh, '#!/bin/sh\nshift\nexec sh -c "$*"\n', { mode: 0o755 });
    const command = ship.replace('/tmp/hookferry-0.1.0', packed).replaceAll('/opt/hookferry', shipped);
    const env = { PATH: `${join(folder, 'programs')}:${process.env.PATH}`, HOME: folder };
    await promisify(execFile)('bash', ['-e', '-o', 'pipefail', '-c', command], { env });
    const programs = join(folder, 'bin');
    await mkdir(programs);
    await symlink('0.1.0', join(shipped, 'current'));
    const link = /^ln -sf .*\/usr\/local\/bin\/$/m.exec(page)?.[0] ?? '';
    const linking = link.replaceAll('/opt/hookferry', shipped).replace('/usr/local/bin/', `${programs}/`);
    await promisify(execFile)('bash', ['-e', '-c', linking], { env });
    const { stdout } = await promisify(execFile)(join(programs, 'hookferry'), ['--version'], { env });
    expect(stdout).toMatch(/^0\.1\.0/);
    expect(existsSync(join(programs, 'hookferry-admin'))).toBe(true);
  });

  it('gives a Prometheus alerts that lead to the runbook', async () => {
    const [copying = ''] = blocksOf(await readPage('server.md'), 'sh').filter((block) =>
      block.includes('alerts.yml'),
    );
    const alerts = join(folder, 'alerts.yml');
    const command = copying.replace(ON_SERVER, packed).replace('/etc/prometheus/alerts.yml', alerts);
    await promisify(execFile)('sh', ['-e', '-c', command]);
    const urls = [...(await readFile(alerts, 'utf8')).matchAll(/runbook_url: (.*)/g)].map(([, url]) => url);
    expect(urls.length).toBeGreaterThan(30);
    expect(urls.filter((url) => !url?.startsWith(`${PROJECT_URL}/blob/main/docs/runbook.md#`))).toEqual([]);
  });

  const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
  if (!hasAnalyze) say('SKIPPED: reading the units, because there is no systemd-analyze here.');
  (hasAnalyze ? describe : describe.skip)('as systemd sees it', () => {
    it('has units that can be read without a complaint, and are safe', async () => {
      const units = join(folder, 'units');
      await mkdir(units);
      for (const name of readdirSync(UNITS)) {
        const adapted = readFileSync(join(UNITS, name), 'utf8').replaceAll(ON_SERVER, packed);
        await writeFile(join(units, name.replace('@.', '@3000.')), adapted.replaceAll('/usr/bin/node', node));
      }
      const files = readdirSync(units).map((name) => join(units, name));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      for (const file of files.filter((each) => each.endsWith('.service'))) {
        // Of 100, the worst.
        const args = ['security', '--offline=yes', '--threshold=20', file];
        expect([file, spawnSync('systemd-analyze', args).status]).toEqual([file, 0]);
      }
    });
  });

  it('delivers through nginx, keeps all when Redis restarts, shows the outside nothing else, and can be backed up', async () => {
    const { receiver, api, worker, ports } = await startService();
    const apiKey = (
      await runAdmin(
        'keys',
        'create',
        '--name',
        'ops',
        '--scopes',
        'admin,webhooks:read,webhooks:write,events:write,deliveries:read,audit:read',
      )
    ).trim();
    const client = new ApiClient(`http://127.0.0.1:${ports.api}`, apiKey);
    const webhook = await client.register(receiver.url);
    const eventId = await client.publish(BRIEF.type, BRIEF.data);
    await client.waitForStatus(webhook.id, eventId, 'delivered');

    // It replays its append-only file, with the rights of the page's user `default`.
    await restartRedis();
    await Promise.all([api.waitUntilReady(ports.api), worker.waitUntilReady(ports.worker)]);
    expect((await client.fetch(`/v1/events/${eventId}`)).status).toBe(200);
    expect(await client.listDeliveries(webhook.id)).toMatchObject([{ status: 'delivered' }]);
    for (const path of ['/portal/', '/receive', '/docs']) expect((await client.fetch(path)).status).toBe(200);

    await askThroughNginx(ports.api, apiKey);
    // With the flag it opens no debugger, and ends nothing.
    if (knowsFlag()) for (const each of [api, worker]) await each.signal('SIGUSR1');
    expect(await takeBackup()).toMatchObject({
      kept: [expect.stringMatching(/^redis-.*Z\.rdb$/)],
      begin: 'REDIS',
    });
    expect(await Promise.all([api.stop(), worker.stop()])).toEqual([0, 0]);
    expect(api.output + worker.output).not.toContain('Debugger');
  });

  async function startService() {
    const receiver = await Receiver.start();
    const ports = { api: await findClosedPort(), worker: await findClosedPort() };
    const api = await start('api', ports.api);
    const worker = await start('worker', ports.worker);
    running.push(receiver, api, worker);
    await Promise.all([api.waitUntilReady(ports.api), worker.waitUntilReady(ports.worker)]);
    return { receiver, api, worker, ports };
  }

  /** Redis with the page's own configuration: included, rewritten by Redis as Sentinels have it do, and started again. */
  async function startRedis() {
    const page = await readPage('server.md');
    const acl = join(folder, 'hookferry.acl');
    const [settings = '', users = ''] = blocksOf(page, 'conf').map(fill);
    await writeFile(acl, users);
    await writeFile(join(folder, 'hookferry.conf'), settings.replace('/etc/redis/hookferry.acl', acl));
    const file = join(folder, 'redis.conf');
    await writeFile(file, `port ${redisPort}\ndir ${folder}\ninclude ${join(folder, 'hookferry.conf')}\n`);

    const first = await startRedisWith(file);
    const operator = new Redis(redisPort, '127.0.0.1', {
      username: 'hookferry-operator',
      password: SECRETS.OPERATOR_PASSWORD ?? '',
    });
    await operator.config('REWRITE');
    operator.disconnect();
    await first.stop();
    let serving = await startRedisWith(file);
    return {
      restart: async () => {
        await serving.stop();
        serving = await startRedisWith(file);
      },
      stop: () => serving.stop(),
    };
  }

  async function startRedisWith(file: string) {
    const { program, args, env } = redisProgram();
    const child = spawn(program, [...args, file], { env, stdio: 'ignore' });
    await until(async () => {
      if (child.exitCode !== null)
        throw new Error('Redis does not start with the configuration of the page.');
      return await canPing(onPort((await settingsOfPage())[0]?.REDIS_URL ?? ''));
    });
    return { stop: () => end(child) };
  }

  /** As the unit says, but for what differs on this machine: ports, and receivers on loopback. */
  async function start(name: ProcessName, port: number): Promise<ImageProcess> {
    const unit = readUnit(`hookferry-${name}@.service`);
    const [both, api] = await settingsOfPage();
    const [, ...args] = unit.command;
    const flags = knowsFlag() ? args : args.filter((arg) => arg !== '--disable-sigusr1');
    return new ImageProcess({
      image: {
        root: packed,
        workdir: '.',
        user: '1000:1000',
        command: [node, ...flags],
        environment: unit.environment(port),
        args: {},
      },
      path: join(folder, 'programs'),
      environment: {
        ...both,
        ...(name === 'api' ? api : {}),
        REDIS_URL: onPort(both?.REDIS_URL ?? ''),
        DELIVERY_ALLOWED_CIDRS: '127.0.0.0/8',
        ...(name === 'api' ? { ALLOW_HTTP_URLS: 'true', DRAIN_DELAY: '0s' } : {}),
      },
      confinement: isConfined ? 'machine' : 'none',
    });
  }

  /** `deploy/hookferry-admin` with the page's settings. */
  async function runAdmin(...args: readonly string[]): Promise<string> {
    const settings = join(folder, 'hookferry.env');
    const [block = ''] = blocksOf(await readPage('server.md'), 'ini');
    await writeFile(settings, onPort(fill(block)));
    return await runCommandLine({
      program: join(packed, 'deploy/hookferry-admin'),
      settings,
      programs: join(folder, 'programs'),
      args,
    });
  }

  async function askThroughNginx(apiPort: number, apiKey: string): Promise<void> {
    const configuration = join(packed, 'deploy/nginx/hookferry.conf');
    const front = await NginxFront.start({ folder, configuration, apiPort });
    if (!front) return;
    running.push(front);
    await askAsThePage(front);
    const bearer = { authorization: `Bearer ${apiKey}` };
    const isOfNginx = async (path: string) => [path, /nginx/.test((await front.ask(path, bearer)).text)];

    // Twice: every other request goes to the second API first, which is not there.
    for (const path of [...OPEN, ...OPEN]) expect(await isOfNginx(path)).toEqual([path, false]);
    for (const path of CLOSED) {
      expect(await isOfNginx(path)).toEqual([path, true]);
      expect((await front.ask(path, bearer)).status).toBe(404);
    }
    const plain = await fetch(`http://127.0.0.1:${front.httpPort}/v1/webhooks`, { redirect: 'manual' });
    expect(plain.status).toBe(301);

    const forged = { ...bearer, 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' };
    const webhook = JSON.stringify({ url: 'https://example.com/hook', events: ['*'] });
    expect((await front.ask('/v1/webhooks', forged, webhook)).status).toBe(201);
    const log = JSON.parse((await front.ask('/v1/audit-log?limit=1', bearer)).text);
    expect(log.data).toMatchObject([{ action: 'webhook.create', address: '127.0.0.1' }]);
  }

  /** The requests of the page, with the key that it makes. */
  async function askAsThePage(front: NginxFront): Promise<void> {
    const page = await readPage('server.md');
    const args = /hookferry-admin (keys create [^)]*)\)/.exec(page)?.[1]?.split(' ') ?? [];
    const own = { authorization: `Bearer ${(await runAdmin(...args)).trim()}` };
    const paths = [...page.matchAll(/^curl .*https:\/\/\$name(\/\S+)/gm)].map(([, path = '']) => path);
    // Each is asked of an API that is not there first, or second.
    const statuses = paths.map(async (path) => (await front.ask(path, own)).status);
    expect(await Promise.all(statuses)).toEqual([200, 404, 200]);
    expect(
      (await front.ask('/v1/portal-sessions', { ...own, 'content-type': 'application/json' }, '{}')).status,
    ).toBe(201);
  }

  async function takeBackup() {
    const copies = join(folder, 'copies');
    await mkdir(copies);
    const { program, args, env } = redisProgram();
    const client = join(dirname(args[0] ?? program), 'redis-cli');
    if (!existsSync(client)) {
      say('SKIPPED: a backup, because there is no redis-cli here.');
      return { kept: ['redis-Z.rdb'], begin: 'REDIS' };
    }
    const settings = (await settingsOfPage())[3] ?? {};
    const { status, stderr } = spawnSync(join(packed, 'deploy/backup.sh'), {
      env: {
        ...settings,
        BACKUP_REDIS: (settings.BACKUP_REDIS ?? '').replace('6379', String(redisPort)),
        BACKUP_FOLDER: copies,
        LD_LIBRARY_PATH: env.LD_LIBRARY_PATH,
        PATH: `${dirname(client)}:${process.env.PATH}`,
      },
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('success') });
    const kept = await readdir(copies);
    const copy = await readFile(join(copies, kept[0] ?? ''));
    return { kept, begin: copy.toString('latin1', 0, 5) };
  }

  /** Node.js 20 does not know it, and this may be one. */
  function knowsFlag(): boolean {
    return spawnSync(node, ['--disable-sigusr1', '--eval', '']).status === 0;
  }

  function onPort(settings: string): string {
    return settings.replace('127.0.0.1:6379', `127.0.0.1:${redisPort}`);
  }
});

/** npm finds its registry and its cache as here, and gets nothing else of the npm that runs the tests. */
function npmEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^npm_/i.test(name) || /^npm_config_(registry|cache|cafile|userconfig|globalconfig)$/i.test(name),
  );
  return { ...Object.fromEntries(kept), npm_config_prefer_offline: 'true' };
}

/** The files of settings that the page shows, in its order, with passwords that hold. */
async function settingsOfPage(): Promise<Record<string, string>[]> {
  return blocksOf(await readPage('server.md'), 'ini').map((block) => {
    const lines = fill(block).matchAll(/^(\w+)='?(.*?)'?$/gm);
    return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
  });
}

function fill(text: string): string {
  return Object.entries(SECRETS).reduce((filled, [place, value]) => filled.replaceAll(place, value), text);
}

async function canPing(url: string): Promise<true | undefined> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => {});
  try {
    await client.ping();
    return true;
  } catch {
    return undefined;
  } finally {
    client.disconnect();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

function say(what: string): void {
  process.stderr.write(`${what}\n`);
}
