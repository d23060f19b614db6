import { keys } from '../domain/keys';
import { PgWitness, type RedisLoss } from '../history/database/pg-witness';
import { createAtomic } from '../platform/redis-atomic';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { hasPostgres, NO_POSTGRES } from '../testing/postgres-server';
import { recordSignals } from '../testing/record-signals';
import { type RedisServer, startRedisServer } from '../testing/redis-server';
import { openTestHistory, type TestHistory } from '../testing/test-history';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { RollbackStore } from './redis-rollbacks';
import { type LossHandler, RollbackWatch, type RollbackWatchParts } from './rollback-watch';

const EPOCH = keys.epoch(0);
const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange({ pgWitness, onLoss }: Partial<RollbackWatchParts> = {}, given?: TestRedis) {
  const { client } = given ?? willClose(await openTestRedis());
  const { listen, all } = recordSignals();
  const rollbackStore = new RollbackStore(client, createAtomic(client));
  let workers = 0;
  const open = () =>
    new RollbackWatch(
      fake<RollbackWatchParts>({
        rollbackStore,
        pgWitness,
        ...(onLoss && { onLoss }),
        redis: client,
        workerId: `worker-${(workers += 1)}`,
        emit: listen,
      }),
    );
  return {
    client,
    open,
    rollbackStore,
    said: () => all().map(({ name }) => name),
    signals: all,
    /** As of now, to go back to. */
    async copy() {
      const fields = await client.hgetall(EPOCH);
      return async () => {
        await client.flushdb();
        await client.hset(EPOCH, fields);
      };
    },
    /** The worker that counts has ended a while ago. */
    endLease: async () =>
      void (await client.hset(EPOCH, 'at', Number(await client.hget(EPOCH, 'at')) - 60_000)),
    number: async () => Number(await client.hget(EPOCH, 'number')),
  };
}

describe('whether Redis has gone back', () => {
  it('is not said of one that goes on', async () => {
    const { open, number, said } = await arrange();
    const watch = open();
    expect(await watch.runOnce()).toBe(true);
    expect(await watch.runOnce()).toBe(true);
    expect([await number(), said()]).toEqual([2, []]);
  });

  it('is counted by one worker at a time, and by another one once that has ended', async () => {
    const { open, number, endLease } = await arrange();
    const [one, other] = [open(), open()];
    expect([await one.runOnce(), await other.runOnce(), await one.runOnce()]).toEqual([true, false, true]);
    expect(await number()).toBe(2);
    await endLease();
    expect([await other.runOnce(), await one.runOnce(), await number()]).toEqual([true, false, 3]);
  });

  it('is said once by the workers that have seen more, with from when on it has lost something', async () => {
    const { open, copy, signals, rollbackStore, client } = await arrange();
    const [one, other] = [open(), open()];
    await one.runOnce();
    const at = Number(await client.hget(EPOCH, 'at'));
    const goBack = await copy();
    await one.runOnce();
    await other.runOnce();
    await goBack();
    await Promise.all([other.runOnce(), one.runOnce()]);
    expect(signals()).toEqual([
      { name: 'redis.rolled_back', since: new Date(at).toISOString(), until: expect.any(String) },
    ]);
    expect(await rollbackStore.list()).toEqual([{ since: at, until: expect.any(Number) }]);
    await Promise.all([one.runOnce(), other.runOnce()]);
    expect(signals()).toHaveLength(1);
  });

  it('is said of one that came back empty, and again of the next time', async () => {
    const { open, client, signals, rollbackStore } = await arrange();
    const watch = open();
    await watch.runOnce();
    await client.flushdb();
    await watch.runOnce();
    expect(signals()).toEqual([{ name: 'redis.rolled_back', until: expect.any(String) }]);
    expect(await rollbackStore.list()).toEqual([{ since: undefined, until: expect.any(Number) }]);
    await client.flushdb();
    await watch.runOnce();
    expect(signals()).toHaveLength(2);
  });

  it('is found by who counts next, if the worker that found it ended before it was on record', async () => {
    const { open, client, said, rollbackStore } = await arrange();
    const watch = open();
    await watch.runOnce();
    await client.flushdb();
    const settle = jest.spyOn(rollbackStore, 'settle').mockRejectedValueOnce(new Error('It ended.'));
    await expect(watch.runOnce()).rejects.toThrow('It ended.');
    await watch.runOnce();
    expect(settle).toHaveBeenCalledTimes(2);
    expect(said()).toEqual(['redis.rolled_back']);
  });
});

