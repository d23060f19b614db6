import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority } from '@hookferry/core/testing/certificate-authority';
import { createClosables } from '@hookferry/core/testing/closables';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
import { RedisServer, redisProgram } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

const SENTINEL_NAME = 'hooks';
// As docs/performance.md has it.
const RIGHTS = 'on >s3cr3t ~* &* +@all -@dangerous +info +config|get';
const USER = 'hookferry:s3cr3t';

const folder = mkdtempSync(join(tmpdir(), 'webhooks-redis-tls-'));
const authority = new CertificateAuthority();
const { cert, key } = authority.issue({ subject: 'IP:127.0.0.1' });
const files = { cert: join(folder, 'redis.pem'), key: join(folder, 'redis.key') };
writeFileSync(files.cert, cert);
writeFileSync(files.key, key);
const TLS_FILES = {
  'tls-cert-file': files.cert,
  'tls-key-file': files.key,
  'tls-ca-cert-file': authority.certFile,
  'tls-auth-clients': 'no',
};
const TLS_OPTIONS = Object.entries(TLS_FILES).flatMap(([name, value]) => [`--${name}`, value]);
const USER_OPTIONS = ['--user', 'hookferry', ...RIGHTS.split(' ')];

const { willClose, closeAll } = createClosables();
afterEach(closeAll);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function startServer(options: readonly string[]): Promise<RedisServer> {
  const server = await RedisServer.start(options);
  willClose({ close: () => server.remove() });
  return server;
}

/** One event, all the way. */
async function deliverOver(redisUrl: string): Promise<Stack> {
  const stack = await Stack.start({
    environment: { REDIS_URL: redisUrl, NODE_EXTRA_CA_CERTS: authority.certFile },
  });
  willClose({ close: () => stack.stop() });
  const receiver = await Receiver.start();
  willClose({ close: () => receiver.stop() });
  const { id } = await stack.client.register(receiver.url);
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await stack.client.waitForStatus(id, eventId, 'delivered');
  return stack;
}

/** By which ports, and as whom, the service is connected to a server. */
async function connectionsTo(server: RedisServer): Promise<{ ports: Set<number>; users: Set<string> }> {
  const list = String(await asAdmin(server, (admin) => admin.client('LIST')));
  const ours = list.split('\n').filter((line) => /name=(api|worker)/.test(line));
  const read = (pattern: RegExp) => ours.map((line) => pattern.exec(line)?.[1] ?? '');
  return {
    ports: new Set(read(/laddr=\S+:(\d+)/).map(Number)),
    users: new Set(read(/ user=(\S+)/)),
  };
}

it('reaches a Redis over TLS whose authority it was told of', async () => {
  const tlsPort = await findClosedPort();
  const server = await startServer([...TLS_OPTIONS, '--tls-port', String(tlsPort)]);
  await deliverOver(`rediss://127.0.0.1:${tlsPort}`);
  expect((await connectionsTo(server)).ports).toEqual(new Set([tlsPort]));
});

it('needs no more than the rights that are documented', async () => {
  const server = await startServer(USER_OPTIONS);
  const stack = await deliverOver(`redis://${USER}@127.0.0.1:${server.port}`);
  // An erasure looks for what no list leads to.
  expect(await asAdmin(server, (admin) => admin.call('ACL', 'DRYRUN', 'hookferry', 'SCAN', '0'))).toBe('OK');
  expect((await connectionsTo(server)).users).toEqual(new Set(['hookferry']));
  const output = [stack.api, ...stack.workers].map((part) => part.output).join('\n');
  expect(output).not.toContain('NOPERM');
});

it('reaches the master behind Sentinels over TLS, the Sentinels too', async () => {
  const tlsPort = await findClosedPort();
  const server = await startServer([...TLS_OPTIONS, ...USER_OPTIONS, '--tls-port', String(tlsPort)]);
  const sentinelPort = await startSentinel(tlsPort);
  await deliverOver(`rediss+sentinel://${USER}@127.0.0.1:${sentinelPort}/${SENTINEL_NAME}`);
  expect(await connectionsTo(server)).toEqual({ ports: new Set([tlsPort]), users: new Set(['hookferry']) });
});

it('reaches all nodes of a Cluster over TLS', async () => {
  const tlsPorts: number[] = [];
  const cluster = await RedisCluster.start(async () => {
    const tlsPort = await findClosedPort();
    tlsPorts.push(tlsPort);
    // Or its nodes would tell nobody of each other's TLS ports.
    const ofCluster = ['--tls-cluster', 'yes', '--tls-port', String(tlsPort)];
    return [...TLS_OPTIONS, ...USER_OPTIONS, ...ofCluster];
  });
  willClose({ close: () => cluster.remove() });
  await deliverOver(`rediss+cluster://${USER}@127.0.0.1:${tlsPorts[0]}`);
  for (const node of cluster.nodes) {
    const { ports, users } = await connectionsTo(node);
    expect(tlsPorts).toContain([...ports][0]);
    expect([ports.size, users]).toEqual([1, new Set(['hookferry'])]);
  }
});

async function asAdmin<Result>(
  { port }: RedisServer,
  ask: (admin: Redis) => Promise<Result>,
): Promise<Result> {
  const admin = new Redis(port, '127.0.0.1');
  try {
    return await ask(admin);
  } finally {
    admin.disconnect();
  }
}

/** One that speaks nothing but TLS. */
async function startSentinel(masterPort: number): Promise<number> {
  const port = await findClosedPort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    'port 0',
    `tls-port ${port}`,
    ...Object.entries(TLS_FILES).map(([name, value]) => `${name} ${value}`),
    'tls-replication yes',
    `dir ${folder}`,
    `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${masterPort} 1`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const { program, args, env } = redisProgram();
  const child = spawn(program, [...args, file, '--sentinel'], { env, stdio: 'ignore' });
  willClose({ close: () => end(child) });
  return port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
