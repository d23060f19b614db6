import { ReplyError } from 'ioredis';
import { createClosables } from '../testing/closables';
import { findClosedPort } from '../testing/local-server';
import { openTestRedis } from '../testing/test-redis';
import { connectRedis } from './redis-connect';
import { withStorageErrors } from './redis-errors';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const storeThatFailsWith = (error: unknown) =>
  withStorageErrors({ read: (): Promise<string> => Promise.reject(error) });

describe('withStorageErrors', () => {
  it('passes arguments and results on', async () => {
    const store = withStorageErrors({ add: async (one: number, other: number) => one + other });
    expect(await store.add(1, 2)).toBe(3);
  });

  it.each([
    'LOADING Redis is loading the dataset in memory',
    "OOM command not allowed when used memory > 'maxmemory'.",
    "READONLY You can't write against a read only replica.",
    'MASTERDOWN Link with MASTER is down',
    'CLUSTERDOWN The cluster is down',
    'NOREPLICAS Not enough good replicas to write.',
    'MISCONF Errors writing to the AOF file',
    'BUSY Redis is busy running a script.',
  ])('says that the store is unavailable when Redis answers "%s"', async (message) => {
    const cause = new ReplyError(message);
    await expect(storeThatFailsWith(cause).read()).rejects.toMatchObject({
      name: 'AppError',
      code: 'storage_unavailable',
      cause,
    });
  });

  it('says so when there is no connection, and when one that was there is lost', async () => {
    const nowhere = connectRedis({
      url: `redis://127.0.0.1:${await findClosedPort()}`,
      role: 'answering',
      name: 'test',
      emit: () => {},
    });
    willClose({ close: () => nowhere.disconnect() });
    const lost = await openTestRedis();
    const stores = [nowhere, lost.client].map((redis) => withStorageErrors({ read: () => redis.get('any') }));
    await lost.close();
    for (const store of stores) {
      await expect(store.read()).rejects.toMatchObject({ code: 'storage_unavailable' });
    }
  });

  it('leaves our own faults as they are: a wrong command, a record that can not be read', async () => {
    const redis = willClose(await openTestRedis());
    const store = withStorageErrors({
      ask: () => redis.client.call('NOSUCHCOMMAND'),
      readJson: async (): Promise<unknown> => JSON.parse('{'),
      readMember: async () => (undefined as unknown as { member: string }).member,
    });
    await expect(store.ask()).rejects.toThrow(ReplyError);
    await expect(store.readJson()).rejects.toThrow(SyntaxError);
    await expect(store.readMember()).rejects.toThrow(TypeError);
  });
});
