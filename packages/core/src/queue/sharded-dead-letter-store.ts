import type { Clock } from '../kernel/clock';
import type { RedisClient } from '../kernel/redis-connect';
import type { DeadLetter, DeadLetterId, DeadLetterQueue } from '../model/dead-letter';
import type { QueueShards } from '../model/queue-layout';
import type { DeadLetterMark, DeadLetterPage, DeadLetterStore } from '../recovery/manage-dead-letters';
import { createBullmqDeadLetterStore, newestFirst } from './bullmq-dead-letter-store';
import { PerShard } from './per-shard';

/** The dead letters of all shards. A job has failed in one; which one nobody needs to know. */
export function createShardedDeadLetterStore(redis: RedisClient, shards: QueueShards, clock: Clock) {
  const perShard = new PerShard(redis, (connection) => createBullmqDeadLetterStore(connection, clock));
  const stores = () => perShard.inEach(shards.all());

  async function list(
    queue: DeadLetterQueue | undefined,
    limit: number,
    before?: DeadLetterMark,
  ): Promise<DeadLetterPage> {
    return merge(await Promise.all(stores().map((store) => store.list(queue, limit, before))), limit);
  }

  async function find(id: DeadLetterId): Promise<DeadLetter | undefined> {
    const found = await Promise.all(stores().map((store) => store.find(id)));
    return found.find((deadLetter) => deadLetter !== undefined);
  }

  return {
    list,
    find,

    async claim(id, act) {
      for (const store of stores()) {
        const answer = await store.claim(id, act);
        if (answer !== 'gone') return answer;
      }
      return 'gone';
    },

    async putBack(id) {
      for (const store of stores()) {
        if (await store.putBack(id)) return true;
      }
      return false;
    },

    async remove(id) {
      for (const store of stores()) {
        if (await store.remove(id)) return true;
      }
      return false;
    },

    async close(): Promise<void> {
      await Promise.all(perShard.made().map((store) => store.close()));
    },
  } satisfies DeadLetterStore & { close(): Promise<void> };
}

/** What is older than the end of a page may have others of that shard before it, which the next pages bring. */
function merge(pages: readonly DeadLetterPage[], limit: number): DeadLetterPage {
  const [end] = pages.flatMap(({ nextCursor }) => nextCursor ?? []).toSorted(newestFirst);
  // While a job is brought to another shard it is in both.
  const distinct = new Map(pages.flatMap(({ deadLetters }) => deadLetters).map((one) => [one.id, one]));
  const newest = [...distinct.values()].sort(newestFirst);
  const surely = end === undefined ? newest : newest.filter((one) => newestFirst(one, end) <= 0);
  const deadLetters = surely.slice(0, limit);
  const last = deadLetters.at(-1);
  if (surely.length > limit && last)
    return { deadLetters, nextCursor: { id: last.id, failedAt: last.failedAt } };
  return { deadLetters, nextCursor: end };
}
