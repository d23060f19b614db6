import { Cluster, Redis } from 'ioredis';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const WEBHOOKS = 6;
const EVENTS = 500;
const AT_ONCE = 50;
const KILLS = 6;
const FAILING_SHARE = 0.02;

const SETTINGS = { RETRY_SCHEDULE: Array(20).fill('50ms').join(), JOB_LOCK_DURATION: '2s' };

const firstSights = (receiver: Receiver) => [
  ...new Set(receiver.requests.map(({ headers }) => String(headers['webhook-id']))),
];

it.each(['one server', 'a Cluster'])(
  'keeps the order of a backlog through killed workers, loses nothing, and leaves no lane behind: %s',
  async (kind) => {
    const cluster = kind === 'a Cluster' ? await RedisCluster.start() : undefined;
    const environment = cluster === undefined ? SETTINGS : { ...SETTINGS, REDIS_URL: cluster.url };
    const stack = await Stack.start({ workers: 2, environment });
    const { client } = stack;
    const receivers = await Promise.all(
      Array.from({ length: WEBHOOKS }, () =>
        Receiver.start(() => (Math.random() < FAILING_SHARE ? 500 : 204)),
      ),
    );
    for (const { url } of receivers) {
      await client.expect(201, 'POST', '/v1/webhooks', { url, events: ['*'], ordering: 'strict' });
    }
    const published: string[] = [];
    const seen = () => receivers.reduce((sum, receiver) => sum + firstSights(receiver).length, 0);
    for (let count = 0, kills = 0; count < EVENTS; count += AT_ONCE) {
      const events = Array.from({ length: AT_ONCE }, () => QUICK_WIN);
      const { body } = await client.expect<{ data: { id: string }[] }>(207, 'POST', '/v1/events/batch', {
        events,
      });
      published.push(...body.data.map(({ id }) => id));
      if (kills >= KILLS) continue;
      // In the middle of what is on its way.
      const before = seen();
      await until(async () => (seen() > before + AT_ONCE ? true : undefined));
      await stack.workers[kills % 2]?.end('SIGKILL');
      stack.workers[kills % 2] = await startInPlace(stack);
      kills += 1;
    }
    await until(async () => (seen() === WEBHOOKS * EVENTS ? true : undefined));
    for (const receiver of receivers) expect(firstSights(receiver)).toEqual(published);
    expect(
      await until(async () => ((await lanesLeft(stack, cluster)).length === 0 ? 'none' : undefined)),
    ).toBe('none');

    await Promise.all([...receivers.map((receiver) => receiver.stop()), stack.stop()]);
    await cluster?.remove();
  },
);

async function startInPlace(stack: Stack) {
  const worker = await stack.startWorker();
  stack.workers.pop();
  return worker;
}

/** Keys of lanes, and jobs. */
async function lanesLeft(stack: Stack, cluster: RedisCluster | undefined): Promise<readonly string[]> {
  const [first = ''] = cluster?.url.slice('redis+cluster://'.length).split(',') ?? [];
  const redis = cluster === undefined ? new Redis(stack.redis.url) : new Cluster([`redis://${first}`]);
  try {
    const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis];
    const keys = (await Promise.all(nodes.map((node) => node.keys('*')))).flat();
    return keys.filter(
      (key) => /^(lane|carried|behind-heads|held|order):/.test(key) || key.includes('lane/'),
    );
  } finally {
    redis.disconnect();
  }
}
