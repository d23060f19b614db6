import { createClosables } from '../testing/closables';
import { startRedisProxy } from '../testing/redis-proxy';
import { openTestRedis } from '../testing/test-redis';
import { countUp } from '../testing/texts.script';
import { uniqueEndpointId } from '../testing/unique-ids';
import { createAtomic } from './redis-atomic';
import { type ConnectionRole, connectRedis, type RedisClient } from './redis-connect';
import { RUN_WITHIN_MS } from './redis-deadline';
import { nameRedisError } from './redis-errors';

const { willClose, closeAll } = createClosables();
afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

const ways: readonly [string, (client: RedisClient, key: string) => Promise<unknown>][] = [
  ['a script', (client, counter) => countUp({ counter })(client)],
  ['a unit of scripts', async (client, counter) => (await createAtomic(client)([countUp({ counter })]))[0]],
];

async function arrange(role: ConnectionRole, run: (typeof ways)[number][1]) {
  const { client: direct, url } = willClose(await openTestRedis());
  const proxy = willClose(await startRedisProxy(url));
  const client = connectRedis({ url: proxy.url, role, name: 'test', emit: () => {} });
  willClose({ close: () => client.disconnect() });
  await new Promise((resolve) => client.once('ready', resolve));
  // From now on the time of Redis is known, and the script to Redis.
  await run(client, uniqueEndpointId());
  const redisMs = async () => {
    const [seconds, microseconds] = await direct.time();
    return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  };
  return { proxy, client, direct, redisMs };
}

/** As if so much of the time that has passed were not counted. */
function setClockBack(byMs: number): void {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() - byMs);
}

describe.each(ways)('%s', (_what, run) => {
  async function repeatLate(role: ConnectionRole) {
    const { proxy, client, direct, redisMs } = await arrange(role, run);
    const key = uniqueEndpointId();
    setClockBack(RUN_WITHIN_MS - 1_000);
    const answered = proxy.swallowAnswerTo(key);
    const first = run(client, key).catch((error: unknown) => error);
    await answered;
    // The next connection stands still until it is too late.
    proxy.freeze();
    const lateFrom = (await redisMs()) + 1_000;
    while ((await redisMs()) <= lateFrom);
    proxy.thaw();
    const outcome = await first;
    jest.restoreAllMocks();
    // Behind what was sent once more, on a connection that need not be there again yet.
    while ((await run(client, uniqueEndpointId()).catch(() => undefined)) === undefined);
    return { outcome, runs: await direct.get(key) };
  }

  it('that is sent once more after its deadline, by a client that was told that it failed, is not run again', async () => {
    const { outcome, runs } = await repeatLate('answering');
    expect(nameRedisError(outcome)).toMatchObject({ code: 'storage_unavailable' });
    expect(runs).toBe('1');
  });

  it('of background work may come at any time', async () => {
    expect(await repeatLate('working')).toEqual({ outcome: 2, runs: '2' });
  });

  it('is refused after the machine stood still, and the one after it is run', async () => {
    const { client } = await arrange('answering', run);
    const key = uniqueEndpointId();
    setClockBack(RUN_WITHIN_MS + 5_000);
    await expect(run(client, key)).rejects.toThrow('LATE');
    expect(await run(client, key)).toBe(1);
  });
});
