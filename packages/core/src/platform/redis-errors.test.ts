import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ChainableCommander, ReplyError } from 'ioredis';
import { createClosables } from '../testing/closables';
import { findClosedPort } from '../testing/local-server';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis } from '../testing/test-redis';
import { AppError } from './app-error';
import { connectRedis } from './redis-connect';
import { isUnavailable, LOST_CONNECTION_ERRORS, nameRedisError } from './redis-errors';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

function sourceOfIoredis(): string {
  const folder = dirname(require.resolve('ioredis'));
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
}

describe('Redis is unavailable', () => {
  it('by the words of ioredis, which its source has', () => {
    const source = sourceOfIoredis();
    expect(LOST_CONNECTION_ERRORS.filter((words) => !source.includes(words))).toEqual([]);
    expect(LOST_CONNECTION_ERRORS.filter((words) => !isUnavailable(new Error(`${words} …`)))).toEqual([]);
  });

  it.each([
    'LOADING Redis is loading the dataset in memory',
    "OOM command not allowed when used memory > 'maxmemory'.",
    "READONLY You can't write against a read only replica.",
    'MASTERDOWN Link with MASTER is down',
    'CLUSTERDOWN The cluster is down',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'NOREPLICAS Not enough good replicas to write.',
    'MISCONF Errors writing to the AOF file',
    'BUSY Redis is busy running a script.',
    'WRONGPASS invalid username-password pair or user is disabled.',
    'ERR max number of clients reached',
    'ERR max number of clients + cluster connections reached',
    "ERR Error running script (call to f_0a1b): @user_script:18: @user_script: 18: -OOM command not allowed when used memory > 'maxmemory'.",
    'ERR Error running script (call to f_0a1b): @user_script:18: @user_script: 18: -NOREPLICAS Not enough good replicas to write.',
  ])('by its reply: %s', (message) => {
    expect(isUnavailable(new ReplyError(message))).toBe(true);
  });

  it('when it refuses a command of a transaction, and not when that is wrong', async () => {
    const server = willClose(await startRedisServer());
    const { client } = willClose(await openTestRedis(server.url));
    const errorOf = (transaction: ChainableCommander) => transaction.exec().catch((error: unknown) => error);
    const wrong = await errorOf(client.multi([['set', 'a']]));
    await client.config('SET', 'maxmemory', '1');
    const refused = await errorOf(client.multi().set('a', 'b'));
    expect([refused, wrong].map(String)).toEqual([
      expect.stringContaining('EXECABORT'),
      expect.stringContaining('EXECABORT'),
    ]);
    expect([refused, wrong].map(isUnavailable)).toEqual([true, false]);
  });

  it('when there is no connection, and when one that was there is lost', async () => {
    const url = `redis://127.0.0.1:${await findClosedPort()}`;
    const nowhere = connectRedis({ url, role: 'answering', name: 'test', emit: () => {} });
    willClose({ close: () => nowhere.disconnect() });
    const lost = await openTestRedis();
    const asked = [nowhere, lost.client].map((redis) => () => redis.get('any'));
    await lost.close();
    for (const ask of asked) {
      const error: unknown = await ask().catch((failure: unknown) => failure);
      expect(nameRedisError(error)).toMatchObject({ code: 'storage_unavailable', cause: error });
    }
  });
});

it.each([
  new ReplyError('WRONGTYPE Operation against a key holding the wrong kind of value'),
  new ReplyError('BUSYKEY Target key name already exists.'),
  new ReplyError(
    'ERR Error running script (call to f_0a1b): @user_script:1: user_script:1: OOM is not a number',
  ),
  new RangeError('Invalid array length'),
  new Error('A script was called after its unit was sent.'),
  new TypeError('x is not a function'),
  Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
  new AppError('not_found', 'There is none.'),
])('leaves any other error what it is: $message', (error) => {
  expect(isUnavailable(error)).toBe(false);
  expect(nameRedisError(error)).toBe(error);
});
