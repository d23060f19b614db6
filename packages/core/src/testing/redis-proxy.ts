import { connect, type Socket } from 'node:net';
import { startTcpServer } from './local-server';

export interface RedisProxy {
  /** The same database as behind it. */
  readonly url: string;
  /** From now on Redis accepts connections and data, but does not respond: like a stopped process. */
  freeze(): void;
  /**
   * Let nothing through any more from the first client that sends `text`, including that text, as if it had
   * died just before. Resolves when one has.
   */
  hold(text: string): Promise<void>;
  /**
   * Let the first client that sends `text` send it, and break its connection before the reply. Resolves when
   * Redis has replied. --
   */
  swallowAnswerTo(text: string): Promise<void>;
  /** Break all connections once clients have sent this many bytes more; what was sent by then gets there. -- */
  cutAfter(bytes: number): void;
  /** Redis resumes, and responds to everything that came meanwhile. */
  thaw(): void;
  close(): Promise<void>;
}

/** Stands in front of a real Redis, so that a test can take it away without taking it from others. */
export async function startRedisProxy(redisUrl: string): Promise<RedisProxy> {
  const target = new URL(redisUrl);
  const clients = new Set<Socket>();
  let frozen = false;
  let awaited: { readonly text: string; readonly onHeld: () => void } | undefined;
  let swallowed: { readonly text: string; readonly onAnswered: () => void } | undefined;
  let bytesLeft = Number.POSITIVE_INFINITY;
  const server = await startTcpServer((client) => {
    const redis = connect(Number(target.port), target.hostname);
    redis.on('error', () => {});
    redis.once('close', () => client.destroy());
    client.once('close', () => {
      redis.destroy();
      clients.delete(client);
    });
    redis.pipe(client);
    client.on('data', (chunk) => {
      bytesLeft -= chunk.length;
      if (bytesLeft <= 0) {
        const passed = chunk.subarray(0, chunk.length + bytesLeft);
        bytesLeft = Number.POSITIVE_INFINITY;
        return void redis.write(passed, () => {
          for (const one of clients) one.destroy();
        });
      }
      if (swallowed && chunk.includes(swallowed.text)) {
        const { onAnswered } = swallowed;
        swallowed = undefined;
        redis.unpipe(client);
        redis.once('data', () => {
          client.destroy();
          onAnswered();
        });
        // A stream without a pipe stands still.
        redis.resume();
      }
      if (awaited === undefined || !chunk.includes(awaited.text)) return void redis.write(chunk);
      client.removeAllListeners('data').pause();
      awaited.onHeld();
      awaited = undefined;
    });
    clients.add(client);
    if (frozen) client.pause();
  });
  return {
    url: `redis://127.0.0.1:${server.port}${target.pathname}`,
    freeze() {
      frozen = true;
      for (const client of clients) client.pause();
    },
    thaw() {
      frozen = false;
      for (const client of clients) client.resume();
    },
    cutAfter(bytes) {
      bytesLeft = bytes;
    },
    swallowAnswerTo: (text) => new Promise((onAnswered) => (swallowed = { text, onAnswered })),
    hold: (text) => new Promise((onHeld) => (awaited = { text, onHeld })),
    close: () => server.close(),
  };
}