describe('another process of Redis', () => {
  let server: RedisServer;
  let redis: TestRedis;
  beforeAll(async () => {
    server = await startRedisServer(['--enable-debug-command', 'yes']);
    redis = await openTestRedis(server.url);
  });
  afterAll(async () => {
    await redis.close();
    await server.close();
  });

  it('is a reason to look at its last second, and not called a loss', async () => {
    const { open, client, signals, rollbackStore } = await arrange({}, redis);
    const watch = open();
    await watch.runOnce();
    const at = Number(await client.hget(EPOCH, 'at'));
    await client.call('DEBUG', 'CHANGE-REPL-ID');
    client.disconnect(true);
    await new Promise((resolve) => client.once('ready', resolve));
    await watch.runOnce();
    await watch.runOnce();
    expect(signals()).toEqual([
      { name: 'redis.replaced', since: new Date(at).toISOString(), until: expect.any(String) },
    ]);
    expect(await rollbackStore.list()).toEqual([]);
  });
});

it('is said to have gone back when it refuses the transactions of its append-only file, for lack of rights of the user default', async () => {
  const user = ['--user', 'service', 'on', '>secret', '~*', '&*', '+@all'];
  const options = ['--appendonly', 'yes', '--enable-debug-command', 'yes', ...user];
  const server = willClose(await startRedisServer(options));
  const redis = willClose(await openTestRedis(server.url.replace('redis://', 'redis://service:secret@')));
  const { open, client, said } = await arrange({}, redis);
  const watch = open();
  await watch.runOnce();
  await watch.runOnce();
  await client.acl('SETUSER', 'default', 'off', 'reset');
  await client.call('DEBUG', 'LOADAOF');
  await watch.runOnce();
  expect(said()).toEqual(['redis.rolled_back']);
});

if (!hasPostgres) console.warn(`SKIPPED: what PostgreSQL knows of Redis, because ${NO_POSTGRES}.`);
(hasPostgres ? describe : describe.skip)('with PostgreSQL, whether Redis has gone back', () => {
  let history: TestHistory;
  let pgWitness: PgWitness;
  beforeAll(async () => {
    history = await openTestHistory();
    pgWitness = new PgWitness(history.database);
  });
  beforeEach(async () => {
    await history.database.connected((client) =>
      client.query('TRUNCATE webhook_redis_epochs, webhook_redis_losses'),
    );
  });
  afterAll(() => history.close());

  it('is known to a worker that has just started', async () => {
    const { open, copy, said, endLease } = await arrange({ pgWitness });
    const before = open();
    await before.runOnce();
    await endLease();
    const goBack = await copy();
    await before.runOnce();
    await goBack();
    expect(await open().runOnce()).toBe(true);
    expect(said()).toEqual(['redis.rolled_back']);
  });

  it('is not decided by a worker that has just started while PostgreSQL is away', async () => {
    const { open, client, said } = await arrange({ pgWitness });
    await open().runOnce();
    await client.flushdb();
    await history.server.stop();
    await expect(open().runOnce()).rejects.toThrow();
    expect(await client.exists(EPOCH)).toBe(0);
    await history.server.start();
    await open().runOnce();
    expect(said()).toEqual(['redis.rolled_back']);
  });

  it('is told to those who make it good, again until they have, and once', async () => {
    const told: RedisLoss[] = [];
    const fails = jest.fn<Promise<void>, []>().mockRejectedValueOnce(new Error('Not now.'));
    const handle: LossHandler = async (loss) => {
      told.push(loss);
      await fails();
    };
    const { open, client } = await arrange({ pgWitness, onLoss: [handle] });
    await open().runOnce();
    await client.flushdb();
    const watch = open();
    await watch.runOnce();
    await expect(watch.handleLosses()).rejects.toThrow('Not now.');
    await open().handleLosses();
    await open().handleLosses();
    const loss = { epoch: EPOCH, since: undefined, until: expect.any(Number), isCertain: true };
    expect(told).toEqual([loss, loss]);
  });
});
