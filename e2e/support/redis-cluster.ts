import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { RedisServer } from './redis-server';
import { until } from './until';

const NODES = 3;
const SLOTS = 16_384;

/** A Redis Cluster of three masters, each with a third of the slots. */
export class RedisCluster {
  private constructor(readonly nodes: readonly RedisServer[]) {}

  /** @param optionsOf more of the command line of each node. */
  static async start(optionsOf: () => Promise<readonly string[]> = async () => []): Promise<RedisCluster> {
    const busPorts = await Promise.all(Array.from({ length: NODES }, () => findClosedPort()));
    const nodes = await Promise.all(
      busPorts.map(async (port) =>
        RedisServer.start([
          '--cluster-enabled',
          'yes',
          '--cluster-port',
          String(port),
          ...(await optionsOf()),
        ]),
      ),
    );
    const cluster = new RedisCluster(nodes);
    await cluster.#shareSlots();
    await cluster.#meet(busPorts);
    return cluster;
  }

  /** As a REDIS_URL; two of its nodes are enough to find the third. */
  get url(): string {
    const hosts = this.nodes.slice(0, 2).map(({ port }) => `127.0.0.1:${port}`);
    return `redis+cluster://${hosts.join(',')}`;
  }

  /** How many keys each node has. */
  async countKeys(): Promise<readonly number[]> {
    return await this.#onEach((client) => client.dbsize());
  }

  async remove(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.remove()));
  }

  async #shareSlots(): Promise<void> {
    const startOf = (node: number) => Math.floor((node * SLOTS) / NODES);
    await this.#onEach((client, i) => client.cluster('ADDSLOTSRANGE', startOf(i), startOf(i + 1) - 1));
  }

  async #meet(busPorts: readonly number[]): Promise<void> {
    const [first] = this.nodes;
    await this.#onEach((client) =>
      client.call('CLUSTER', 'MEET', '127.0.0.1', first?.port ?? 0, busPorts[0] ?? 0),
    );
    await this.#onEach((client) =>
      until(async () => {
        const info = await client.cluster('INFO');
        const isWhole = info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${NODES}`);
        return isWhole ? true : undefined;
      }),
    );
  }

  async #onEach<Result>(act: (client: Redis, index: number) => Promise<Result>): Promise<readonly Result[]> {
    return await Promise.all(
      this.nodes.map(async ({ port }, i) => {
        const client = new Redis(port, '127.0.0.1');
        try {
          return await act(client, i);
        } finally {
          client.disconnect();
        }
      }),
    );
  }
}
