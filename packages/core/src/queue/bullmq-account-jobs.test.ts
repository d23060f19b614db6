import { Queue } from 'bullmq';
import type { QueuePlace } from '../erasure/step-erasure';
import type { AccountId } from '../events/event';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { BullmqAccountJobs } from './bullmq-account-jobs';
import { DEAD_LETTERS_QUEUE, EVENTS_QUEUE } from './queue-names';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

it("takes the account's events that are put off and its dead letters away, page by page, and nobody else's", async () => {
  const { client } = willClose(await openTestRedis());
  const jobs = willClose(new BullmqAccountJobs({ redis: client, prefix: 'bull' }));
  const events = willClose(new Queue(EVENTS_QUEUE, { connection: client }));
  const letters = willClose(new Queue(DEAD_LETTERS_QUEUE, { connection: client }));
  const accounts = ['acme', 'other'];
  for (let i = 0; i < 130; i += 1) {
    for (const account_id of accounts) {
      await events.add('x.y', { account_id }, { delay: 60_000 + i });
      await letters.add('x.y', { job: { data: { account_id } } });
    }
  }
  await letters.add('x.y', { job: { data: 'no object' } });

  const places: QueuePlace[] = [];
  let place: QueuePlace | undefined = { queue: 0, offset: 0 };
  while (place) {
    places.push(place);
    place = await jobs.removeSome('acme' as AccountId, place);
  }
  expect(places.length).toBeGreaterThan(4);
  const left = [...(await events.getDelayed()), ...(await letters.getWaiting())].map(({ data }) => data);
  expect(left).toHaveLength(261);
  expect(JSON.stringify(left)).not.toContain('acme');
});
