import { createClosables } from '../testing/closables';
import { findClosedPort, startTcpServer } from '../testing/local-server';
import { openTestRedis } from '../testing/test-redis';
import { type ConnectionRole, connectRedis, createRedisProbe } from './redis-connect';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function probe(url: string, role: ConnectionRole): Promise<boolean> {
  const redis = connectRedis({ url, role, name: 'test', emit: () => {} });
  try {
    return await createRedisProbe(redis)();
  } finally {
    redis.disconnect();
  }
}

describe('createRedisProbe', () => {
  it('says yes when Redis answers', async () => {
    const redis = willClose(await openTestRedis());
    expect(await createRedisProbe(redis.client)()).toBe(true);
  });

  // A connection for background work waits for Redis without end; whoever asks for readiness must not.
  it.each(['answering', 'working'] as const)(
    'says no when a connection of the kind "%s" finds no Redis',
    async (role) => {
      expect(await probe(`redis://127.0.0.1:${await findClosedPort()}`, role)).toBe(false);
    },
  );

  it('says no when Redis does not answer', async () => {
    const silent = willClose(await startTcpServer(() => {}));
    expect(await probe(`redis://127.0.0.1:${silent.port}`, 'working')).toBe(false);
  });
});
