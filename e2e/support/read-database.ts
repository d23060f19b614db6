import type { Redis } from 'ioredis';

/** All that a Redis database holds, names included, as one text to look in for what must not be there. */
export async function readDatabase(client: Redis): Promise<string> {
  const names = await client.keys('*');
  const values = await Promise.all(names.map(async (name) => [name, await readValue(client, name)]));
  return JSON.stringify(values);
}

async function readValue(client: Redis, name: string): Promise<unknown> {
  const type = await client.type(name);
  switch (type) {
    case 'string':
      return await client.get(name);
    case 'hash':
      return await client.hgetall(name);
    case 'list':
      return await client.lrange(name, 0, -1);
    case 'set':
      return await client.smembers(name);
    case 'zset':
      return await client.zrange(name, '0', '-1', 'WITHSCORES');
    case 'stream':
      return await client.xrange(name, '-', '+');
    case 'none': // Gone meanwhile.
      return undefined;
    default:
      throw new Error(`A key of the type "${type}" can't be looked into.`);
  }
}
