import { Cluster, type Redis } from 'ioredis';

const SCANNED_AT_ONCE = 2_000;

// In one step: a delivery may come back from the history at any moment.
const DROP_LOG = `if redis.call('DEL', KEYS[1]) == 1 then redis.call('DEL', KEYS[2]) end`;
const DROP_EVENT = `if redis.call('HEXISTS', KEYS[1], 'lapsing') == 1 then redis.call('DEL', unpack(KEYS)) end`;
const OF_AN_EVENT = ['moved', 'event', 'event-claim', 'scheduled-for'];

/** As when a minute has gone by: what the history has, and lapses in Redis, is gone there. */
export async function letLapse(redis: Redis | Cluster): Promise<void> {
  for (const key of await keysOf(redis, 'lapsing')) {
    await redis.eval(DROP_LOG, 2, key, key.replace('lapsing', 'delivery'));
  }
  for (const key of await keysOf(redis, 'moved')) {
    const names = OF_AN_EVENT.map((name) => key.replace('moved', name));
    await redis.eval(DROP_EVENT, names.length, ...names);
  }
}

async function keysOf(redis: Redis | Cluster, name: string): Promise<readonly string[]> {
  const masters = redis instanceof Cluster ? redis.nodes('master') : [redis];
  const found: string[] = [];
  for (const node of masters) {
    let cursor = '0';
    do {
      const [next, names] = await node.scan(cursor, 'MATCH', `${name}:{*`, 'COUNT', SCANNED_AT_ONCE);
      found.push(...names);
      cursor = next;
    } while (cursor !== '0');
  }
  return found;
}
