import { connect } from 'node:net';
import { type LocalServer, startTcpServer } from './local-server';

export interface RedisProxy {
  /** The same database as behind it. */
  readonly url: string;
  /** From now on Redis is silent, except to commands that hold `text`. Connections stay open. */
  answerOnly(text: string): void;
  close(): Promise<void>;
}

/** Stands in front of a real Redis, and can make it fall silent as one that is frozen or cut off. */
export async function startRedisProxy(redisUrl: string): Promise<RedisProxy> {
  const target = new URL(redisUrl);
  let needed = '';
  const server: LocalServer = await startTcpServer((client) => {
    const redis = connect(Number(target.port), target.hostname);
    redis.on('error', () => {});
    client.on('data', (chunk: Buffer) => {
      if (chunk.includes(needed)) redis.write(chunk);
    });
    redis.pipe(client);
    client.once('close', () => redis.destroy());
    redis.once('close', () => client.destroy());
  });
  return {
    url: `redis://127.0.0.1:${server.port}${target.pathname}`,
    answerOnly(text) {
      needed = text;
    },
    close: () => server.close(),
  };
}
