import { findClosedPort } from '@hookferry/core/testing/local-server';
import { formRedisCluster } from '@hookferry/core/testing/redis-cluster';
import { Redis } from 'ioredis';
import { type RedisProgram, RedisServer } from './redis-server';

const NODES = 3;

/** A Redis Cluster of three masters, each with a third of the slots. */
export class RedisCluster {
  private constructor(readonly nodes: readonly RedisServer[]) {}

  /**
   * @param optionsOf more of the command line of each node.
   * @param program by default the one that this machine has.
   */
  static async start(
    optionsOf: () => Promise<readonly string[]> = async () => [],
    program?: RedisProgram,
  ): Promise<RedisCluster> {
    const busPorts = await Promise.all(Array.from({ length: NODES }, () => findClosedPort()));
    const nodes = await Promise.all(
      busPorts.map(async (port) => {
        const own = ['--cluster-enabled', 'yes', '--cluster-port', String(port)];
        return RedisServer.start([...own, ...(await optionsOf())], undefined, undefined, program);
      }),
    );
    await formRedisCluster(
      nodes.map(({ port }) => port),
      busPorts,
    );
    return new RedisCluster(nodes);
  }

  /** As a REDIS_URL; two of its nodes are enough to find the third. */
  get url(): string {
    const hosts = this.nodes.slice(0, 2).map(({ port }) => `127.0.0.1:${port}`);
    return `redis+cluster://${hosts.join(',')}`;
  }

  /** How many keys each node has. */
  async countKeys(): Promise<readonly number[]> {
    return await Promise.all(
      this.nodes.map(async ({ port }) => {
        const client = new Redis(port, '127.0.0.1');
        try {
          return await client.dbsize();
        } finally {
          client.disconnect();
        }
      }),
    );
  }

  async remove(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.remove()));
  }
}
