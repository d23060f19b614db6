import { setTimeout as wait } from 'node:timers/promises';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { Redis } from 'ioredis';
import { RedisProcess } from './redis-process';

const SLOTS = 16_384;
const LOOK_EVERY_MS = 50;

/** A Redis Cluster of a measurement's own, on loopback: masters alone, with equal ranges of slots. */
export class RedisClusterProcess {
  private constructor(readonly masters: readonly RedisProcess[]) {}

  static async start(masters: number): Promise<RedisClusterProcess> {
    const busPorts = await Promise.all(Array.from({ length: masters }, () => findClosedPort()));
    const nodes = await Promise.all(
      busPorts.map((port) =>
        RedisProcess.start(['--cluster-enabled', 'yes', '--cluster-port', String(port)]),
      ),
    );
    const clients = nodes.map(({ url }) => new Redis(url));
    const startOf = (node: number) => Math.floor((node * SLOTS) / masters);
    for (const [i, client] of clients.entries()) {
      await client.cluster('ADDSLOTSRANGE', startOf(i), startOf(i + 1) - 1);
      await client.call('CLUSTER', 'MEET', '127.0.0.1', portOf(nodes[0]), busPorts[0] ?? 0);
    }
    for (const client of clients) {
      while (!isWhole(await client.cluster('INFO'), masters)) await wait(LOOK_EVERY_MS);
      client.disconnect();
    }
    return new RedisClusterProcess(nodes);
  }

  get url(): string {
    return `redis+cluster://${this.masters.map((node) => `127.0.0.1:${portOf(node)}`).join(',')}`;
  }

  async stop(): Promise<void> {
    await Promise.all(this.masters.map((node) => node.stop()));
  }
}

function portOf(node: RedisProcess | undefined): number {
  return Number(new URL(node?.url ?? 'redis://localhost').port);
}

function isWhole(info: string, nodes: number): boolean {
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes}`);
}
