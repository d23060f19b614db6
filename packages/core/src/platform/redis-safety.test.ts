import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { startRedisServer } from '../testing/redis-server';
import { connectRedis } from './redis-connect';
import { describeUnsafe, readPersistence, validationErrorsIn, watchRedisSafety } from './redis-safety';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const SAFE = 'redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nrole:master\r\n';

describe('faultsIn', () => {
  it.each(['6.2.0', '7.0.15', '8.2.1', '10.0.0'])(
    'finds nothing in a Redis %s that is set up well',
    (version) => {
      expect(validationErrorsIn(SAFE.replace('7.0.15', version))).toEqual([]);
    },
  );

  it.each([
    ['7.0.15', '6.0.16', /Redis 6\.0\.16 is too old: use 6\.2 or later/],
    ['7.0.15', '5.0.14', /too old/],
    ['noeviction', 'allkeys-lru', /maxmemory-policy is allkeys-lru: .* set it to noeviction/],
    ['aof_enabled:1', 'aof_enabled:0', /appendonly is no: /],
    ['role:master', 'role:slave', /replica/],
  ])('says what is wrong when %s is %s', (right, wrong, fault) => {
    expect(validationErrorsIn(SAFE.replace(right, wrong))).toEqual([expect.stringMatching(fault)]);
  });
});

describe('a real Redis', () => {
  it('is said to be unsafe in one line, once, and again when it is so in another way', async () => {
    const server = willClose(await startRedisServer());
    const redis = connectRedis({ url: server.url, role: 'working', name: 'test', emit: () => {} });
    willClose({ close: () => redis.disconnect() });
    const signals = recordSignals();
    watchRedisSafety(redis, signals.listen);
    const connectAnew = async () => {
      const isBack = new Promise((resolve) => redis.once('ready', resolve));
      redis.disconnect(true);
      await isBack;
    };
    const said = () => signals.named('redis.unsafe').map(({ detail }) => detail);
    await signals.first('redis.unsafe');
    await connectAnew();
    await redis.config('SET', 'maxmemory-policy', 'volatile-ttl');
    await connectAnew();
    while (said().length < 2) await redis.ping();
    expect(said()).toEqual([
      expect.stringMatching(/^appendonly is no[^.]*\.$/),
      expect.stringMatching(/^maxmemory-policy is volatile-ttl.*appendonly is no/),
    ]);
  });

  it('that does not let its user ask is said to be unchecked', async () => {
    const server = willClose(await startRedisServer());
    const admin = connectRedis({ url: server.url, role: 'working', name: 'test', emit: () => {} });
    willClose({ close: () => admin.disconnect() });
    await admin.call('ACL', 'SETUSER', 'shy', 'on', '>secret', '~*', '+@all', '-info');
    const url = server.url.replace('redis://', 'redis://shy:secret@');
    const redis = connectRedis({ url, role: 'working', name: 'test', emit: () => {} });
    willClose({ close: () => redis.disconnect() });
    expect(await describeUnsafe(redis)).toMatch(/may not run INFO/);
  });

  it('that is away has nothing to say', async () => {
    const redis = connectRedis({
      url: 'redis://127.0.0.1:1',
      role: 'answering',
      name: 'test',
      emit: () => {},
    });
    willClose({ close: () => redis.disconnect() });
    expect(await describeUnsafe(redis)).toBeUndefined();
  });
});

it('is asked how it writes to disk, and may not say', async () => {
  const server = willClose(await startRedisServer());
  const redis = connectRedis({ url: server.url, role: 'working', name: 'test', emit: () => {} });
  willClose({ close: () => redis.disconnect() });
  await redis.config('SET', 'appendonly', 'yes');
  await redis.config('SET', 'appendfsync', 'always');
  expect(await readPersistence(redis)).toEqual({ isAppendOnly: true, fsync: 'always' });
  await redis.acl('SETUSER', 'default', '-config');
  expect(await readPersistence(redis)).toEqual({ isAppendOnly: undefined, fsync: undefined });
});
