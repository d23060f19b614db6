import { killWhilePublishing, untilNoLaneIsLeft } from '../support/kill-workers';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
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
    const seen = () => receivers.reduce((sum, receiver) => sum + firstSights(receiver).length, 0);
    const published = await killWhilePublishing(stack, {
      events: EVENTS,
      atOnce: AT_ONCE,
      kills: KILLS,
      killEvery: AT_ONCE,
      progress: seen,
      growth: AT_ONCE,
    });
    await until(async () => (seen() === WEBHOOKS * EVENTS ? true : undefined));
    for (const receiver of receivers) expect(firstSights(receiver)).toEqual(published);
    await untilNoLaneIsLeft(stack, cluster);

    await Promise.all([...receivers.map((receiver) => receiver.stop()), stack.stop()]);
    await cluster?.remove();
  },
);
