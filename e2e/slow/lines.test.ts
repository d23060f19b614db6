import { killWhilePublishing, untilNoLaneIsLeft } from '../support/kill-workers';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
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

    const seen = () => firstSights(all).length;
    const published = await killWhilePublishing(stack, {
      events: EVENTS,
      atOnce: AT_ONCE,
      groups: GROUPS,
      kills: KILLS,
      killEvery: AT_ONCE,
      progress: seen,
      growth: AT_ONCE / 4,
    });
    await until(async () => (seen() === EVENTS ? true : undefined));
    await untilNoLaneIsLeft(stack, cluster);
    const groups = Array.from({ length: GROUPS }, (_, group) =>
      published.filter((_id, i) => i % GROUPS === group),
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
