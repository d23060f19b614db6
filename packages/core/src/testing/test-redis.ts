import { Redis } from 'ioredis';

// The database whose only key counts the ones given out.
const REGISTRY_DATABASE = 0;
const DATABASES = 1_023;

export interface TestRedis {
  /** An empty database that no other test uses, as a REDIS_URL. */
  readonly url: string;
  /** A client of that database, to look inside. */
  readonly client: Redis;
  close(): Promise<void>;
}

/**
 * A real Redis for a test: a database of its own in the server that `npm test` starts, or the one at `url`.
 */
export async function openTestRedis(url?: string): Promise<TestRedis> {
  const ownUrl = url ?? (await takeDatabase());
  const client = new Redis(ownUrl, { maxRetriesPerRequest: null });
  // A test may take its server away; the client comes back by itself.
  client.on('error', () => {});
  await client.flushdb();
  return { url: ownUrl, client, close: async () => client.disconnect() };
}

async function takeDatabase(): Promise<string> {
  const server = process.env.TEST_REDIS_URL;
  if (server === undefined) {
    throw new Error(
      'TEST_REDIS_URL is not set. Run the tests by "npm test", which brings a Redis of its own.',
    );
  }
  const registry = new Redis(`${server}/${REGISTRY_DATABASE}`);
  const count = await registry.incr('databases-given-out');
  await registry.quit();
  return `${server}/${1 + (count % DATABASES)}`;
}
