import { Receiver } from '../support/receiver';
import { publishMany, readReplay, replayEnded, startReplay, timesReceived } from '../support/replays';
import { Stack } from '../support/stack';
import { until } from '../support/until';

it('replays thousands of missing events, and goes on where a worker was killed', async () => {
  const COUNT = 2_000;
  const IN_FLIGHT = 64;
  // Short, so that a killed worker's jobs are taken over soon; no shorter, or on a busy machine one that lives loses them.
  const stack = await Stack.start({ environment: { JOB_LOCK_DURATION: '15s' } });
  const { client } = stack;
  // Nobody is there for them yet.
  const eventIds = await publishMany(client, COUNT);
  const [doomed] = stack.workers;
  const receiver = await Receiver.start();
  const webhook = await client.register(receiver.url);
  const replay = await startReplay(client, webhook.id, { mode: 'missing', rate: 500 });

  await until(async () => ((await readReplay(client, replay.id)).enqueued >= COUNT / 2 ? true : undefined));
  await doomed?.end('SIGKILL');
  const atKill = await readReplay(client, replay.id);
  expect(atKill).toMatchObject({ status: 'running', found: COUNT });
  expect(atKill.enqueued).toBeLessThan(COUNT);

  await stack.startWorker();
  expect(await replayEnded(client, replay)).toMatchObject({ status: 'done', found: COUNT, enqueued: COUNT });
  await until(async () => (timesReceived(receiver).size === COUNT ? true : undefined));
  const times = timesReceived(receiver);
  expect([...times.keys()].sort()).toEqual([...eventIds].sort());
  // What the killed worker had under way at this endpoint, a quarter of its slots at most, comes once more.
  expect(Math.max(...times.values())).toBeLessThanOrEqual(2);
  expect(receiver.requests.length - COUNT).toBeLessThanOrEqual(IN_FLIGHT);
  await Promise.all([receiver.stop(), stack.stop()]);
}, 500_000);
