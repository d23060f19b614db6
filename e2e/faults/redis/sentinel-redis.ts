import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeptRedis } from '@hookferry/core/platform/redis-keeper';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { RedisServer, redisProgram } from '../../support/redis-server';
import { until } from '../../support/until';
import { PartitionProxy } from './partition-proxy';
import type { RedisDeployment } from './redis-deployment';

const NAME = 'webhooks';
const SENTINELS = 3;

export interface SentinelTiming {
  readonly downAfterMs: number;
  /** The Sentinels wait twice as long before they replace a master again. */
  readonly failoverTimeoutMs: number;
}

// A busy machine is not to look like a dead one.
const USUAL_TIMING: SentinelTiming = { downAfterMs: 3_000, failoverTimeoutMs: 10_000 };
/** For one fail-over after the other. */
export const QUICK_TIMING: SentinelTiming = { downAfterMs: 1_500, failoverTimeoutMs: 2_000 };
const SERVER_OPTIONS = ['--appendfsync', 'no', '--maxmemory-policy', 'noeviction'];

/** A fail-over as the Sentinels made it: from the last sign of the old master until all are told of the new one. */
export interface SeenFailOver {
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface SentinelRedis extends RedisDeployment {
  /** All until now: on a busy machine also such that nobody asked for. */
  readonly seenFailOvers: readonly SeenFailOver[];
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly network: PartitionProxy;
  /** Resolves once the Sentinels name another master than the first. */
  untilFailedOver(): Promise<void>;
  /** The present master. */
  findMaster(): Promise<RedisServer>;
  /** Kills the present master; resolves once the other server is promoted. The killed one is given back. */
  failOver(): Promise<RedisServer>;
  /** Starts a server that was killed as the replica of the other one; resolves once there are a master and a replica again. */
  bringBack(lost: RedisServer): Promise<void>;
  /** Resolves once the first master, which runs, has become a replica of the new one: until then it may take writes. */
  untilDemoted(): Promise<void>;
}

/**
 * A master, a replica and three Sentinels.
 * @param options more of the servers' command line.
 */
export async function startSentinelRedis(
  options: readonly string[] = [],
  timing: SentinelTiming = USUAL_TIMING,
): Promise<SentinelRedis> {
  const master = await RedisServer.start([...SERVER_OPTIONS, ...options]);
  const network = await PartitionProxy.start(master.port);
  const replica = await RedisServer.start([
    ...SERVER_OPTIONS,
    ...options,
    '--replicaof',
    `127.0.0.1 ${network.port}`,
  ]);
  await untilReplicating(replica);
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-sentinels-'));
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, (_, i) => startSentinel(folder, i, network.port, timing)),
  );
  const hosts = sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
  await untilSentinelsKnow(hosts);
  const watch = await watchFailOvers(hosts[0]?.port ?? 0, timing);
  const findMaster = async () =>
    await asking(hosts[0]?.port ?? 0, async (client) => {
      const address = (await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as string[];
      return Number(address[1]) === replica.port ? replica : master;
    });
  return {
    url: `redis+sentinel://${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${NAME}`,
    prefix: 'bull',
    seenFailOvers: watch.seen,
    master,
    replica,
    network,
    // As the service itself does: it follows the Sentinels' word.
    connect: (connection) =>
      new KeptRedis(
        { ...connection, sentinels: hosts, name: NAME, failoverDetector: true },
        { name: 'suite', emit: () => {} },
      ),
    untilFailedOver: async () => {
      await asking(hosts[0]?.port ?? 0, (client) =>
        until(async () => {
          const address = (await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as string[];
          return Number(address[1]) === network.port ? undefined : true;
        }),
      );
    },
    findMaster,
    async failOver() {
      const lost = await findMaster();
      await lost.kill();
      await until(async () => ((await findMaster()) === lost ? undefined : true));
      return lost;
    },
    async bringBack(lost) {
      const other = lost === master ? replica.port : network.port;
      // The Sentinels know the first master by its proxy alone.
      const ownPort = lost === master ? network.port : replica.port;
      await lost.start(['--replicaof', `127.0.0.1 ${other}`, '--replica-announce-port', String(ownPort)]);
      // A busy machine may have had them change places once more.
      await until(async () => await isReplicating((await findMaster()) === master ? replica : master));
    },
    untilDemoted: async () => await untilReplicating(master),
    async remove() {
      watch.close();
      await Promise.all(sentinels.map(({ child }) => end(child)));
      await Promise.all([master.remove(), replica.remove()]);
      await network.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startSentinel(folder: string, index: number, masterPort: number, timing: SentinelTiming) {
  const port = await findClosedPort();
  const file = join(folder, `sentinel-${index}.conf`);
  const lines = [
    `port ${port}`,
    `dir ${folder}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${NAME} ${timing.downAfterMs}`,
    `sentinel failover-timeout ${NAME} ${timing.failoverTimeoutMs}`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const { program, args, env } = redisProgram();
  const child = spawn(program, [...args, file, '--sentinel'], { env, stdio: 'ignore' });
  return { port, child };
}

async function watchFailOvers(port: number, { downAfterMs }: SentinelTiming) {
  const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null });
  client.on('error', () => {});
  const seen: SeenFailOver[] = [];
  let downAt: number | undefined;
  client.on('message', (channel: string, message: string) => {
    if (channel === '+sdown' && message.startsWith(`master ${NAME} `)) downAt = Date.now();
    if (channel !== '+switch-master') return;
    const endedAt = Date.now();
    seen.push({ startedAt: (downAt ?? endedAt) - downAfterMs, endedAt });
    downAt = undefined;
  });
  await client.subscribe('+sdown', '+switch-master');
  return { seen, close: () => client.disconnect() };
}

async function untilReplicating(server: RedisServer): Promise<void> {
  await until(async () => await isReplicating(server));
}

async function isReplicating({ port }: RedisServer): Promise<true | undefined> {
  const info = await asking(port, (client) => client.info('replication'));
  return /master_link_status:up/.test(info) ? true : undefined;
}

/** Each must know the replica, and the two others: else there is nothing to fail over to, or nobody to agree with. */
async function untilSentinelsKnow(hosts: readonly { readonly port: number }[]): Promise<void> {
  for (const { port } of hosts) {
    await asking(port, (client) =>
      until(async () =>
        /slaves=1,sentinels=3/.test(await client.info('sentinel').catch(() => '')) ? true : undefined,
      ),
    );
  }
}

async function asking<Result>(port: number, ask: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null });
  client.on('error', () => {});
  try {
    return await ask(client);
  } finally {
    client.disconnect();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
