import { createClosables } from '../testing/closables';
import { findClosedPort, startTcpServer } from '../testing/local-server';
import { startRedisProxy } from '../testing/redis-proxy';
import { openTestRedis } from '../testing/test-redis';
import { type ConnectionRole, connectRedis } from './redis-connect';
import { createRedisProbe, untilRedisAnswers } from './redis-probe';

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

describe('untilRedisAnswers', () => {
  it('waits for a Redis that is silent, and goes on once it answers', async () => {
    const proxy = willClose(await startRedisProxy(willClose(await openTestRedis()).url));
    const redis = connectRedis({ url: proxy.url, role: 'answering', name: 'test', emit: () => {} });
    willClose({ close: () => redis.disconnect() });
    proxy.freeze();
    const answers: boolean[] = [];
    const isAnswering = createRedisProbe(redis);
    await untilRedisAnswers(async () => {
      const answer = await isAnswering();
      answers.push(answer);
      if (answers.length === 1) proxy.thaw();
      return answer;
    });
    expect(answers[0]).toBe(false);
    expect(answers.at(-1)).toBe(true);
  });
});
