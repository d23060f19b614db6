import { Queue } from 'bullmq';
import { EVENTS_QUEUE } from '../model/queue-names';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { BullmqQueueDepth } from './bullmq-queue-depth';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

describe('read', () => {
  it('counts the jobs of each queue by state, and shows zero where there are none', async () => {
    const redis = willClose(await openTestRedis());
    const events = willClose(new Queue(EVENTS_QUEUE, { connection: redis.client }));
    await events.addBulk([
      { name: 'one', data: {} },
      { name: 'two', data: {} },
      { name: 'in order', data: {}, opts: { priority: 3 } },
      { name: 'later', data: {}, opts: { delay: 60_000 } },
    ]);
    const depth = willClose(new BullmqQueueDepth({ redis: redis.client, prefix: 'bull' }));
    const jobs = Object.fromEntries(
      (await depth.read()).map(({ queue, state, jobs: count }) => [`${queue} ${state}`, count]),
    );
    expect(jobs).toEqual({
      'events wait': 3,
      'events active': 0,
      'events delayed': 1,
      'events failed': 0,
      'deliveries wait': 0,
      'deliveries active': 0,
      'deliveries delayed': 0,
      'deliveries failed': 0,
      'replays wait': 0,
      'replays active': 0,
      'replays delayed': 0,
      'replays failed': 0,
      'erasures wait': 0,
      'erasures active': 0,
      'erasures delayed': 0,
      'erasures failed': 0,
      'events-dead-letters wait': 0,
      'events-dead-letters active': 0,
      'events-dead-letters delayed': 0,
      'events-dead-letters failed': 0,
    });
  });
});
