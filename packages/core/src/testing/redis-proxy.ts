import { connect, type Socket } from 'node:net';
import { startTcpServer } from './local-server';

export interface RedisProxy {
  /** The same database as behind it. */
  readonly url: string;
  /** From now on Redis takes connections, and whatever is sent, but answers nothing: like a stopped process. */
  freeze(): void;
  /** Redis goes on where it was, and answers what came in the meantime. */
  thaw(): void;
  close(): Promise<void>;
}

/** Stands in front of a real Redis, so that a test can take it away without taking it from others. */
export async function startRedisProxy(redisUrl: string): Promise<RedisProxy> {
  const target = new URL(redisUrl);
  const clients = new Set<Socket>();
  let frozen = false;
  const server = await startTcpServer((client) => {
    const redis = connect(Number(target.port), target.hostname);
    redis.on('error', () => {});
    redis.once('close', () => client.destroy());
    client.once('close', () => {
      redis.destroy();
      clients.delete(client);
    });
    client.pipe(redis).pipe(client);
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
    close: () => server.close(),
  };
}
