import { createClosables } from '@hookferry/core/testing/closables';
import { startRedisServer } from '@hookferry/core/testing/redis-server';
import request from 'supertest';
import { readProblem } from '../testing/read-problem';
import { startTestApi } from '../testing/start-test-api';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const PAUSE_MS = 1_000;
const CALLERS = 50;

async function start() {
  const server = willClose(await startRedisServer());
  const api = willClose(await startTestApi({}, server.url));
  const ask = () => request(api.url).get('/v1/status');
  return { server, api, ask };
}

it('tells anybody that events are accepted, whatever key they send', async () => {
  const { ask } = await start();
  const asked = [await ask(), await ask().set('authorization', 'Bearer whk_wrong')];
  expect(asked.map(({ body }) => body as unknown)).toEqual([{ status: 'ok' }, { status: 'ok' }]);
  expect(asked.map(({ headers }) => headers['cache-control'])).toEqual(['no-store', 'no-store']);
});

it('is 503 while Redis takes no writes, and says no more', async () => {
  const { server, ask } = await start();
  await server.fillUp();
  let response = await ask();
  while (response.status === 200) response = await ask();
  expect(readProblem(response)).toEqual({ status: 503, code: 'storage_unavailable' });
  expect(response.headers['retry-after']).toBe('1');
  expect(JSON.stringify(response.body)).not.toContain('OOM');
  await server.makeRoom();
  while ((await ask()).status !== 200);
});

// Nobody needs a key for it: it may fill neither the log nor Redis.
it('leaves no line in the log, is not counted, and asks Redis once for all who ask at a moment', async () => {
  const { server, api, ask } = await start();
  const calls = async () => {
    const stats = await api.redis.client.info('commandstats');
    return Number(/cmdstat_exists:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  await ask();
  const before = await calls();
  // While Redis keeps its reply, all come: however busy the machine is, they are of one moment.
  await api.redis.client.client('PAUSE', PAUSE_MS, 'ALL');
  await Promise.all(Array.from({ length: CALLERS }, ask));
  expect((await calls()) - before).toBeLessThan(CALLERS);
  await server.fillUp();
  while ((await ask()).status === 200);
  expect(api.signals.named('request.failed')).toEqual([]);
  expect(api.signals.named('request.completed')).toEqual([]);
});
