import { connect, type Socket } from 'node:net';
import { startTcpServer } from '@hookferry/core/testing/local-server';

interface Link {
  readonly client: Socket;
  readonly redis: Socket;
  /** Whether a replica or a Sentinel is at the other end. */
  isPeer: boolean;
}

// What replicas and Sentinels say of themselves before anything else.
const PEERS = /REPLCONF|PSYNC|sentinel-[0-9a-f]/;

/** Stands before a master, and can cut it off from its replicas and Sentinels, while clients notice nothing. */
export class PartitionProxy {
  readonly #links = new Set<Link>();
  #isCutOff = false;
  #server: Awaited<ReturnType<typeof startTcpServer>> | undefined;

  private constructor(private readonly redisPort: number) {}

  static async start(redisPort: number): Promise<PartitionProxy> {
    const proxy = new PartitionProxy(redisPort);
    proxy.#server = await startTcpServer((client) => proxy.#connect(client));
    return proxy;
  }

  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** From now on replicas and Sentinels hear nothing of the master, nor it of them. */
  cutOff(): void {
    this.#isCutOff = true;
    for (const link of this.#links) if (link.isPeer) hold(link);
  }

  /** Peers have to connect anew, as they do when a network is back. */
  heal(): void {
    this.#isCutOff = false;
    for (const { client, isPeer } of this.#links) if (isPeer) client.destroy();
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #connect(client: Socket): void {
    const redis = connect(this.redisPort, '127.0.0.1');
    const link: Link = { client, redis, isPeer: false };
    this.#links.add(link);
    redis.on('error', () => {});
    client.on('error', () => {});
    redis.once('close', () => client.destroy());
    client.once('close', () => {
      this.#links.delete(link);
      redis.destroy();
    });
    client.on('data', (chunk: Buffer) => this.#passOn(link, chunk));
    redis.on('data', (chunk: Buffer) => void client.write(chunk));
  }

  #passOn(link: Link, chunk: Buffer): void {
    if (!link.isPeer && PEERS.test(chunk.toString('latin1', 0, 512))) link.isPeer = true;
    if (link.isPeer && this.#isCutOff) hold(link);
    else link.redis.write(chunk);
  }
}

function hold({ client, redis }: Link): void {
  client.pause();
  redis.pause();
}
