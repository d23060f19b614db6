import { connect, type Socket } from 'node:net';
import { startTcpServer } from '@hookferry/core/testing/local-server';

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
  doom: Cut | 'reply-awaited' | 'swallowed' | undefined;
}

/** Stands between one process and Redis. */
export class FaultyProxy {
  readonly #links = new Set<Link>();
  #isStalled = false;
  #delayMs = 0;
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

  /**
   * What is sent on the connections that there are now gets lost, and neither side is told.
   * @returns what resets them, as a kernel does that has waited for long enough.
   */
  swallow(): () => void {
    const links = [...this.#links];
    for (const link of links) link.doom = 'swallowed';
    return () => {
      for (const link of links) end(link);
    };
  }

  /** Everything is on its way for so much longer, in each direction; 0 for no longer. */
  delay(ms: number): void {
    this.#delayMs = ms;
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
    client.on(
      'data',
      this.#inOrder((chunk) => passOn(link, chunk)),
    );
    redis.on(
      'data',
      this.#inOrder((chunk) => passBack(link, chunk)),
    );
    if (this.#isStalled) {
      client.pause();
      redis.pause();
    }
  }

  /** Passes chunks on late while there is a delay, and never one before another. */
  #inOrder(pass: (chunk: Buffer) => void): (chunk: Buffer) => void {
    const waiting: { readonly dueAt: number; readonly chunk: Buffer }[] = [];
    const release = () => {
      const now = performance.now();
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        if (next.dueAt > now) return void setTimeout(release, next.dueAt - now);
        waiting.shift();
        pass(next.chunk);
      }
    };
    return (chunk) => {
      if (this.#delayMs === 0 && waiting.length === 0) return pass(chunk);
      waiting.push({ dueAt: performance.now() + this.#delayMs, chunk });
      if (waiting.length === 1) setTimeout(release, this.#delayMs);
    };
  }
}

function passOn(link: Link, chunk: Buffer): void {
  if (link.doom === 'swallowed') return;
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
  if (link.doom === 'swallowed') return;
  if (link.doom === 'reply-awaited') end(link);
  else link.client.write(chunk);
}

function end({ client, redis }: Link): void {
  client.destroy();
  redis.destroy();
}
