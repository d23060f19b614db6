import { connect, type Socket } from 'node:net';
import { startTcpServer } from '@webhooks/core/testing/local-server';

/**
 * `at-once`: as a cable that is pulled.
 * `half-sent`: in the middle of the next thing that is sent.
 * `before-reply`: Redis has done what it was asked to, and nobody is told.
 */
export type Cut = 'at-once' | 'half-sent' | 'before-reply';
export const cuts: readonly Cut[] = ['at-once', 'half-sent', 'before-reply'];

/** How long a connection on which nothing is sent waits to be cut. */
export const CUT_WITHIN_MS = 1_500;

interface Link {
  readonly client: Socket;
  readonly redis: Socket;
  doom: Cut | 'reply-awaited' | undefined;
}

/** Stands between one process and Redis. */
export class FaultyProxy {
  readonly #links = new Set<Link>();
  #isStalled = false;
  #server: Awaited<ReturnType<typeof startTcpServer>> | undefined;

  private constructor(private readonly redisPort: number) {}

  static async start(redisPort: number): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(redisPort);
    proxy.#server = await startTcpServer((client) => proxy.#connect(client));
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#server?.port ?? 0}`;
  }

  /** Cuts each connection there is, in the way that `choose` says. */
  cut(choose: () => Cut): void {
    for (const link of this.#links) {
      link.doom = choose();
      if (link.doom === 'at-once') end(link);
    }
  }

  /** Spares those that were to be cut and on which nothing was sent. */
  spareTheRest(): void {
    for (const link of this.#links) link.doom = undefined;
  }

  /** Nothing passes in either direction, and nothing is lost. */
  stall(): void {
    this.#isStalled = true;
    for (const { client, redis } of this.#links) {
      client.pause();
      redis.pause();
    }
  }

  resume(): void {
    this.#isStalled = false;
    for (const { client, redis } of this.#links) {
      client.resume();
      redis.resume();
    }
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #connect(client: Socket): void {
    const redis = connect(this.redisPort, '127.0.0.1');
    redis.on('error', () => {});
    client.setNoDelay(true);
    redis.setNoDelay(true);
    const link: Link = { client, redis, doom: undefined };
    this.#links.add(link);
    redis.once('close', () => end(link));
    client.once('close', () => {
      this.#links.delete(link);
      end(link);
    });
    client.on('data', (chunk) => passOn(link, chunk));
    redis.on('data', (chunk) => passBack(link, chunk));
    if (this.#isStalled) {
      client.pause();
      redis.pause();
    }
  }
}

function passOn(link: Link, chunk: Buffer): void {
  if (link.doom === 'half-sent') {
    link.doom = undefined;
    link.redis.end(chunk.subarray(0, chunk.length >> 1));
    link.client.destroy();
    return;
  }
  if (link.doom === 'before-reply') link.doom = 'reply-awaited';
  link.redis.write(chunk);
}

function passBack(link: Link, chunk: Buffer): void {
  if (link.doom === 'reply-awaited') end(link);
  else link.client.write(chunk);
}

function end({ client, redis }: Link): void {
  client.destroy();
  redis.destroy();
}
