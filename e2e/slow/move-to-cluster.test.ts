import { publishWithoutEnd } from '../support/publish-without-end';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
import { runCli } from '../support/run-cli';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const PAUSE_MS = 10;
const ENDPOINTS = 12;
const MASTERS = 3;
const RETRY_SCHEDULE = Array(40).fill('500ms').join();

let cluster: RedisCluster;
let before: Stack;
let after: Stack | undefined;
beforeAll(async () => {
  cluster = await RedisCluster.start();
  before = await Stack.start({ workers: 2, environment: { RETRY_SCHEDULE } });
});
afterAll(async () => {
  await before.stop();
  await after?.stop();
  await cluster.remove();
});

it('loses and repeats nothing when one Redis becomes a Cluster, with as many shards as masters', async () => {
  const { client, redis } = before;
  const receivers = await Promise.all(Array.from({ length: ENDPOINTS }, () => Receiver.start()));
  const failing = await Receiver.start((_request, count) => (count % 4 === 1 ? 503 : 204));
  const webhooks: string[] = [];
  for (const receiver of [...receivers, failing]) {
    webhooks.push((await client.register(receiver.url)).id);
  }
  const [heldId] = webhooks;
  await client.expect(200, 'POST', `/v1/webhooks/${heldId}/disable`);
  const load = publishWithoutEnd(client, 'move', PAUSE_MS);
  await load.untilAccepted(60);

  const refused = await runCli(redis.url, 'data', 'copy', '--to', cluster.url);
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Stop them first') });
  await Promise.all([before.api, ...before.workers].map((part) => part.end('SIGTERM')));
  const copied = await runCli(redis.url, 'data', 'copy', '--to', cluster.url);
  expect(copied).toMatchObject({ exitCode: 0, stdout: `Copied ${await redis.client.dbsize()} keys.\n` });
  after = await Stack.start({
    workers: 2,
    environment: { REDIS_URL: cluster.url, QUEUE_SHARDS: String(MASTERS), RETRY_SCHEDULE },
  });
  load.goOnWith(after.client);
  await load.untilAccepted(load.accepted.length + 60);
  await load.stop();
  await after.client.expect(200, 'POST', `/v1/webhooks/${heldId}/enable`);

  for (const receiver of receivers) {
    await until(async () => (receiver.requests.length >= load.accepted.length ? true : undefined));
    const ids = receiver.requests.map(({ headers }) => String(headers['webhook-id']));
    expect(ids.toSorted()).toEqual(load.accepted);
  }
  const taken = () => failing.requests.filter((_request, i) => i % 4 !== 0).length;
  await until(async () => (taken() >= load.accepted.length ? true : undefined));
  expect(taken()).toBe(load.accepted.length);
  const again = await runCli(redis.url, 'data', 'copy', '--to', cluster.url);
  expect(again).toMatchObject({ exitCode: 1 });
  await Promise.all([...receivers, failing].map((receiver) => receiver.stop()));
});
