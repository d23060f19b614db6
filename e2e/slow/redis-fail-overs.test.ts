import { startClusterRedis } from '../faults/redis/cluster-redis';
import { QUICK_TIMING, startSentinelRedis } from '../faults/redis/sentinel-redis';
import { publishWithoutEnd } from '../support/publish-without-end';
import { Receiver } from '../support/receiver';
import { RedisServer } from '../support/redis-server';
import { addressOf, Stack } from '../support/stack';
import { until } from '../support/until';

// `FAIL_OVERS=20 npm run test:one -- e2e/slow/redis-fail-overs` for as many as a release is tried with.
const FAIL_OVERS = Number(process.env.FAIL_OVERS ?? 2);
// What is promised in docs/reliability.md.
const BACK_WITHIN_MS = 15_000;
const PAUSE_MS = 10;

interface FailingRedis {
  readonly url: string;
  /** Kills what is in use; resolves once there is something in its place. */
  failOver(): Promise<RedisServer>;
  bringBack(lost: RedisServer): Promise<void>;
  remove(): Promise<void>;
}

async function oneServer(): Promise<FailingRedis> {
  const server = await RedisServer.start();
  return {
    url: server.url,
    async failOver() {
      await server.kill();
      await server.start();
      return server;
    },
    bringBack: async () => {},
    remove: () => server.remove(),
  };
}

it.each([
  ['one server that is killed and started again', oneServer],
  [
    'a master behind Sentinels that is killed and comes back as a replica',
    () => startSentinelRedis([], QUICK_TIMING),
  ],
  ['the node of a Cluster that has the queues', startClusterRedis],
])(
  `API and workers are back within 15 s of each fail-over, ${FAIL_OVERS} in a row under load: %s`,
  async (_what, start: () => Promise<FailingRedis>) => {
    const redis = await start();
    const stack = await Stack.start({
      workers: 2,
      environment: { REDIS_URL: redis.url, JOB_LOCK_DURATION: '2s' },
    });
    const receiver = await Receiver.start();
    const arrived = () => new Set(receiver.requests.map(({ headers }) => String(headers['webhook-id'])));
    try {
      const processes = await Promise.all([stack.api, ...stack.workers].map(addressOf));
      await stack.client.register(receiver.url);
      const load = publishWithoutEnd(stack.client, 'fail-over', PAUSE_MS);
      await load.untilAccepted(20);
      for (let round = 0; round < FAIL_OVERS; round += 1) {
        const lost = await redis.failOver();
        const promotedAt = performance.now();
        const before = load.accepted.length;
        await until(async () =>
          load.accepted.slice(before).some((id) => arrived().has(id)) ? true : undefined,
        );
        await Promise.all(processes.map(async (url) => await until(async () => await isReady(url))));
        expect({ round, isBack: performance.now() - promotedAt < BACK_WITHIN_MS }).toEqual({
          round,
          isBack: true,
        });
        await redis.bringBack(lost);
        await load.untilAccepted(before + 20);
      }
      const since = load.accepted.length;
      await load.untilAccepted(since + 20);
      await load.stop();
      // What was accepted before a promotion Redis may have lost: docs/reliability.md counts that.
      const last = load.accepted.slice(since);
      await until(async () => (last.every((id) => arrived().has(id)) ? true : undefined));
    } finally {
      await receiver.stop();
      await stack.stop();
      await redis.remove();
    }
  },
  60_000 + FAIL_OVERS * 40_000,
);

async function isReady(url: string): Promise<true | undefined> {
  const responses = await Promise.all(
    ['/readyz', '/healthz'].map(async (path) => (await fetch(url + path)).status),
  );
  return responses.every((status) => status === 200) ? true : undefined;
}
