import { Cluster, type Redis } from 'ioredis';
import { ConnectionBreaks } from './redis-breaks';
import type { RedisClient, RedisConnection } from './redis-connection';

// A replica that is well confirms within a millisecond.
const PATIENCE_MS = 1_000;

/**
 * Waits until replicas of Redis have what this connection has written: then no fail-over to them loses it. Redis counts for the
 * connection that wrote. So the wait goes by the same one, and what came before a break is not confirmed.
 */
export class ReplicaWait {
  readonly #breaks: ConnectionBreaks;
  #next: Promise<number> | undefined;
  #slot: Promise<number> | undefined;

  /** @param replicas how many must have it. */
  constructor(
    private readonly redis: RedisConnection,
    private readonly replicas: number,
  ) {
    this.#breaks = new ConnectionBreaks(redis.client);
  }

  /** Take it before the write. */
  mark(): number {
    return this.#breaks.count;
  }

  /** All calls of one turn of the event loop wait together. @throws Error if a fail-over may lose it. */
  async confirm(mark: number): Promise<void> {
    this.#next ??= this.#waitAtEndOfTurn();
    const confirmed = await this.#next;
    if (mark !== this.#breaks.count) throw new Error('The connection to Redis broke meanwhile');
    if (confirmed >= this.replicas) return;
    throw new Error(`confirmedBy is ${this.replicas}, and ${confirmed} replicas confirmed the event`);
  }

  async #waitAtEndOfTurn(): Promise<number> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#next = undefined;
    const server = await this.#serverOfQueue();
    return await server.wait(this.replicas, PATIENCE_MS);
  }

  async #serverOfQueue(): Promise<Redis> {
    const { client, prefix } = this.redis;
    if (!(client instanceof Cluster)) return client;
    this.#slot ??= slotOf(client, prefix);
    const address = client.slots[await this.#slot]?.[0];
    const found = client.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === address);
    if (!found) throw new Error('The Cluster has no master for the queue');
    return found;
  }
}

async function slotOf(client: RedisClient, key: string): Promise<number> {
  return await client.cluster('KEYSLOT', key);
}
