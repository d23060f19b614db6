import { Queue } from 'bullmq';
import { AppError } from '../kernel/app-error';
import type { QueuePlace } from '../manage/step-erasure';
import type { AccountId } from '../model/event';
import { createQueueLayout, type QueueShard, type QueueShards, shardsOf } from '../model/queue-layout';
import { DEAD_LETTERS_QUEUE, EVENTS_QUEUE } from '../model/queue-names';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { BullmqDeadLetters } from './bullmq-dead-letters';
import { type ErasureJob, erasureJobSchema } from './erasure-job';
import { ShardedAccountJobs } from './sharded-account-jobs';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const ACME = 'acme' as AccountId;
const layout = createQueueLayout(3, 'bull');
const [first, second] = layout.shards as [QueueShard, QueueShard, QueueShard];

/** @param shards can be others later on. */
async function arrange(shards: QueueShards = shardsOf(layout)) {
  const { client } = willClose(await openTestRedis());
  const jobs = willClose(new ShardedAccountJobs(client, shards));
  const queueIn = ({ prefix }: QueueShard, name = EVENTS_QUEUE) =>
    willClose(new Queue(name, { connection: client, prefix }));
  return {
    client,
    queueIn,
    async addTo(shard: QueueShard, account: string) {
      await queueIn(shard).add('x.y', { account_id: account }, { delay: 60_000 });
    },
    async accountsIn(shard: QueueShard) {
      return (await queueIn(shard).getDelayed()).map(({ data }) => data.account_id);
    },
    async removeAll(meanwhile = async (_place: QueuePlace | undefined) => {}) {
      let place: QueuePlace | undefined = { queue: 0 };
      while (place) {
        // As it is kept in the erasure's job from one step to the next.
        const kept: ErasureJob = erasureJobSchema.parse(
          JSON.parse(JSON.stringify({ account_id: ACME, place })),
        );
        place = kept.place && (await jobs.removeSome(ACME, kept.place));
        await meanwhile(place);
      }
    },
  };
}

it("takes the account's jobs away in every shard, and nobody else's", async () => {
  const { addTo, accountsIn, removeAll } = await arrange();
  for (const shard of layout.shards) {
    for (const account of ['acme', 'other', 'acme']) await addTo(shard, account);
  }
  await removeAll();
  for (const shard of layout.shards) expect(await accountsIn(shard)).toEqual(['other']);
});

it('finds an event in the first shard that got there from another, as it was not valid, after that was searched', async () => {
  const { client, addTo, queueIn, removeAll } = await arrange();
  await addTo(second, 'other');
  const letters = willClose(new BullmqDeadLetters({ redis: client, ...first }, () => 0));
  const rejected = { id: 'late', name: 'x.y', timestamp: 0, data: { account_id: 'acme' } };
  let isKept = false;
  await removeAll(async (place) => {
    if (isKept || place?.shard !== layout.shards.length - 1) return;
    isKept = true;
    await letters.keep(rejected, new AppError('invalid_request', 'The event is not valid.'));
  });
  expect(isKept).toBe(true);
  expect(await queueIn(first, DEAD_LETTERS_QUEUE).getWaitingCount()).toBe(0);
});

it('begins anew when there are other shards meanwhile, and searches those too', async () => {
  let shards = shardsOf(createQueueLayout(1, 'bull'));
  const changing: QueueShards = {
    first,
    all: () => shards.all(),
    homeOf: (id) => shards.homeOf(id),
    homesOf: (id) => shards.homesOf(id),
  };
  const { addTo, accountsIn, removeAll } = await arrange(changing);
  await addTo(first, 'acme');
  await removeAll(async () => {
    if (shards.all().length > 1) return;
    shards = shardsOf(layout);
    for (const shard of layout.shards) await addTo(shard, 'acme');
  });
  for (const shard of layout.shards) expect(await accountsIn(shard)).toEqual([]);
});
