import { Queue } from 'bullmq';
import type { QueuePlace } from '../erasure/step-erasure';
import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import { keys } from '../redis/keys';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { BullmqAccountJobs } from './bullmq-account-jobs';
import { BullmqDeadLetters } from './bullmq-dead-letters';
import { DEAD_LETTERS_QUEUE, EVENTS_QUEUE } from './queue-names';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

it("takes the account's events that are put off and its dead letters away, page by page, and nobody else's", async () => {
  const { client } = willClose(await openTestRedis());
  const jobs = willClose(new BullmqAccountJobs({ redis: client, prefix: 'bull' }));
  const events = willClose(new Queue(EVENTS_QUEUE, { connection: client }));
  const letters = willClose(new BullmqDeadLetters({ redis: client, prefix: 'bull' }, () => 0));
  const kept = willClose(new Queue(DEAD_LETTERS_QUEUE, { connection: client }));
  const error = new AppError('invalid_request', 'The event is not valid.');
  const accounts = ['acme', 'other'];
  for (let i = 0; i < 130; i += 1) {
    for (const account_id of accounts) {
      await events.add('x.y', { account_id }, { delay: 60_000 + i });
      await letters.keep(
        { id: `${account_id}-${i}`, name: 'x.y', timestamp: i, data: { account_id } },
        error,
      );
    }
  }
  await letters.keep({ id: 'none', name: 'x.y', timestamp: 0, data: 'no object' }, error);

  const places: QueuePlace[] = [];
  let place: QueuePlace | undefined = { queue: 0, offset: 0 };
  while (place) {
    places.push(place);
    place = await jobs.removeSome('acme' as AccountId, place);
  }
  expect(places.length).toBeGreaterThan(4);
  const left = [...(await events.getDelayed()), ...(await kept.getWaiting())].map(({ data }) => data);
  expect(left).toHaveLength(261);
  expect(JSON.stringify(left)).not.toContain('acme');
  expect(await client.zcard(keys.rejectedJobs)).toBe(131);
});
