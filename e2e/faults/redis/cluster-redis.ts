import { findClosedPort } from '@hookferry/core/testing/local-server';
import { firstSlotOf, formRedisCluster } from '@hookferry/core/testing/redis-cluster';
import { Cluster, Redis } from 'ioredis';
import { RedisServer } from '../../support/redis-server';
import { until } from '../../support/until';
import type { RedisDeployment } from './redis-deployment';

const MASTERS = 3;
const QUEUES = '{bull}';
const NODE_TIMEOUT_MS = 1_500;

export interface ClusterRedis extends RedisDeployment {
  /** The master that has the queues. */
  readonly queueMaster: RedisServer;
  /** Resolves once its replica has taken its place. */
  untilFailedOver(): Promise<void>;
  /** Kills whichever of the two has the queues; resolves once the other has taken its place. The killed one is given back. */
  failOver(): Promise<RedisServer>;
  /** Starts a node that was killed; resolves once it is the replica of the other. */
  bringBack(lost: RedisServer): Promise<void>;
}

/** Three masters with a third of the slots and a replica each. */
export async function startClusterRedis(): Promise<ClusterRedis> {
  const busPorts = await Promise.all(Array.from({ length: MASTERS * 2 }, () => findClosedPort()));
  const nodes = await Promise.all(busPorts.map((port) => RedisServer.start(optionsFor(port))));
  const masters = nodes.slice(0, MASTERS);
  await formRedisCluster(
    nodes.map(({ port }) => port),
    busPorts,
    MASTERS,
  );
  const ids = await onEach(masters, async (client) => String(await client.call('CLUSTER', 'MYID')));
  await onEach(nodes.slice(MASTERS), async (client, i) => {
    await until(async () =>
      String(await client.call('CLUSTER', 'NODES')).includes(ids[i] ?? '') ? true : undefined,
    );
    await client.call('CLUSTER', 'REPLICATE', ids[i] ?? '');
    await until(async () =>
      (await client.info('replication')).includes('link_status:up') ? true : undefined,
    );
  });
  const [slot = 0] = await onEach(masters.slice(0, 1), async (client) =>
    Number(await client.call('CLUSTER', 'KEYSLOT', QUEUES)),
  );
  const index = masters.findIndex((_, i) => slot < firstSlotOf(i + 1, MASTERS));
  const [queueMaster, heir] = [masters[index], nodes[MASTERS + index]];
  if (!queueMaster || !heir) throw new Error('No node has the queues.');
  const hosts = nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
  return {
    url: `redis+cluster://${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}`,
    prefix: QUEUES,
    queueMaster,
    connect: (redisOptions) =>
      new Cluster(hosts, { redisOptions, enableOfflineQueue: redisOptions.enableOfflineQueue ?? true }),
    untilFailedOver: async () =>
      void (await onEach([heir], (client) =>
        until(async () => ((await client.info('replication')).includes('role:master') ? true : undefined)),
      )),
    async failOver() {
      const [role] = await onEach([queueMaster], (client) => client.info('replication'));
      const [lost, other] = role?.includes('role:master') ? [queueMaster, heir] : [heir, queueMaster];
      await lost.kill();
      await onEach([other], (client) =>
        until(async () => ((await client.info('replication')).includes('role:master') ? true : undefined)),
      );
      return lost;
    },
    async bringBack(lost) {
      await lost.start();
      await onEach([lost], (client) =>
        until(async () =>
          (await client.info('replication').catch(() => '')).includes('link_status:up') ? true : undefined,
        ),
      );
    },
    remove: async () => void (await Promise.all(nodes.map((node) => node.remove()))),
  };
}

function optionsFor(busPort: number): readonly string[] {
  return [
    ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
    ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--appendfsync', 'no'],
  ];
}

async function onEach<Result>(
  nodes: readonly RedisServer[],
  act: (client: Redis, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  return await Promise.all(
    nodes.map(async ({ port }, i) => {
      const client = new Redis(port, '127.0.0.1');
      client.on('error', () => {});
      try {
        return await act(client, i);
      } finally {
        client.disconnect();
      }
    }),
  );
}
