import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';

const SLOTS = 16_384;
const LOOK_EVERY_MS = 20;

/**
 * Joins empty servers on this machine to a Cluster. Resolves once each of them knows all others.
 * @param ports of the servers
 * @param busPorts of the same servers
 * @param masters how many of them, the first ones, share the slots: all of them unless given
 */
export async function formRedisCluster(
  ports: readonly number[],
  busPorts: readonly number[],
  masters = ports.length,
): Promise<void> {
  const clients = ports.map((port) => new Redis(port, '127.0.0.1'));
  try {
    for (const [i, client] of clients.entries()) {
      if (i < masters)
        await client.cluster('ADDSLOTSRANGE', firstSlotOf(i, masters), firstSlotOf(i + 1, masters) - 1);
      await client.call('CLUSTER', 'MEET', '127.0.0.1', ports[0] ?? 0, busPorts[0] ?? 0);
    }
    for (const client of clients)
      while (!isWhole(await client.cluster('INFO'), ports.length)) await wait(LOOK_EVERY_MS);
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** The masters have equal ranges, in their order. */
export function firstSlotOf(master: number, masters: number): number {
  return Math.floor((master * SLOTS) / masters);
}

function isWhole(info: string, nodes: number): boolean {
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes}`);
}
