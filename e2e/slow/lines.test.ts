import { Cluster, Redis } from 'ioredis';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const EVENTS = 3_000;
const GROUPS = 60;
const AT_ONCE = 100;
const KILLS = 6;
const FAILING_SHARE = 0.02;
// Three nodes and four programs share the processors.
const PATIENCE_MS = 450_000;

const SETTINGS = { RETRY_SCHEDULE: Array(20).fill('50ms').join(), JOB_LOCK_DURATION: '2s' };

const firstSights = (receiver: Receiver) => [
  ...new Set(receiver.requests.map(({ headers }) => String(headers['webhook-id']))),
];

it.each(['one server', 'a Cluster'])(
  'keeps the order of groups through killed workers, loses nothing, and leaves no line behind: %s',
  async (kind) => {
    const cluster = kind === 'a Cluster' ? await RedisCluster.start() : undefined;
    const environment = cluster === undefined ? SETTINGS : { ...SETTINGS, REDIS_URL: cluster.url };
    const stack = await Stack.start({ workers: 2, environment });
    const { client } = stack;
    const answer = () => (Math.random() < FAILING_SHARE ? 500 : 204);
    const [all, newest] = [await Receiver.start(answer), await Receiver.start(answer)];
    const ordering = { ordering: 'group' };
    await client.register(all.url, ['*'], ordering);
    await client.register(newest.url, ['*'], { ...ordering, coalesce: { window_ms: 50 } });

    const groups = Array.from({ length: GROUPS }, (): string[] => []);
    const seen = () => firstSights(all).length;
    for (let count = 0, kills = 0; count < EVENTS; count += AT_ONCE) {
      const events = Array.from({ length: AT_ONCE }, (_, i) => ({
        ...QUICK_WIN,
        group: `order-${(count + i) % GROUPS}`,
      }));
      const { body } = await client.expect<{ data: { id: string }[] }>(207, 'POST', '/v1/events/batch', {
        events,
      });
      for (const [i, { id }] of body.data.entries()) groups[(count + i) % GROUPS]?.push(id);
      if (kills >= KILLS) continue;
      // In the middle of what is on its way.
      const before = seen();
      await until(async () => (seen() > before + AT_ONCE / 4 ? true : undefined));
      await stack.workers[kills % 2]?.end('SIGKILL');
      stack.workers[kills % 2] = await startInPlace(stack);
      kills += 1;
    }
    await until(async () => (seen() === EVENTS ? true : undefined));
    expect(await until(async () => ((await left(stack, cluster)).length === 0 ? 'none' : undefined))).toBe(
      'none',
    );
    const inOrder = new Map(
      groups.flatMap((ids, group) => ids.map((id, at) => [id, { group, at }] as const)),
    );
    for (const ids of groups) expect(firstSights(all).filter((id) => ids.includes(id))).toEqual(ids);
    const last = groups.map(() => -1);
    for (const id of firstSights(newest)) {
      const { group, at } = inOrder.get(id) ?? { group: 0, at: -1 };
      expect(at).toBeGreaterThan(last[group] ?? Number.POSITIVE_INFINITY);
      last[group] = at;
    }
    expect(last).toEqual(groups.map(({ length }) => length - 1));

    await Promise.all([all.stop(), newest.stop(), stack.stop()]);
    await cluster?.remove();
  },
  PATIENCE_MS,
);

async function startInPlace(stack: Stack) {
  const worker = await stack.startWorker();
  stack.workers.pop();
  return worker;
}

/** Keys of lanes, and jobs. */
async function left(stack: Stack, cluster: RedisCluster | undefined): Promise<readonly string[]> {
  const [first = ''] = cluster?.url.slice('redis+cluster://'.length).split(',') ?? [];
  const redis = cluster === undefined ? new Redis(stack.redis.url) : new Cluster([`redis://${first}`]);
  try {
    const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis];
    const keys = (await Promise.all(nodes.map((node) => node.keys('*')))).flat();
    return keys.filter(
      (key) =>
        /^(lane|carried|grouped|lines|behind-heads|held|order|ready|coalescing):/.test(key) ||
        key.includes('lane/'),
    );
  } finally {
    redis.disconnect();
  }
}
