import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority } from '@hookferry/core/testing/certificate-authority';
import { createClosables } from '@hookferry/core/testing/closables';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { type PostgresPrograms, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { Redis } from 'ioredis';
import { PgBouncer, type PgBouncerProgram } from './pg-bouncer';
import { RedisCluster } from './redis-cluster';
import { type RedisProgram, RedisServer, redisProgram } from './redis-server';
import { runCliWith } from './run-cli';
import { until } from './until';

/** A store that was started for a test, as the service is told of it. */
export interface StartedStore {
  readonly redisUrl: string;
  /** For all processes. */
  readonly environment: Readonly<Record<string, string>>;
  /** Whether it has no append-only file. */
  readonly isInMemory?: boolean;
  /** By which ports, and as whom, the service is connected to each server; none of these needs to be so if it is not given. */
  connections?(): Promise<readonly { readonly ports: Set<number>; readonly users: Set<string> }[]>;
  /** The ports with TLS. */
  readonly tlsPorts?: readonly number[];
  /** With a history: waits until this event's delivery has moved there. */
  untilMoved?(eventId: string): Promise<void>;
  close(): Promise<void>;
}

export interface RedisOptions {
  readonly program?: RedisProgram | undefined;
  /** What the service's user may do, as ACL rules. Without it everybody may do everything, without TLS. */
  readonly rights?: string;
  /** Whether it has no append-only file. */
  readonly isInMemory?: boolean;
}

/** As docs/redis.md has it. */
export const DOCUMENTED_RIGHTS = '+@all -@dangerous +info +config|get +acl|getuser';
const BLOCKED = 'acl bgrewriteaof bgsave config debug failover lastsave latency migrate module monitor';
const BLOCKED_TOO = 'psync replicaof save shutdown slaveof slowlog sync';
/** All but what ElastiCache, MemoryDB, Memorystore, OCI Cache or Aiven block: docs/redis.md has their pages. */
export const RIGHTS_AT_A_PROVIDER = [
  '+@all',
  ...`${BLOCKED} ${BLOCKED_TOO}`.split(' ').map((name) => `-${name}`),
].join(' ');
const USER = 'hookferry:s3cr3t';
const SENTINEL_NAME = 'hooks';

/** TLS with a certificate of an authority that only these processes know. */
class Tls {
  readonly #folder = mkdtempSync(join(tmpdir(), 'webhooks-redis-tls-'));
  readonly authority = new CertificateAuthority();
  readonly files: Readonly<Record<string, string>>;

  constructor() {
    const { cert, key } = this.authority.issue({ subject: 'IP:127.0.0.1' });
    const [certFile, keyFile] = [join(this.#folder, 'redis.pem'), join(this.#folder, 'redis.key')];
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key);
    this.files = {
      'tls-cert-file': certFile,
      'tls-key-file': keyFile,
      'tls-ca-cert-file': this.authority.certFile,
      'tls-auth-clients': 'no',
    };
  }

  get options(): readonly string[] {
    return Object.entries(this.files).flatMap(([name, value]) => [`--${name}`, value]);
  }

  close(): void {
    this.authority.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const optionsOf = ({ rights, isInMemory }: RedisOptions, tls: Tls | undefined) => [
  ...(rights === undefined ? [] : ['--user', 'hookferry', 'on', '>s3cr3t', '~*', '&*', ...rights.split(' ')]),
  ...(isInMemory ? ['--appendonly', 'no'] : []),
  ...(tls?.options ?? []),
];

export async function startSingle(options: RedisOptions = {}): Promise<StartedStore> {
  if (options.rights === undefined) {
    const server = await RedisServer.start(
      optionsOf(options, undefined),
      undefined,
      undefined,
      options.program,
    );
    return { redisUrl: server.url, environment: {}, close: () => server.remove() };
  }
  const { server, tls, tlsPort } = await startWithTls(options);
  return {
    redisUrl: `rediss://${USER}@127.0.0.1:${tlsPort}`,
    environment: { NODE_EXTRA_CA_CERTS: tls.authority.certFile },
    isInMemory: options.isInMemory === true,
    connections: async () => [await connectionsTo(server)],
    tlsPorts: [tlsPort],
    close: async () => {
      await server.remove();
      tls.close();
    },
  };
}

async function startWithTls(options: RedisOptions) {
  const tls = new Tls();
  const tlsPort = await findClosedPort();
  const own = [...optionsOf(options, tls), '--tls-port', String(tlsPort)];
  const server = await RedisServer.start(own, undefined, undefined, options.program);
  return { server, tls, tlsPort };
}

/** A master that is found by a Sentinel, both over TLS. */
export async function startBehindSentinel(options: RedisOptions): Promise<StartedStore> {
  const { server, tls, tlsPort } = await startWithTls(options);
  const sentinel = await startSentinel(tlsPort, tls, server.folder);
  return {
    redisUrl: `rediss+sentinel://${USER}@127.0.0.1:${sentinel.port}/${SENTINEL_NAME}`,
    environment: { NODE_EXTRA_CA_CERTS: tls.authority.certFile },
    connections: async () => [await connectionsTo(server)],
    tlsPorts: [tlsPort],
    close: async () => {
      await sentinel.close();
      await server.remove();
      tls.close();
    },
  };
}

/** One that speaks nothing but TLS. */
async function startSentinel(masterPort: number, tls: Tls, folder: string) {
  const port = await findClosedPort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    'port 0',
    `tls-port ${port}`,
    ...Object.entries(tls.files).map(([name, value]) => `${name} ${value}`),
    'tls-replication yes',
    `dir ${folder}`,
    `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${masterPort} 1`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const { program, args, env } = redisProgram();
  const child = spawn(program, [...args, file, '--sentinel'], { env, stdio: 'ignore' });
  return { port, close: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** A Cluster of three masters. */
export async function startCluster(shards: number, options: RedisOptions = {}): Promise<StartedStore> {
  const environment = { QUEUE_SHARDS: String(shards) };
  if (options.rights === undefined) {
    const cluster = await RedisCluster.start(async () => optionsOf(options, undefined), options.program);
    return { redisUrl: cluster.url, environment, close: () => cluster.remove() };
  }
  const tls = new Tls();
  const tlsPorts: number[] = [];
  const cluster = await RedisCluster.start(async () => {
    const tlsPort = await findClosedPort();
    tlsPorts.push(tlsPort);
    // Or its nodes would tell nobody of each other's TLS ports.
    return [...optionsOf(options, tls), '--tls-cluster', 'yes', '--tls-port', String(tlsPort)];
  }, options.program);
  return {
    redisUrl: `rediss+cluster://${USER}@127.0.0.1:${tlsPorts[0]}`,
    environment: { ...environment, NODE_EXTRA_CA_CERTS: tls.authority.certFile },
    isInMemory: options.isInMemory === true,
    connections: async () => await Promise.all(cluster.nodes.map(connectionsTo)),
    tlsPorts,
    close: async () => {
      await cluster.remove();
      tls.close();
    },
  };
}

/** By which ports, and as whom, the service is connected to a server. */
async function connectionsTo({ port }: RedisServer) {
  const admin = new Redis(port, '127.0.0.1');
  try {
    const list = String(await admin.client('LIST'));
    const ours = list.split('\n').filter((line) => /name=(api|worker)/.test(line));
    const read = (pattern: RegExp) => ours.map((line) => pattern.exec(line)?.[1] ?? '');
    return { ports: new Set(read(/laddr=\S+:(\d+)/).map(Number)), users: new Set(read(/ user=(\S+)/)) };
  } finally {
    admin.disconnect();
  }
}

/** This machine's Redis, and a history. @param pooler before its PostgreSQL. */
export async function startWithHistory(
  programs: PostgresPrograms | undefined,
  pooler?: PgBouncerProgram,
): Promise<StartedStore> {
  const { willClose, closeAll } = createClosables();
  const redis = await startSingle();
  willClose(redis);
  const postgres = willClose(await PostgresServer.start({ programs }));
  const bouncer = pooler && willClose(await PgBouncer.start(pooler, postgres));
  const url = (bouncer ?? postgres).url;
  const migrated = await runCliWith({ HISTORY_DATABASE_URL: url }, 'history', 'migrate');
  if (migrated.exitCode !== 0) throw new Error(migrated.stderr);
  return {
    redisUrl: redis.redisUrl,
    environment: { HISTORY_DATABASE_URL: url, HISTORY_MOVE_AFTER: '0s' },
    untilMoved: async (eventId) => {
      const text = 'SELECT FROM webhook_deliveries WHERE event_id = $1';
      await until(async () => ((await postgres.query(text, [eventId])).length > 0 ? true : undefined));
    },
    close: closeAll,
  };
}
