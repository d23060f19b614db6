import { chmod, mkdir, readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { verify } from '@hookferry/receiver';
import { blocksOf } from '../docs/read-page';
import { Receiver } from '../support/receiver';
import { redisProgram } from '../support/redis-server';
import { until } from '../support/until';
import { ConsumerProject } from './consumer-project';
import { PROJECT, packPackage } from './pack-package';
import { RunningProgram } from './running-program';

// Two packages are packed and installed: on a busy machine that takes longer than a test may.
const INSTALL_TIMEOUT_MS = 300_000;

const READY = / API +(http\S+)\n[^]*Ctrl-C stops everything/;

let project: ConsumerProject;
let receiver: Receiver;
const started: RunningProgram[] = [];
const secondReply = withResolvers();

beforeAll(async () => {
  const [server, cli] = [await packPackage('server'), await packPackage('cli')];
  const tarballs = { 'hookferry-server': server.tarball, '@hookferry/cli': cli.tarball };
  project = await ConsumerProject.install(tarballs);
  await Promise.all([server, cli].map(({ folder }) => rm(folder, { recursive: true, force: true })));
  await provideRedis();
  receiver = await Receiver.start((_, count) => (count === 2 ? secondReply.promise : 204));
}, INSTALL_TIMEOUT_MS);
afterEach(async () => {
  await Promise.all(started.splice(0).map((program) => program.stop()));
});
afterAll(async () => {
  await receiver?.stop();
  await project?.remove();
});

it('delivers a verified event by the commands of its page, and leaves no process behind', async () => {
  const server = start('hookferry-server');
  const url = await server.waitFor(READY);
  expect((await stat(join(project.folder, '.hookferry'))).mode & 0o777).toBe(0o700);
  const redisUrl = await server.waitFor(/ Redis +(redis:\S+)/);

  const responses = await pastePublishing(url);
  const [{ body, headers } = never()] = await receiver.waitFor(1);
  const webhook = responses.find((response) => typeof response.secret === 'string');
  const event = await verify({ secret: String(webhook?.secret), headers, body });
  expect(event).toMatchObject({ type: 'order.created', data: { id: 'ord_1', total: 99.5 } });

  const portal = await fetch(`${url}/portal/`);
  expect(portal.status).toBe(200);
  for (const [, asset = ''] of (await portal.text()).matchAll(
    /(?:src|href)="(?:\.\/|\/portal\/)?(assets\/[^"]+)"/g,
  ))
    expect(await statusOf(`${url}/portal/${asset}`)).toBe(200);
  for (const path of ['/docs', '/docs/redoc.js', '/openapi.json', '/receive', '/readyz'])
    expect([path, await statusOf(url + path)]).toEqual([path, 200]);

  expect(await server.stop('SIGINT')).toBe(0);
  await noProcessIsLeft();
  await expect(fetch(redisUrl.replace('redis:', 'http:'))).rejects.toThrow('fetch failed');
});

it('ends the attempt under way when it is told to stop', async () => {
  const server = start('hookferry-server');
  const url = await server.waitFor(READY);
  await request(url, 'events', { type: 'order.created', data: { id: 'ord_2' } });
  await receiver.waitFor(2);
  const code = server.stop('SIGTERM');
  await server.waitFor(/(process\.stopping)/);
  secondReply.resolve(204);
  expect(await code).toBe(0);
});

it('goes on with its data when `hookferry up` starts it, and runs code in its sandbox', async () => {
  const up = start('hookferry', 'up');
  const url = await up.waitFor(READY);
  const { data: webhooks } = await request<{ data: { id: string; url: string }[] }>(url, 'webhooks');
  expect(webhooks).toMatchObject([{ url: receiver.url }]);
  const { data: deliveries } = await request<{ data: object[] }>(
    url,
    `webhooks/${webhooks[0]?.id}/deliveries`,
  );
  const delivered = { status: 'delivered', attempt_count: 1 };
  expect(deliveries).toMatchObject([delivered, delivered]);
  const code = 'export default (event) => ({ body: { total: event.data.total } })';
  const tried = await request(url, 'transformations/try', { code, event_type: 'order.created' });
  expect(tried).toMatchObject({ outcome: 'made', body: '{"total":99.5}' });

  const second = start('hookferry-server');
  await second.waitFor(/(is using \S+\.hookferry)/);
  expect(await second.exited).toBe(1);

  expect(await up.stop()).toBe(0);
  await noProcessIsLeft();
});

it('says which port is taken, and stops what it has started', async () => {
  const { port } = new URL(receiver.url);
  const server = start('hookferry-server', '--port', port);
  expect(await server.waitFor(/^(\S+) is \d+, but another program uses that port/m)).toBe('--port');
  expect(await server.exited).toBe(1);
  await noProcessIsLeft();
});

/** Each in the same folder, with an empty home. */
function start(program: string, ...args: readonly string[]): RunningProgram {
  const path = [join(project.folder, 'bin'), process.env.PATH].join(':');
  const command = [join(project.folder, 'node_modules/.bin', program), ...args] as const;
  const environment = { PATH: path, HOME: join(project.folder, 'home'), API_PORT: '0', WORKER_PORT: '0' };
  const running = new RunningProgram(command, environment, project.folder);
  started.push(running);
  return running;
}

/** The Redis of these tests as one that is installed. */
async function provideRedis(): Promise<void> {
  const { program, args, env } = redisProgram();
  const libraries = `export LD_LIBRARY_PATH='${env.LD_LIBRARY_PATH ?? ''}'`;
  const exec = `exec ${[program, ...args].map((word) => `'${word}'`).join(' ')} "$@"`;
  const file = await project.write('bin/redis-server', `#!/bin/sh\n${libraries}\n${exec}\n`);
  await chmod(file, 0o755);
  await mkdir(join(project.folder, 'home'));
}

/** @returns the responses, in order. */
async function pastePublishing(url: string): Promise<Record<string, unknown>[]> {
  const page = await readFile(join(PROJECT, 'packages/server/README.md'), 'utf8');
  const [run, publish = ''] = blocksOf(page, 'sh');
  expect(run).toBe('npx ./hookferry-server-0.1.0.tgz');
  const commands = publish
    .replace('http://127.0.0.1:3000', url)
    .replace('http://127.0.0.1:4000/hook', receiver.url);
  const { output } = await project.run('bash', '-c', commands);
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function request<T>(url: string, path: string, body?: object): Promise<T> {
  const key = (await readFile(join(project.folder, '.hookferry/api-key'), 'utf8')).trim();
  const response = await fetch(`${url}/v1/${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  return (await response.json()) as T;
}

async function statusOf(url: string): Promise<number> {
  const { status } = await fetch(url);
  return status;
}

/** Each of them runs in the project's folder. */
async function noProcessIsLeft(): Promise<void> {
  await until(async () => {
    const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const folders = await Promise.all(ids.map((id) => readlink(`/proc/${id}/cwd`).catch(() => '')));
    return folders.some((folder) => folder.startsWith(project.folder)) ? undefined : true;
  });
}

function withResolvers() {
  let resolve: (status: number) => void = never;
  const promise = new Promise<number>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function never(): never {
  throw new Error('There is no request.');
}
