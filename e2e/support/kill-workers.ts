import { Cluster, Redis } from 'ioredis';
import { OF_LANES } from './keys-of-lanes';
import type { RedisCluster } from './redis-cluster';
import { QUICK_WIN } from './samples';
import type { Stack } from './stack';
import { until } from './until';

interface KilledWhilePublishing {
  /** How many events; a multiple of `atOnce`. */
  readonly events: number;
  readonly atOnce: number;
  /** Over how many groups they are spread, one after the other. Absent: they have none. */
  readonly groups?: number;
  readonly kills: number;
  /** How many events are published from one kill to the next; a multiple of `atOnce`. */
  readonly killEvery: number;
  /** Some count of what receivers got. A worker is killed once it has grown by more than `growth`: in the middle of what is on its way. */
  readonly progress: () => number;
  readonly growth: number;
}

/** Publishes events while one worker after the other is killed, and another one takes its place. Gives their ids, in order. */
export async function killWhilePublishing(
  stack: Stack,
  { events, atOnce, groups, kills, killEvery, progress, growth }: KilledWhilePublishing,
): Promise<readonly string[]> {
  const published: string[] = [];
  for (let killed = 0; published.length < events; ) {
    const { body } = await stack.client.expect<{ data: { id: string }[] }>(207, 'POST', '/v1/events/batch', {
      events: Array.from({ length: atOnce }, (_, i) => ({
        ...QUICK_WIN,
        ...(groups && { group: `order-${(published.length + i) % groups}` }),
      })),
    });
    published.push(...body.data.map(({ id }) => id));
    if (killed === kills || published.length % killEvery > 0) continue;
    const before = progress();
    await until(async () => (progress() > before + growth ? true : undefined));
    const number = killed % stack.workers.length;
    await stack.workers[number]?.end('SIGKILL');
    const started = await stack.startWorker();
    stack.workers.pop();
    stack.workers[number] = started;
    killed += 1;
  }
  return published;
}

/** Resolves once Redis has no key of a lane or a batch, nor the job of one. */
export async function untilNoLaneIsLeft(stack: Stack, cluster: RedisCluster | undefined): Promise<void> {
  const [first = ''] = cluster?.url.slice('redis+cluster://'.length).split(',') ?? [];
  const redis = cluster === undefined ? new Redis(stack.redis.url) : new Cluster([`redis://${first}`]);
  try {
    await until(async () => {
      const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis];
      const keys = (await Promise.all(nodes.map((node) => node.keys('*')))).flat();
      return keys.some((key) => OF_LANES.test(key)) ? undefined : true;
    });
  } finally {
    redis.disconnect();
  }
}
