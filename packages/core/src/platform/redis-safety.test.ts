import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { startRedisServer } from '../testing/redis-server';
import { connectRedis } from './redis-connect';
import {
  describeUnsafe,
  readRedisSafety,
  safetyIn,
  validationErrorsIn,
  watchRedisSafety,
} from './redis-safety';

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

  it('that replays its append-only file as a user without rights is said to be unsafe', async () => {
    const server = willClose(await startRedisServer());
    const redis = connectRedis({ url: server.url, role: 'working', name: 'test', emit: () => {} });
    willClose({ close: () => redis.disconnect() });
    await redis.config('SET', 'maxmemory-policy', 'noeviction', 'appendonly', 'yes');
    expect(await describeUnsafe(redis)).toBeUndefined();
    // This connection stays its user, which has to ask.
    await redis.acl('SETUSER', 'default', 'off', 'resetkeys');
    expect(await describeUnsafe(redis)).toMatch(/^The user default of Redis lacks rights: /);
    await redis.acl('SETUSER', 'default', '~*', '-debug');
    expect(await describeUnsafe(redis)).toMatch(/^The user default of Redis lacks rights: /);
    await redis.acl('SETUSER', 'default', '+@all');
    expect(await describeUnsafe(redis)).toBeUndefined();
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

it('is asked how it is set up, and may not say', async () => {
  const server = willClose(await startRedisServer());
  const redis = connectRedis({ url: server.url, role: 'working', name: 'test', emit: () => {} });
  willClose({ close: () => redis.disconnect() });
  await redis.config('SET', 'appendonly', 'yes');
  await redis.config('SET', 'appendfsync', 'always');
  const written = { isAppendOnly: true, fsync: 'always', hasReplicas: false, canReplay: true };
  expect(await readRedisSafety(redis)).toEqual({ ...written, keepsWithinMemory: false });
  await redis.config('SET', 'maxmemory', '100mb');
  expect(await readRedisSafety(redis)).toEqual({ ...written, keepsWithinMemory: true });
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  expect(await readRedisSafety(redis)).toEqual({ ...written, keepsWithinMemory: false });
  await redis.acl('SETUSER', 'default', '-config');
  const untold = { fsync: undefined, keepsWithinMemory: false, canReplay: false };
  expect(await readRedisSafety(redis)).toEqual({ ...written, ...untold });
  await redis.acl('SETUSER', 'default', '-info', '-acl');
  const unknown = { isAppendOnly: undefined, fsync: undefined, keepsWithinMemory: undefined };
  expect(await readRedisSafety(redis)).toEqual({ ...unknown, hasReplicas: undefined, canReplay: undefined });
});

describe('safetyIn', () => {
  const REPLICA = 'slave0:ip=10.0.0.2,port=6379,state=online,offset=9,lag=1';
  const GOOD = `${SAFE}maxmemory:1000\r\nconnected_slaves:1\r\n${REPLICA}\r\n`;
  const good = { isAppendOnly: true, keepsWithinMemory: true, hasReplicas: true };

  it('is good when every master is', () => {
    expect(safetyIn([GOOD, GOOD])).toEqual(good);
  });

  it.each([
    ['maxmemory_policy', 'keepsWithinMemory'],
    ['maxmemory', 'keepsWithinMemory'],
    ['aof_enabled', 'isAppendOnly'],
    ['connected_slaves', 'hasReplicas'],
  ])('does not know when a reply of INFO lacks %s', (field, safety) => {
    const without = GOOD.replace(new RegExp(`^${field}:.*\r\n`, 'm'), '');
    expect(safetyIn([without])).toEqual({ ...good, [safety]: undefined });
    expect(safetyIn([GOOD, without])).toEqual({ ...good, [safety]: undefined });
  });

  it.each([
    ['noeviction', 'allkeys-lru', 'keepsWithinMemory'],
    ['maxmemory:1000', 'maxmemory:0', 'keepsWithinMemory'],
    ['aof_enabled:1', 'aof_enabled:0', 'isAppendOnly'],
    [`connected_slaves:1\r\n${REPLICA}`, 'connected_slaves:0', 'hasReplicas'],
    // A backup, and a replica that has not got the data yet.
    [REPLICA, REPLICA.replace('6379', '0'), 'hasReplicas'],
    [REPLICA, REPLICA.replace('online', 'wait_bgsave'), 'hasReplicas'],
  ])(
    'is not good when one of three masters has %s as %s, and another does not say',
    (right, wrong, safety) => {
      expect(safetyIn([GOOD, GOOD.replace(right, wrong), GOOD])).toEqual({ ...good, [safety]: false });
      expect(safetyIn([GOOD.replace(right, wrong), ''])).toMatchObject({ [safety]: false });
    },
  );

  it('knows nothing before a master is known', () => {
    const nothing = { isAppendOnly: undefined, keepsWithinMemory: undefined, hasReplicas: undefined };
    expect(safetyIn([])).toEqual(nothing);
  });
});
