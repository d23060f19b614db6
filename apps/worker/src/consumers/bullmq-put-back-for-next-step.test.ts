import { ERASURES_QUEUE, REPLAYS_QUEUE } from '@hookferry/core/model/queue-names';
import { buildReplayOrder } from '@hookferry/core/testing/build-replay';
import { createClosables } from '@hookferry/core/testing/closables';
import { Queue } from 'bullmq';
import { openTestQueues, type TestQueues } from '../testing/open-test-queues';
import { createErasureConsumer } from './bullmq-erasure';
import { createReplayConsumer } from './bullmq-replay';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

type Step = () => Promise<{ kind: 'again'; delayMs: number } | { kind: 'done' }>;

it.each([
  [
    ERASURES_QUEUE,
    { account_id: 'acme' },
    (options: TestQueues['options'], step: Step) => createErasureConsumer({ ...options, stepErasure: step }),
  ],
  [
    REPLAYS_QUEUE,
    buildReplayOrder(),
    (options: TestQueues['options'], step: Step) => createReplayConsumer({ ...options, stepReplay: step }),
  ],
])(
  'lets work have more steps than a job may have starts without coming to an end: %s',
  async (name, data, open) => {
    const { client, options } = willClose(await openTestQueues());
    const queue = willClose(new Queue(name, { connection: client }));
    await queue.add('job', data, { jobId: 'one' });
    await client.hset(`bull:${name}:one`, 'ats', 299_999);

    let steps = 0;
    const consumer = open(options, async () => {
      steps += 1;
      return steps < 3 ? { kind: 'again', delayMs: 0 } : { kind: 'done' };
    });
    willClose({ close: () => consumer.stop() });
    consumer.start();
    while ((await queue.getJobCountByTypes('wait', 'active', 'delayed')) > 0);
    expect(steps).toBe(3);
    expect(await queue.getFailedCount()).toBe(0);
  },
);
